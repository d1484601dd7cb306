// For builds without cpp-httplib.
#include <sadam/error.h>

#include "page/server.h"

namespace sadam::page {

class Server::Work {};

bool is_loopback(const std::string& host) { return host == "127.0.0.1"; }

Server::Server(Shelf& /*shelf*/, std::string_view /*page*/, const ServerOptions& /*options*/) {
  throw Error(
      "this sadam was built without a server: install cpp-httplib 0.11 to 0.14 (Debian: libcpp-httplib-dev) "
      "and build it again, or use 'sadam report'.");
}
Server::~Server() = default;
std::string Server::url() const { return ""; }
int Server::port() const { return 0; }
bool Server::is_running() const { return false; }

}  // namespace sadam::page
