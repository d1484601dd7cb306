#include "data/fetch/transfer.h"

#include <curl/curl.h>
#include <sadam/version.h>

#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <span>

#include "data/fetch/response.h"

namespace sadam::data {
namespace {

using Clock = std::chrono::steady_clock;
using Easy = std::unique_ptr<CURL, decltype([](CURL* easy) { curl_easy_cleanup(easy); })>;
using Multi = std::unique_ptr<CURLM, decltype([](CURLM* multi) { curl_multi_cleanup(multi); })>;
using HeaderList = std::unique_ptr<curl_slist, decltype([](curl_slist* list) { curl_slist_free_all(list); })>;

// libcurl wants this once, before anything else.
void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK)
    throw Error(std::string("libcurl does not start: ") + curl_easy_strerror(started) + ".");
}

// What the two callbacks share. An exception must not pass through libcurl, which is C: it waits in
// `failure`.
struct Receiver {
  PartFile& part;
  Response response;
  bool misplaced = false;  // the server continues somewhere else than asked
  std::exception_ptr failure;

  void header_ended() {
    if (response.status == 200) part.restart(response.validator());
    if (response.status == 206) misplaced = response.first != part.size();
  }
};

template <typename Action>
std::size_t guarded(Receiver& receiver, std::size_t count, Action action) {
  try {
    if (action()) return count;
  } catch (...) {
    receiver.failure = std::current_exception();
  }
  return count == 0 ? 1 : 0;  // anything but `count` ends the transfer
}

extern "C" std::size_t sadam_take_header(char* data, std::size_t, std::size_t count, void* user) {
  auto& receiver = *static_cast<Receiver*>(user);
  return guarded(receiver, count, [&] {
    if (receiver.response.take({data, count})) receiver.header_ended();
    return !receiver.misplaced;
  });
}

extern "C" std::size_t sadam_take_body(char* data, std::size_t, std::size_t count, void* user) {
  auto& receiver = *static_cast<Receiver*>(user);
  return guarded(receiver, count, [&] {
    // The page that comes with a 404 is no data.
    if (receiver.response.status == 200 || receiver.response.status == 206)
      receiver.part.append({data, count});
    return true;
  });
}

template <typename Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode result = curl_easy_setopt(easy, option, value);
  if (result != CURLE_OK)
    throw Error(std::string("libcurl refuses a setting: ") + curl_easy_strerror(result) + ".");
}

