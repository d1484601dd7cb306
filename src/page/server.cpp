#include "page/server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sadam/error.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#ifdef SADAM_HAVE_HTTPLIB
#include <httplib.h>
#endif

#include "base/file.h"
#include "page/page.h"

namespace sadam::page {

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24U) == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

#ifndef SADAM_HAVE_HTTPLIB

class Server::Work {
 public:
  Work(Shelf& /*shelf*/, std::string_view /*page*/, const ServerOptions& /*options*/) {
    throw Error(
        "this sadam was built without a server: install cpp-httplib 0.11 to 0.14 (Debian: "
        "libcpp-httplib-dev) and build it again, or use 'sadam report'.");
  }
  std::string url() const { return ""; }
  int port() const { return 0; }
  bool is_running() const { return false; }
};

#else

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kMostStreams = 8;                 // each holds a thread
constexpr std::size_t kThreads = 96;            // that wait, most of the time
constexpr std::size_t kMostBytesAsked = 8192;   // of a request, all of it
constexpr std::size_t kTakenASecond = 1 << 18;  // bytes of a long answer, at least
constexpr milliseconds kLookEvery(500);
constexpr seconds kSignOfLifeEvery(10);

bool wait_for(int socket, short what, Clock::time_point until) {
  pollfd one{socket, what, 0};
  int ready = 0;
  do {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    ready = ::poll(&one, 1, static_cast<int>(left));
  } while (ready < 0 && errno == EINTR);
  return ready > 0 && (one.revents & what) != 0;
}

/// One request and its answer. Whoever asks for long or at length, or takes no answer, is left.
class Connection : public httplib::Stream {
 public:
  Connection(int socket, milliseconds patience) : socket_(socket), patience_(patience) {}

  bool is_readable() const override { return true; }

  bool is_writable() const override {
    char next = 0;
    const auto got = ::recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));  // 0: the other side has gone
  }

  ssize_t read(char* to, size_t size) override {
    if (at_ == filled_ && !fill()) return -1;
    const auto count = std::min(size, filled_ - at_);
    std::memcpy(to, buffer_.data() + at_, count);
    at_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* from, size_t size) override {
    const auto until = Clock::now() + patience_ + seconds(size / kTakenASecond);
    for (size_t done = 0; done < size;) {
      if (!wait_for(socket_, POLLOUT, until)) return -1;
      const auto sent = ::send(socket_, from + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) return -1;
      if (sent > 0) done += static_cast<size_t>(sent);
    }
    return static_cast<ssize_t>(size);
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override { get_remote_ip_and_port(ip, port); }
  socket_t socket() const override { return socket_; }

 private:
  bool fill() {
    if (filled_ == buffer_.size() || !wait_for(socket_, POLLIN, until_)) return false;
    const auto got = ::recv(socket_, buffer_.data() + filled_, buffer_.size() - filled_, MSG_DONTWAIT);
    if (got <= 0) return false;
    filled_ += static_cast<std::size_t>(got);
    return true;
  }

  int socket_;
  milliseconds patience_;
  Clock::time_point until_ = Clock::now() + patience_;  // for the request
  std::array<char, kMostBytesAsked> buffer_{};
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
};

/// httplib's server, with connections of our own.
class HttpServer : public httplib::Server {
 public:
  explicit HttpServer(milliseconds patience) : patience_(patience) {}

  /// Cuts every connection; new ones are not answered.
  void cut() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    {
      const std::lock_guard lock(mutex_);
      if (ending_) {
        ::close(socket);
        return false;
      }
      open_.insert(socket);
    }
    Connection connection(socket, patience_);
    bool closed = false;
    const bool done = process_request(connection, /*close_connection=*/true, closed, nullptr);
    const std::lock_guard lock(mutex_);
    open_.erase(socket);
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return done;
  }

  milliseconds patience_;
  std::mutex mutex_;
  std::set<int> open_;
  bool ending_ = false;
};

// Takes as long for a wrong token as for a right one.
bool is_same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return difference == 0;
}

