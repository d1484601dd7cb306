// `sadam serve`: the page and its data over HTTP.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "page/shelf.h"

namespace sadam::page {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  ///< 0: any that is free
  /// How long a request may take to arrive, and its answer to be taken.
  std::chrono::milliseconds patience{2000};
};

/// Whether only this machine can reach it.
bool is_loopback(const std::string& host);

/// Answers from threads of its own for as long as it lives. Whoever is not on this machine needs the token
/// that url() has.
class Server {
 public:
  /// Throws an Error if it cannot listen there: the port is in use, the host is not this machine's. `page` is
  /// the HTML that it serves; both it and the shelf must live longer.
  Server(Shelf& shelf, std::string_view page, const ServerOptions& options);
  /// Ends every connection at once.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string url() const;
  int port() const;
  /// False if the system took the port away from it.
  bool is_running() const;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace sadam::page
