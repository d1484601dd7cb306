#include "data/fetch/fetch.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <sadam/version.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"

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

// ---- a whole file over HTTP -------------------------------------------------------------------------------

/// NAME.part: the first bytes of a download, and a note of which version of the file they are from.
class PartFile {
 public:
  /// Opens NAME.part with what an earlier attempt left there.
  explicit PartFile(fs::path path)
      : path_(std::move(path)), file_(base::open_descriptor(path_, O_WRONLY | O_CREAT | O_APPEND)) {
    struct stat status = {};
    if (fstat(file_.number(), &status) != 0) throw base::failure("open", path_, errno);
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (size_ == 0) return;
    std::ifstream file(note());
    std::getline(file, validator_);
  }
  /// Removes it if nothing came.
  ~PartFile() {
    if (size_ == 0) remove();
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const fs::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }

  /// The ETag or the date of the version the bytes are from; "" where the server gave neither.
  const std::string& validator() const { return validator_; }

  void append(std::span<const char> bytes) {
    base::write_all(file_, std::as_bytes(bytes), path_);
    size_ += bytes.size();
  }
  /// Forgets the bytes; those to come are of the version `validator`.
  void restart(const std::string& validator) {
    // The note goes first: bytes without a note are never taken for a version they are not.
    std::error_code ignored;
    fs::remove(note(), ignored);
    if (ftruncate(file_.number(), 0) != 0) throw base::failure("write", path_, errno);
    size_ = 0;
    validator_ = validator;
    if (validator.empty()) return;
    std::ofstream file(note());
    file << validator << '\n';
    if (!file.flush()) throw base::failure("write", note(), errno);
  }
  /// Gives it its name, once all bytes are on the disk.
  void finish_as(const fs::path& path) {
    base::sync(file_, path_);
    std::error_code failed;
    fs::rename(path_, path, failed);
    if (failed) throw base::failure("write", path, failed.value());
    fs::remove(note(), failed);
  }
  void remove() {
    std::error_code ignored;
    fs::remove(path_, ignored);
    fs::remove(note(), ignored);
  }

 private:
  fs::path note() const { return path_.string() + ".etag"; }

  fs::path path_;
  base::Descriptor file_;
  std::uint64_t size_ = 0;
  std::string validator_;
};

using Easy = std::unique_ptr<CURL, decltype([](CURL* easy) { curl_easy_cleanup(easy); })>;
using Multi = std::unique_ptr<CURLM, decltype([](CURLM* multi) { curl_multi_cleanup(multi); })>;
using HeaderList = std::unique_ptr<curl_slist, decltype([](curl_slist* list) { curl_slist_free_all(list); })>;

// libcurl wants this once, before anything else.
void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK)
    throw Error(fmt::format("libcurl does not start: {}.", curl_easy_strerror(started)));
}

template <typename Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode result = curl_easy_setopt(easy, option, value);
  if (result != CURLE_OK)
    throw Error(fmt::format("libcurl refuses a setting: {}.", curl_easy_strerror(result)));
}

// A header of the answer after all redirections; "" if there is none.
std::string_view header_of(CURL* easy, const char* name) {
  constexpr int kLastRequest = -1;
  curl_header* found = nullptr;
  return curl_easy_header(easy, name, 0, CURLH_HEADER, kLastRequest, &found) == CURLHE_OK ? found->value : "";
}

std::optional<std::uint64_t> number_at(std::string_view text) {
  std::uint64_t value = 0;
  const auto failure = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  return failure == std::errc() ? std::optional(value) : std::nullopt;
}

// What If-Range may name. A weak ETag does not promise the same bytes.
std::string validator_of(CURL* easy) {
  const auto etag = header_of(easy, "ETag");
  return std::string(etag.empty() || etag.starts_with("W/") ? header_of(easy, "Last-Modified") : etag);
}

// What comes. Numbers that the server names are only believed where the bytes bear them out.
class Receiver {
 public:
  Receiver(CURL* easy, PartFile& part) : easy_(easy), part_(part) {}

