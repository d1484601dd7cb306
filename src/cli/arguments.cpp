#include "cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "base/usage_error.h"

namespace sadam::cli {

std::string RecipeOptions::read() const { return file.empty() ? "" : base::read_text(file); }

std::optional<RankOptions> launched_rank() {
  auto options = RankOptions::from_environment();
  if (options && options->size() == 1) options.reset();
  return options;
}

void check_not_launched(const std::string& what) {
  if (const auto launched = launched_rank())
    throw UsageError(
        fmt::format("{} starts its processes by itself, and this is one of {} that a launcher started: start "
                    "it once, with --processes {}.",
                    what, launched->size(), launched->size()));
}

void JobOptions::add_to(CLI::App& command) {
  constexpr std::int64_t kMost = 256;
  command.add_option("-j,--jobs", jobs, "Trains so many runs at once, each in a process of its own")
      ->check(CLI::Range(std::int64_t{1}, kMost))
      ->type_name("COUNT");
  command.add_option("--worker", worker.plan)->group("");
  command.add_option("--worker-threads", worker.threads)->group("");
}

double number_from(const std::string& text, std::string_view option, std::string_view example) {
  double value = 0;
  const auto* const end = text.data() + text.size();
  const auto* begin = std::find_if(text.data(), end, [](char letter) { return letter != ' '; });
  if (begin != end && *begin == '+') ++begin;
  const auto [stopped, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stopped != end || !std::isfinite(value))
    throw UsageError(fmt::format("{} takes numbers separated by commas, such as {}, and not {}.", option,
                                 example, base::in_quotes(text)));
  return value;
}

void check_root(const std::filesystem::path& root) {
  std::error_code trouble;
  const auto kind = std::filesystem::status(root, trouble).type();
  if (kind != std::filesystem::file_type::directory && kind != std::filesystem::file_type::not_found)
    throw Error(fmt::format("{} is not a folder that can be read: correct --root.", root.string()));
}

void check_run_name(const std::string& name) {
  const auto refuse = [&](std::string_view why) {
    throw UsageError(fmt::format("--name {} {}", base::in_quotes(name), why));
  };
  if (base::printable(name) != name) refuse("has a control character in it; take it out.");
  if (name.find('/') != std::string::npos)
    refuse("has a slash in it; say with --root in which folder the run goes.");
  if (name.empty() || name.front() == '.' || name.front() == '-')
    refuse("does not begin with a letter or a digit; choose a plain name, such as first.");
}

}  // namespace sadam::cli
