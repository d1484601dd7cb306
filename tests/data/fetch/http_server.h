// A web server on 127.0.0.1 that misbehaves on demand.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace sadam::data::testing {

/// How one request is answered. As it stands: correctly, Range and If-Range included.
struct Reply {
  int status = 200;                              ///< anything else is sent with a short page of HTML
  std::string location = {};                     ///< of a redirection
  bool ranges = true;                            ///< false: Range is ignored, all is sent
  bool says_size_when_out_of_range = true;       ///< false: a 416 does not tell the size
  std::optional<std::size_t> shift_range = {};   ///< continues so many bytes further than asked
  std::optional<std::size_t> break_after = {};   ///< closes the connection after so many bytes of the body
  std::optional<std::size_t> silent_after = {};  ///< sends so many bytes, then nothing, without closing
};

struct Request {
  std::string path;
  std::string range;  ///< "" if there was none
  std::string if_range;
};

class HttpServer {
 public:
  /// Answers the first request with the first reply and so on; the last one answers all that follow.
  HttpServer(std::string content, std::vector<Reply> replies);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url(const std::string& file) const;
  std::vector<Request> requests() const;

  /// Another version of the file from here on, or none of the two headers that tell versions apart ("").
  void set_etag(std::string etag);
  void set_content(std::string content);

 private:
  void serve();
  void answer(int connection);
  std::optional<Request> read_request(int connection) const;
  void send_content(int connection, const Request& request, const Reply& reply);
  /// False once the other side or this server is gone.
  bool send_all(int connection, const std::string& bytes) const;
  void wait_until_gone(int connection) const;

  mutable std::mutex mutex_;
  std::string content_;
  std::string etag_ = "\"first\"";
  std::vector<Reply> replies_;
  std::vector<Request> requests_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};  // closing the second end ends everything
  int port_ = 0;
  std::thread thread_;
};

}  // namespace sadam::data::testing
