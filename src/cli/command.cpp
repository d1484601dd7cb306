#include "cli/command.h"

#include <sadam/error.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <system_error>

#include "base/file.h"
#include "base/terminal.h"
#include "base/text.h"
#include "report/text_table.h"

namespace sadam::cli {
namespace {

class HelpLayout : public CLI::Formatter {
 public:
  explicit HelpLayout(std::size_t width) : width_(width) { column_width(kLeft); }

  std::string make_description(const CLI::App* app) const override {
    return report::reflowed(CLI::Formatter::make_description(app), width_);
  }
  std::string make_footer(const CLI::App* app) const override {
    return report::reflowed(CLI::Formatter::make_footer(app), width_);
  }

  // Behind options that are not shown CLI11 leaves an empty line too many.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    auto text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
    return text;
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const auto type = option->get_type_name();  // COUNT:INT in [1 - 1000000], say
    auto text = fmt::format(" {}", type.substr(0, type.find(':')));
    if (!option->get_default_str().empty()) text += fmt::format("={}", option->get_default_str());
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
    return text;
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return fitted(option->get_description());
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    const auto text = fitted(command->get_description());
    CLI::detail::format_help(out, command->get_name(), text.substr(0, text.find('.') + 1), kLeft);
    return out.str();
  }

 private:
  static constexpr std::size_t kLeft = 25;

  // CLI11 puts each line in its place. Of a subcommand the first sentence is enough here.
  std::string fitted(std::string text) const {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return report::wrapped(text, width_ - kLeft);
  }

  std::size_t width_;
};

// A signal handler can reach nothing else.
std::atomic<bool> stop_requested = false;
std::atomic<bool> stop_is_patient = false;

extern "C" void request_stop(int number) {
  if (stop_requested.exchange(true) && number != SIGHUP && !stop_is_patient) std::_Exit(130);
}

}  // namespace

CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& help) {
  const auto end = help.find("\n\n");
  auto& command = *app.add_subcommand(name, fmt::format("{}\n", help.substr(0, end)));
  command.footer(end == std::string::npos ? "" : help.substr(end + 2));
  return command;
}

std::shared_ptr<CLI::FormatterBase> help_layout(std::size_t width) {
  return std::make_shared<HelpLayout>(width);
}

CLI::Option* not_empty(CLI::Option* option, const std::string& way_out) {
  return option->check([way_out](const std::string& text) {
    return text.empty() ? fmt::format("must not be empty; {}", way_out) : std::string();
  });
}

std::size_t output_width() { return isatty(STDOUT_FILENO) == 1 ? base::terminal_columns(stdout) : 0; }

StopSignal::StopSignal(bool is_launched) {
  stop_is_patient = is_launched;
  struct sigaction action {};
  action.sa_handler = request_stop;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    const bool stays_ignored = kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN;
    if (!stays_ignored) ::sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

const std::atomic<bool>& StopSignal::flag() { return stop_requested; }

std::filesystem::path output_target(const std::string& name, const char* option) {
  if (name.empty()) return {};
  const auto file = base::writable_target(name);
  const auto folder = file.parent_path();
  std::error_code unreadable;
  if (!folder.empty() && !std::filesystem::is_directory(folder, unreadable))
    throw Error(fmt::format("there is no folder {} for {}: make it, or name another file.",
                            base::in_quotes(folder.string()), option));
  return file;
}

void add_seed_option(CLI::App& command, std::uint64_t& seed) {
  command.add_option("--seed", seed, "Seeds every random draw")
      ->capture_default_str()
      ->check([](const std::string& text) {
        return text.starts_with('-') ? "must be 0 or more" : std::string();
      });
}

void WorkLine::say(const std::string& what) const {
  if (!live_) return;
  const auto room = std::max<std::size_t>(base::terminal_columns(stderr), 8) - 3;
  std::string shown = what;
  while (base::display_width(shown) > room)
    shown.resize(shown.rfind(' ') == std::string::npos ? room : shown.rfind(' '));
  std::cerr << base::kClearBelow << shown << " …" << base::kBackToStart << std::flush;
}

void WorkLine::clear() const {
  if (live_) std::cerr << base::kClearBelow << std::flush;
}

}  // namespace sadam::cli