std::string random_token() {
  std::array<unsigned char, 24> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw base::failure("read", "/dev/urandom", errno);
  std::string token;
  for (const auto byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

// What others may know it by, where it listens on every address.
std::string name_of_this_machine() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

void refuse(httplib::Response& response, int status, const std::string& sentence) {
  response.status = status;
  response.set_content(sentence + "\n", "text/plain; charset=utf-8");
}

}  // namespace

class Server::Work {
 public:
  Work(Shelf& shelf, std::string_view page, const ServerOptions& options)
      : shelf_(shelf),
        page_(page),
        options_(options),
        policy_(policy_of(page) + "; frame-ancestors 'none'"),
        http_(options.patience) {
    if (!is_loopback(options_.host)) token_ = random_token();
    set_up();
    bind();
    thread_ = std::thread([this] { http_.listen_after_bind(); });
    while (!http_.is_running()) std::this_thread::sleep_for(milliseconds(1));
  }

  ~Work() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    http_.cut();
    http_.stop();
    thread_.join();
  }

  int port() const { return options_.port; }
  bool is_running() const { return http_.is_running(); }
  std::string url() const {
    auto host = options_.host;
    if (host == "0.0.0.0" || host == "::") host = name_of_this_machine();
    if (host.find(':') != std::string::npos) host = fmt::format("[{}]", host);
    return fmt::format("http://{}:{}/{}", host, options_.port,
                       token_.empty() ? "" : fmt::format("?token={}", token_));
  }

 private:
  void bind() {
    // Without httplib's SO_REUSEPORT, by which a second server would get half of the first one's visitors.
    http_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    errno = 0;
    if (options_.port == 0) {
      options_.port = http_.bind_to_any_port(options_.host);
      if (options_.port > 0) return;
    } else if (http_.bind_to_port(options_.host, options_.port)) {
      return;
    }
    if (errno == EADDRINUSE)
      throw Error(fmt::format(
          "port {} is in use: stop what uses it, or choose another with --port (0: any that is free).",
          options_.port));
    if (errno == EACCES)
      throw Error(fmt::format("port {} is the system's: choose one above 1023 with --port.", options_.port));
    throw Error(fmt::format(
        "cannot listen on {}: give --host an address of this machine, such as 127.0.0.1 or 0.0.0.0.",
        options_.host));
  }

  void set_up() {
    http_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    httplib::Headers headers = {{"Content-Security-Policy", policy_},
                                {"X-Content-Type-Options", "nosniff"},
                                {"Referrer-Policy", "no-referrer"},
                                {"Cross-Origin-Resource-Policy", "same-origin"},
                                {"Cache-Control", "no-store"}};
    // Without encryption browsers heed it on this machine alone, and complain elsewhere.
    if (token_.empty()) headers.emplace("Cross-Origin-Opener-Policy", "same-origin");
    http_.set_default_headers(std::move(headers));
    using Handled = httplib::Server::HandlerResponse;
    http_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (!may_ask(request))
        refuse(response, 403, "Forbidden: open the address that 'sadam serve' printed.");
      else if (is_from_another_site(request))
        refuse(response, 403, "Forbidden: this is not for other sites.");
      else if (request.method != "GET" && request.method != "HEAD")
        refuse(response, 405, "Only GET is answered here.");
      else if (request.has_header("Range"))  // a thousand times the same one would be answered a thousandfold
        refuse(response, 416, "Ask for all of it.");
      else
        return Handled::Unhandled;
      return Handled::Handled;
    });
    http_.set_error_handler(
        httplib::Server::Handler([](const httplib::Request&, httplib::Response& response) {
          if (response.body.empty())
            refuse(response, response.status, response.status == 404 ? "There is nothing here." : "No.");
        }));
    http_.set_exception_handler(
        [](const httplib::Request&, httplib::Response& response, const std::exception_ptr& /*what*/) {
          refuse(response, 500, "Something went wrong; ask again.");
        });
    http_.Get("/", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(page_.data(), page_.size(), "text/html; charset=utf-8");
    });
    http_.Get("/api/report", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(to_text(shelf_.report()), "application/json");
    });
    http_.Get("/api/run", [this](const httplib::Request& request, httplib::Response& response) {
      const auto run = shelf_.run(request.get_param_value("id"));
      if (!run) return refuse(response, 404, "There is no such run.");
      response.set_content(to_text(*run), "application/json");
    });
    http_.Get("/api/changes",
              [this](const httplib::Request&, httplib::Response& response) { stream_changes(response); });
  }

  // A page elsewhere can have its name lead to this machine; the browser then asks for that name.
  bool may_ask(const httplib::Request& request) const {
    if (!token_.empty()) return is_same(request.get_param_value("token"), token_);
    const auto host = request.get_header_value("Host");
    for (const std::string_view name : {"localhost", "127.0.0.1", "[::1]"})
      if (host == fmt::format("{}:{}", name, options_.port) || (options_.port == 80 && host == name))
        return true;
    return host == fmt::format("{}:{}", options_.host, options_.port);
  }

  // Their pages cannot read the answers, but could hold all the streams. A link to the page is welcome.
  static bool is_from_another_site(const httplib::Request& request) {
    const auto from = request.get_header_value("Sec-Fetch-Site");
    return request.path != "/" && (from == "cross-site" || from == "same-site");
  }

  void stream_changes(httplib::Response& response) {
    if (streams_.fetch_add(1) >= kMostStreams) {
      --streams_;
      return refuse(response, 503, "Too many pages are open: close one.");
    }
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, last = std::string(), spoke = Clock::time_point()](size_t, httplib::DataSink& sink) mutable {
          std::string message;
          while (message.empty()) {
            if (auto now = shelf_.stamps(); now != last) {
              last = std::move(now);
              message = fmt::format("event: runs\ndata: {}\n\n", last);
            } else if (Clock::now() - spoke >= kSignOfLifeEvery) {
              message = ": still here\n\n";
            } else if (!sink.is_writable() || !pause()) {
              return false;
            }
          }
          spoke = Clock::now();
          return sink.write(message.data(), message.size());
        },
        [this](bool) { --streams_; });
  }

  // False if the server ends.
  bool pause() {
    std::unique_lock lock(mutex_);
    return !wake_.wait_for(lock, kLookEvery, [this] { return ending_; });
  }

  Shelf& shelf_;
  std::string_view page_;
  ServerOptions options_;
  std::string policy_;
  std::string token_;
  HttpServer http_;
  std::atomic<int> streams_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

#endif

Server::Server(Shelf& shelf, std::string_view page, const ServerOptions& options)
    : work_(std::make_unique<Work>(shelf, page, options)) {}
Server::~Server() = default;
std::string Server::url() const { return work_->url(); }
int Server::port() const { return work_->port(); }
bool Server::is_running() const { return work_->is_running(); }

}  // namespace sadam::page
