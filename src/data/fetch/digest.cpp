#include "data/fetch/digest.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <vector>

#include "base/file.h"

namespace sadam::data {
namespace {

using DigestContext =
    std::unique_ptr<EVP_MD_CTX, decltype([](EVP_MD_CTX* context) { EVP_MD_CTX_free(context); })>;

std::string to_hex(const unsigned char* bytes, std::size_t count) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

std::string digest_of(const std::filesystem::path& path, Hash hash, const Watch& watch) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw base::failure("open", path, errno);
  std::error_code ignored;
  const auto size = std::filesystem::file_size(path, ignored);
  const std::uint64_t all = ignored ? 0 : size;

  const DigestContext context(EVP_MD_CTX_new());
  if (!context ||
      EVP_DigestInit_ex(context.get(), hash == Hash::md5 ? EVP_md5() : EVP_sha256(), nullptr) != 1)
    throw Error("this OpenSSL does not offer " + std::string(to_string(hash)) +
                " (a FIPS setting, perhaps), so " + path.string() + " cannot be verified.");

  std::vector<char> buffer(1 << 20);
  std::uint64_t done = 0;
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto got = static_cast<std::size_t>(file.gcount());
    EVP_DigestUpdate(context.get(), buffer.data(), got);
    done += got;
    watch.report(done, all);
  }
  if (file.bad()) throw base::failure("read", path, errno);

  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int count = 0;
  EVP_DigestFinal_ex(context.get(), bytes.data(), &count);
  return to_hex(bytes.data(), count);
}

}  // namespace sadam::data
