#include "data/fetch/http_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace sadam::data::testing {
namespace {

std::string header_value(const std::string& header, const std::string& name) {
  const auto at = header.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const auto begin = at + name.size() + 4;
  return header.substr(begin, header.find("\r\n", begin) - begin);
}

}  // namespace

HttpServer::HttpServer(std::string content, std::vector<Reply> replies)
    : content_(std::move(content)), replies_(std::move(replies)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, any, length) != 0 || listen(listener_, 8) != 0 ||
      getsockname(listener_, any, &length) != 0 || pipe(wake_) != 0)
    throw std::runtime_error("the test's server does not start");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
  close(wake_[1]);
  thread_.join();
  close(wake_[0]);
  close(listener_);
}

std::string HttpServer::url(const std::string& file) const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/" + file;
}

std::vector<Request> HttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void HttpServer::set_etag(std::string etag) {
  const std::lock_guard lock(mutex_);
  etag_ = std::move(etag);
}

void HttpServer::set_content(std::string content) {
  const std::lock_guard lock(mutex_);
  content_ = std::move(content);
}

void HttpServer::serve() {
  while (true) {
    pollfd waiting[] = {{listener_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    poll(waiting, 2, -1);
    if (waiting[1].revents != 0) return;
    const int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0) continue;
    answer(connection);
    close(connection);
  }
}

std::optional<Request> HttpServer::read_request(int connection) const {
  std::string header;
  while (header.find("\r\n\r\n") == std::string::npos) {
    pollfd waiting[] = {{connection, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    poll(waiting, 2, -1);
    char buffer[4096];
    const auto count = waiting[1].revents != 0 ? 0 : recv(connection, buffer, sizeof(buffer), 0);
    if (count <= 0) return std::nullopt;
    header.append(buffer, static_cast<std::size_t>(count));
  }
  const auto path = header.find(' ') + 1;
  return Request{header.substr(path, header.find(' ', path) - path), header_value(header, "Range"),
                 header_value(header, "If-Range")};
}

void HttpServer::answer(int connection) {
  const auto request = read_request(connection);
  if (!request) return;
  Reply reply;
  {
    const std::lock_guard lock(mutex_);
    reply = replies_[std::min(requests_.size(), replies_.size() - 1)];
    requests_.push_back(*request);
  }
  if (reply.status == 200) return send_content(connection, *request, reply);
  const std::string page = "<html>a page, no data</html>";
  send_all(connection, "HTTP/1.1 " + std::to_string(reply.status) + " As Told\r\nConnection: close\r\n" +
                           (reply.location.empty() ? "" : "Location: " + reply.location + "\r\n") +
                           "Content-Length: " + std::to_string(page.size()) + "\r\n\r\n" + page);
}

void HttpServer::send_content(int connection, const Request& request, const Reply& reply) {
  std::string content;
  std::string etag;
  {
    const std::lock_guard lock(mutex_);
    content = content_;
    etag = etag_;
  }
  const std::string size = std::to_string(content.size());
  std::string header = "HTTP/1.1 200 OK\r\nContent-Length: " + size + "\r\n";
  const bool same_version = request.if_range.empty() || request.if_range == etag;
  if (reply.ranges && same_version && request.range.starts_with("bytes=")) {
    std::size_t first = std::stoull(request.range.substr(6));
    if (first >= content.size()) {
      send_all(connection,
               "HTTP/1.1 416 Range Not Satisfiable\r\nConnection: close\r\nContent-Length: 0\r\n" +
                   (reply.says_size_when_out_of_range ? "Content-Range: bytes */" + size + "\r\n" : "") +
                   "\r\n");
      return;
    }
    first = std::min(first + reply.shift_range.value_or(0), content.size() - 1);
    header = "HTTP/1.1 206 Partial Content\r\nContent-Length: " + std::to_string(content.size() - first) +
             "\r\nContent-Range: bytes " + std::to_string(first) + "-" + std::to_string(content.size() - 1) +
             "/" + size + "\r\n";
    content.erase(0, first);
  }
  if (!etag.empty()) header += "ETag: " + etag + "\r\n";
  if (!send_all(connection, header + "Connection: close\r\n\r\n")) return;
  const auto most =
      std::min(reply.break_after.value_or(content.size()), reply.silent_after.value_or(content.size()));
  if (!send_all(connection, content.substr(0, most))) return;
  if (reply.silent_after) wait_until_gone(connection);
}

bool HttpServer::send_all(int connection, const std::string& bytes) const {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    pollfd waiting[] = {{connection, POLLOUT, 0}, {wake_[0], POLLIN, 0}};
    poll(waiting, 2, -1);
    if (waiting[1].revents != 0) return false;
    const auto count =
        send(connection, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

void HttpServer::wait_until_gone(int connection) const {
  pollfd waiting[] = {{connection, POLLIN | POLLRDHUP, 0}, {wake_[0], POLLIN, 0}};
  poll(waiting, 2, -1);
}

}  // namespace sadam::data::testing
