#include "data/fetch/fetch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/file.h"
#include "data/fetch/download.h"

namespace sadam::data {
namespace {

namespace fs = std::filesystem;

std::string named(Hash hash, const std::string& hex) { return fmt::format("{} {}", to_string(hash), hex); }

/// Keeps a second process from fetching the same thing: holds an empty file locked, and removes it at the
/// end. The kernel drops the lock of a process that was killed.
class FileLock {
 public:
  FileLock(fs::path path, const std::string& name) : path_(std::move(path)) {
    do {
      file_ = base::open_descriptor(path_, O_RDWR | O_CREAT);
      if (::flock(file_.number(), LOCK_EX | LOCK_NB) == 0) continue;
      if (errno == EWOULDBLOCK)
        throw Error(fmt::format("another process is fetching {}; wait for it to end.", name));
      throw base::failure("lock", path_, errno);
      // The holder before us removes the file as it leaves: then what we locked has no name any more.
    } while (!base::is_named(file_, path_));
  }
  ~FileLock() { ::unlink(path_.c_str()); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  fs::path path_;
  base::Descriptor file_;
};

Watch watch_stage(const FetchOptions& options, FetchStage stage) {
  Watch watch{.stop = options.stop};
  if (options.progress)
    watch.progress = [&options, stage](std::uint64_t done, std::uint64_t all) {
      options.progress(stage, done, all);
    };
  return watch;
}

void see_that_it_fits(const CatalogueEntry& entry, const fs::path& root, std::uint64_t here) {
  std::error_code ignored;
  const auto space = fs::space(root, ignored);
  if (ignored || entry.bytes <= here || entry.bytes - here <= space.available) return;
  throw Error(
      fmt::format("{} is a download of {:.0f} MB more, and {} has room for {:.0f} MB; make room, or give "
                  "another folder with --root.",
                  entry.name, static_cast<double>(entry.bytes - here) / 1e6, root.string(),
                  static_cast<double>(space.available) / 1e6));
}

// Downloads to NAME.part; only what was verified gets the name.
std::string get_file(const CatalogueEntry& entry, const fs::path& file, const FetchOptions& options) {
  PartFile part(file.string() + ".part");
  const Watch verifying = watch_stage(options, FetchStage::verify);
  std::string hex;
  // All of it is there if a process was killed at this point; not every server says so when asked for more.
  if (part.size() > 0 && part.size() == entry.bytes)
    hex = digest_of(part.path(), entry.checksum.hash, verifying);
  if (hex != entry.checksum.hex) {
    see_that_it_fits(entry, options.root, part.size());
    download(entry.url, part, entry.bytes, options.limits, options.note,
             watch_stage(options, FetchStage::download));
    hex = digest_of(part.path(), entry.checksum.hash, verifying);
  }
  if (hex != entry.checksum.hex) {
    part.remove();
    throw Error(
        fmt::format("{} sent other bytes than are published: their {} is {}, and that of {} is {}; they were "
                    "removed, so fetch it again.",
                    entry.url, to_string(entry.checksum.hash), hex, entry.file_name(), entry.checksum.hex));
  }
  part.finish_as(file);
  return hex;
}

// A file that is there already is not ours to remove.
std::string verify_file(const CatalogueEntry& entry, const fs::path& file, const Watch& watch) {
  std::string hex = digest_of(file, entry.checksum.hash, watch);
  if (hex != entry.checksum.hex)
    throw Error(
        fmt::format("{} is not the published file: its {} is {} instead of {}; remove it and fetch it again.",
                    file.string(), to_string(entry.checksum.hash), hex, entry.checksum.hex));
  return hex;
}

using DigestContext =
    std::unique_ptr<EVP_MD_CTX, decltype([](EVP_MD_CTX* context) { EVP_MD_CTX_free(context); })>;

}  // namespace

FetchResult fetch(const CatalogueEntry& entry, const FetchOptions& options) {
  const fs::path place = entry.path_below(options.root);
  FetchResult there{.path = place, .already_there = true};
  std::error_code failure;
  if (fs::exists(place, failure)) return there;
  fs::create_directories(options.root, failure);
  if (failure) throw base::failure("make the folder", options.root, failure.value());
  const FileLock lock(options.root / fmt::format(".{}.lock", entry.name), entry.name);
  if (fs::exists(place, failure)) return there;  // it was finished while we came here

  const fs::path file = entry.archive ? options.root / entry.file_name() : place;
  const bool have_file = fs::exists(file, failure);
  const std::string hex = have_file ? verify_file(entry, file, watch_stage(options, FetchStage::verify))
                                    : get_file(entry, file, options);
  if (entry.archive) {
    unpack(file, place, watch_stage(options, FetchStage::unpack));
    if (!options.keep_archive && !have_file) fs::remove(file, failure);
  }
  return {.path = place, .already_there = false, .digest = named(entry.checksum.hash, hex)};
}

std::string check_file(const CatalogueEntry& entry, const fs::path& root, const Watch& watch) {
  const fs::path file = entry.path_below(root);
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    throw Error(fmt::format("{} is not there; get it with `sadam data fetch {} --root {}`.", file.string(),
                            entry.name, root.string()));
  return named(entry.checksum.hash, verify_file(entry, file, watch));
}

std::string digest_of(const std::filesystem::path& path, Hash hash, const Watch& watch) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw base::failure("open", path, errno);
  std::error_code ignored;
  const auto size = std::filesystem::file_size(path, ignored);
  const std::uint64_t all = ignored ? 0 : size;

  const auto* const algorithm = hash == Hash::md5 ? EVP_md5() : EVP_sha256();
  const DigestContext context(EVP_MD_CTX_new());
  if (!context || EVP_DigestInit_ex(context.get(), algorithm, nullptr) != 1)
    throw Error(
        fmt::format("this OpenSSL does not offer {} (a FIPS setting, perhaps), so {} cannot be verified.",
                    to_string(hash), path.string()));

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
  return fmt::format("{:02x}", fmt::join(std::span(bytes).first(count), ""));
}

}  // namespace sadam::data