  // At the first byte, or at the end where none came: what the server said before it.
  void begin() {
    if (std::exchange(begun_, true)) return;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    auto range = header_of(easy_, "Content-Range");  // bytes FIRST-last/all, or bytes */all
    constexpr std::string_view kUnit = "bytes ";
    std::optional<std::uint64_t> first;
    if (range.starts_with(kUnit)) {
      range.remove_prefix(kUnit.size());
      first = number_at(range);
      if (const auto slash = range.find('/'); slash != range.npos) all = number_at(range.substr(slash + 1));
    }
    if (status == 206) misplaced = first != part_.size();
    if (status != 200) return;
    all = number_at(header_of(easy_, "Content-Length"));
    part_.restart(validator_of(easy_));
  }

  bool take(std::span<const char> bytes) {
    begin();
    // The page that comes with a 404 is no data.
    if (!misplaced && (status == 200 || status == 206)) part_.append(bytes);
    return !misplaced;
  }

  PartFile& part() { return part_; }

  long status = 0;
  bool misplaced = false;            // the server continues somewhere else than asked
  std::optional<std::uint64_t> all;  // the size of the whole
  std::exception_ptr failure;        // must not pass through libcurl, which is C

 private:
  CURL* easy_;
  PartFile& part_;
  bool begun_ = false;
};

extern "C" std::size_t sadam_take_body(char* data, std::size_t, std::size_t count, void* user) {
  auto& receiver = *static_cast<Receiver*>(user);
  try {
    if (receiver.take({data, count})) return count;
  } catch (...) {
    receiver.failure = std::current_exception();
  }
  return count == 0 ? 1 : 0;  // anything but `count` ends the transfer
}

bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_AGAIN:
      return true;
    default:
      return false;
  }
}

bool may_pass(long status) { return status == 408 || status == 425 || status == 429 || status >= 500; }

/// How one attempt ended.
struct TransferEnd {
  enum class Kind {
    complete,
    try_again,  ///< the line or the server failed in a way that may pass
    give_up,    ///< it will fail the same way next time
  };
  Kind kind = Kind::complete;
  std::string reason;  ///< half a sentence, such as "the connection broke off"
};

TransferEnd judge(CURLcode code, const char* message, Receiver& receiver) {
  using Kind = TransferEnd::Kind;
  PartFile& part = receiver.part();
  if (receiver.misplaced) {
    part.restart("");
    return {Kind::try_again, "the server continued at another byte than was asked for"};
  }
  if (code != CURLE_OK)
    return {may_pass(code) ? Kind::try_again : Kind::give_up,
            *message != '\0' ? message : curl_easy_strerror(code)};
  if (receiver.status == 416) {  // there is nothing behind the bytes we have
    if (part.size() > 0 && receiver.all == part.size()) return {};
    part.restart("");
    return {Kind::try_again, "the server has another version by now"};
  }
  if (receiver.status != 200 && receiver.status != 206)
    return {may_pass(receiver.status) ? Kind::try_again : Kind::give_up,
            fmt::format("the server answered {}", receiver.status)};
  if (receiver.status == 206 && receiver.all && part.size() < *receiver.all)
    return {Kind::try_again, "the server sent less than the rest"};
  return {};
}

