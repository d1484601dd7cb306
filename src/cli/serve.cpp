#include <fmt/format.h>
#include <sadam/error.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <thread>

#include "base/usage_error.h"
#include "cli/arguments.h"
#include "page/page.h"
#include "page/server.h"
#include "page/shelf.h"

namespace sadam::cli {
namespace {

constexpr const char* kServeHelp =
    R"(Shows runs in a browser while they are trained: tables, curves, what the probes
saw. Open the address that it prints. Ctrl-C ends it.

  sadam serve
      the runs below runs/
  sadam serve build/demo --port 8081
  sadam serve --host 0.0.0.0
      for other machines, too

New points are there within two seconds. Runs may begin, stop, be resumed or
removed meanwhile. It shows what lies in the folder, and nothing else; links
that lead out of it are not followed. Nothing can be changed through it.

Without --host only this machine can reach it. Elsewhere, the address has a
token, without which nothing is answered: whoever has it sees the runs. It is
not encrypted; across a network that you do not trust, use a tunnel:
  ssh -L 8080:localhost:8080 the-machine

'sadam report' writes the same page to a file.)";

struct ServeArguments {
  std::filesystem::path root = "runs";
  page::ServerOptions server;
};

void serve(const ServeArguments& arguments) {
  const auto html = page::page_or_refusal();
  std::error_code unreadable;
  if (!std::filesystem::is_directory(arguments.root, unreadable))
    throw UsageError(
        fmt::format("there is no folder {}: name the one that the runs are in.", arguments.root.string()));
  page::Shelf shelf({.root = arguments.root.string(),
                     .runs = [root = arguments.root] { return page::runs_below(root, /*confined=*/true); },
                     .attachments = {arguments.root},
                     .live = true});
  const StopSignal stop;
  const page::Server server(shelf, html, arguments.server);
  std::cout << server.url() << std::endl;
  while (!StopSignal::flag()) {
    if (!server.is_running()) throw Error("the system took the port away: start 'sadam serve' again.");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

void add_serve(CLI::App& app) {
  const auto [command, arguments] = add_command<ServeArguments>(app, "serve", kServeHelp, serve);
  not_empty(command.add_option("root", arguments.root, "Folder of the runs")
                ->capture_default_str()
                ->type_name("FOLDER"),
            "name a folder, or leave it out for 'runs'");
  command.add_option("--port", arguments.server.port, "Where to listen; 0: any port that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str()
      ->type_name("NUMBER");
  not_empty(command.add_option("--host", arguments.server.host, "The address to listen on")
                ->capture_default_str()
                ->type_name("ADDRESS"),
            "give an address, or leave it out for this machine alone");
}

}  // namespace sadam::cli