// Whoever asks over a safe line is not sent on over an unsafe one.
void set_protocols(CURL* easy, bool safe) {
#if LIBCURL_VERSION_NUM >= 0x075500
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_REDIR_PROTOCOLS_STR, safe ? "https" : "http,https");
#else
  set(easy, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(easy, CURLOPT_REDIR_PROTOCOLS,
      static_cast<long>(safe ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
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

bool may_pass(int status) { return status == 408 || status == 425 || status == 429 || status >= 500; }

// Sees whether too little came for too long.
class StallClock {
 public:
  StallClock(const DownloadLimits& limits, std::uint64_t bytes) : limits_(limits), bytes_(bytes) {}

  bool stalled(std::uint64_t bytes) {
    const auto now = Clock::now();
    if (bytes < bytes_) bytes_ = 0;  // it was started anew
    if (bytes - bytes_ >= limits_.slowest) {
      bytes_ = bytes;
      since_ = now;
    }
    return now - since_ >= limits_.stall;
  }

 private:
  const DownloadLimits& limits_;
  std::uint64_t bytes_;
  Clock::time_point since_ = Clock::now();
};

TransferEnd judge(CURLcode code, const char* message, Receiver& receiver) {
  using Kind = TransferEnd::Kind;
  PartFile& part = receiver.part;
  const Response& response = receiver.response;
  if (receiver.misplaced) {
    part.restart("");
    return {Kind::try_again, "the server continued at another byte than was asked for"};
  }
  if (code != CURLE_OK) {
    const std::string words = *message != '\0' ? message : curl_easy_strerror(code);
    return {may_pass(code) ? Kind::try_again : Kind::give_up, words};
  }
  if (response.status == 416) {  // there is nothing behind the bytes we have
    if (part.size() > 0 && response.all == part.size()) return {};
    part.restart("");
    return {Kind::try_again, "the server has another version by now"};
  }
  if (response.status != 200 && response.status != 206)
    return {may_pass(response.status) ? Kind::try_again : Kind::give_up,
            "the server answered " + std::to_string(response.status)};
  if (response.status == 206 && response.all && part.size() < *response.all)
    return {Kind::try_again, "the server sent less than the rest"};
  return {};
}

}  // namespace

TransferEnd transfer(const std::string& url, PartFile& part, std::uint64_t expected,
                     const DownloadLimits& limits, const Watch& watch) {
  start_curl();
  Receiver receiver{part, {}, false, {}};
  std::array<char, CURL_ERROR_SIZE> message{};
  HeaderList headers;
  // Declared in this order, so that the handle is cleaned up before what it points to, and after `multi`.
  const Easy easy(curl_easy_init());
  const Multi multi(curl_multi_init());
  if (!easy || !multi) throw Error("libcurl does not start: out of memory.");

  set(easy.get(), CURLOPT_URL, url.c_str());
  set(easy.get(), CURLOPT_USERAGENT, "sadam/" SADAM_VERSION);
  set(easy.get(), CURLOPT_ERRORBUFFER, message.data());
  set(easy.get(), CURLOPT_NOSIGNAL, 1L);
  set(easy.get(), CURLOPT_FOLLOWLOCATION, 1L);
  set(easy.get(), CURLOPT_MAXREDIRS, 10L);
  set(easy.get(), CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // a proxy's 200 is not the server's
  set_protocols(easy.get(), url.starts_with("https:"));
#if LIBCURL_VERSION_NUM >= 0x075700
  set(easy.get(), CURLOPT_QUICK_EXIT, 1L);  // do not wait for a name that is being looked up
#endif
  set(easy.get(), CURLOPT_HEADERFUNCTION, sadam_take_header);
  set(easy.get(), CURLOPT_HEADERDATA, static_cast<void*>(&receiver));
  set(easy.get(), CURLOPT_WRITEFUNCTION, sadam_take_body);
  set(easy.get(), CURLOPT_WRITEDATA, static_cast<void*>(&receiver));
  if (part.size() > 0) {
    // Not CURLOPT_RESUME_FROM, which fails where the server ignores it: then we start anew.
    set(easy.get(), CURLOPT_RANGE, (std::to_string(part.size()) + "-").c_str());
    if (!part.validator().empty()) {
      headers.reset(curl_slist_append(nullptr, ("If-Range: " + part.validator()).c_str()));
      set(easy.get(), CURLOPT_HTTPHEADER, headers.get());
    }
  }

  curl_multi_add_handle(multi.get(), easy.get());
  StallClock clock(limits, part.size());
  std::optional<TransferEnd> end;
  int running = 1;
  while (!end && running > 0) {
    const CURLMcode failure = curl_multi_perform(multi.get(), &running);
    if (receiver.failure) break;
    if (failure != CURLM_OK) end = {TransferEnd::Kind::try_again, curl_multi_strerror(failure)};
    const Response& response = receiver.response;
    const auto all = response.status == 206   ? response.all
                     : response.status == 200 ? response.length
                                              : std::nullopt;
    watch.report(part.size(), all.value_or(expected));
    if (running == 0) break;
    if (clock.stalled(part.size())) end = {TransferEnd::Kind::try_again, "nothing came for too long"};
    // Short, so that a wish to stop is heard at once.
    curl_multi_poll(multi.get(), nullptr, 0, 50, nullptr);
  }
  if (!end && !receiver.failure) {
    int left = 0;
    const CURLMsg* done = curl_multi_info_read(multi.get(), &left);
    end = judge(done != nullptr ? done->data.result : CURLE_RECV_ERROR, message.data(), receiver);
  }
  curl_multi_remove_handle(multi.get(), easy.get());
  if (receiver.failure) std::rethrow_exception(receiver.failure);
  return *end;
}

}  // namespace sadam::data