/// One attempt. Continues behind the bytes that `part` has; starts it anew where the server has another
/// version or does not continue. `expected` bytes are shown as the whole until the server says.
TransferEnd transfer(const std::string& url, PartFile& part, std::uint64_t expected,
                     const DownloadLimits& limits, const Watch& watch) {
  start_curl();
  std::array<char, CURL_ERROR_SIZE> message{};
  HeaderList headers;
  // Declared in this order, so that the handle is cleaned up before what it points to, and after `multi`.
  const Easy easy(curl_easy_init());
  const Multi multi(curl_multi_init());
  if (!easy || !multi) throw Error("libcurl does not start: out of memory.");
  Receiver receiver(easy.get(), part);

  set(easy.get(), CURLOPT_URL, url.c_str());
  set(easy.get(), CURLOPT_USERAGENT, "sadam/" SADAM_VERSION);
  set(easy.get(), CURLOPT_ERRORBUFFER, message.data());
  set(easy.get(), CURLOPT_NOSIGNAL, 1L);
  set(easy.get(), CURLOPT_FOLLOWLOCATION, 1L);
  set(easy.get(), CURLOPT_MAXREDIRS, 10L);
  // Whoever asks over a safe line is not sent on over an unsafe one.
  set(easy.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy.get(), CURLOPT_REDIR_PROTOCOLS_STR, url.starts_with("https:") ? "https" : "http,https");
  set(easy.get(), CURLOPT_CONNECTTIMEOUT, static_cast<long>(limits.stall.count()));
  set(easy.get(), CURLOPT_LOW_SPEED_TIME, static_cast<long>(limits.stall.count()));
  set(easy.get(), CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(limits.slowest));
#if LIBCURL_VERSION_NUM >= 0x075700
  set(easy.get(), CURLOPT_QUICK_EXIT, 1L);  // do not wait for a name that is being looked up
#endif
  set(easy.get(), CURLOPT_WRITEFUNCTION, sadam_take_body);
  set(easy.get(), CURLOPT_WRITEDATA, static_cast<void*>(&receiver));
  if (part.size() > 0) {
    // Not CURLOPT_RESUME_FROM, which fails where the server ignores it: then we start anew.
    set(easy.get(), CURLOPT_RANGE, fmt::format("{}-", part.size()).c_str());
    if (!part.validator().empty()) {
      headers.reset(curl_slist_append(nullptr, fmt::format("If-Range: {}", part.validator()).c_str()));
      set(easy.get(), CURLOPT_HTTPHEADER, headers.get());
    }
  }

  curl_multi_add_handle(multi.get(), easy.get());
  // Before what it points to goes.
  const std::unique_ptr<CURL, std::function<void(CURL*)>> added(
      easy.get(), [&](CURL* handle) { curl_multi_remove_handle(multi.get(), handle); });
  int running = 1;
  while (running > 0) {
    const CURLMcode failure = curl_multi_perform(multi.get(), &running);
    if (receiver.failure) std::rethrow_exception(receiver.failure);
    if (failure != CURLM_OK) return {TransferEnd::Kind::try_again, curl_multi_strerror(failure)};
    watch.report(part.size(), receiver.all.value_or(expected));
    // Short, so that a wish to stop is heard at once.
    if (running > 0) curl_multi_poll(multi.get(), nullptr, 0, 50, nullptr);
  }
  int left = 0;
  const CURLMsg* done = curl_multi_info_read(multi.get(), &left);
  const auto code = done != nullptr ? done->data.result : CURLE_RECV_ERROR;
  if (code == CURLE_OK) receiver.begin();
  return judge(code, message.data(), receiver);
}

void pause_for(std::chrono::milliseconds pause, const Watch& watch) {
  const auto end = std::chrono::steady_clock::now() + pause;
  while (std::chrono::steady_clock::now() < end) {
    watch.check();
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    std::this_thread::sleep_for(std::min(left, std::chrono::milliseconds(50)));
  }
}

/// Returns once `part` holds what the server sends as the whole file; whether those are the right bytes is
/// for the caller to see. Throws an Error when it gives up (the bytes so far are kept), when the disk fails,
/// and Interrupted.
void download(const std::string& url, PartFile& part, std::uint64_t expected, const DownloadLimits& limits,
              const std::function<void(const std::string&)>& note, const Watch& watch) {
  // What counts is getting further than ever before: a server that starts anew each time makes no progress.
  std::uint64_t furthest = part.size();
  int failures = 0;
  auto pause = limits.pause;
  while (true) {
    const TransferEnd end = transfer(url, part, expected, limits, watch);
    if (end.kind == TransferEnd::Kind::complete) return;
    if (end.kind == TransferEnd::Kind::give_up)
      throw Error(fmt::format("cannot download {}: {}.", url, end.reason));
    if (part.size() > furthest) {
      furthest = part.size();
      failures = 0;
      pause = limits.pause;
    } else if (++failures >= limits.attempts) {
      throw Error(fmt::format(
          "cannot download {}: {} ({} attempts in a row got no further); what arrived is kept, and the same "
          "command continues there, or with {}, if you put that there yourself.",
          url, end.reason, failures, fs::path(part.path()).replace_extension().string()));
    }
    if (note)
      note(fmt::format("{} after {:.1f} MB; trying again in {:.0f} s.", end.reason,
                       static_cast<double>(part.size()) / 1e6, std::chrono::duration<double>(pause).count()));
    pause_for(pause, watch);
    pause = std::min(2 * pause, std::chrono::milliseconds(30'000));
  }
}

// ---- what becomes of it -----------------------------------------------------------------------------------

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

std::string digest_of(const fs::path& path, Hash hash, const Watch& watch) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw base::failure("open", path, errno);
  std::error_code ignored;
  const auto size = fs::file_size(path, ignored);
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
