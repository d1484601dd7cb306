// What `sadam` does with its arguments, and how it ends.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sadam/version.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

#include "base/allocation.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "cli/command.h"
#include "report/text_table.h"
#include "train/progress.h"
#include "train/recipe/fields.h"
#include "train/trainer.h"

namespace sadam::cli {
namespace {

constexpr const char* kIntroduction =
    R"(S-Adam is AdamW with a brake. This program trains networks with it, reruns the
experiments of its paper with controls, compares the runs, and shows what its
probe measures.

  sadam reproduce table1 --quick     the paper's first table, small: a minute
  sadam data fetch cifar100          the real data
  sadam reproduce table1 --only cifar100
  sadam train --set data.name=cifar100 --set optimizer.probes=8 --name first
  sadam runs                         what has been run
  sadam serve                        the same in a browser, while it happens
  sadam landscape kinks              optimizers on a function with kinks, drawn
  sadam probe first                  where a model's loss is not smooth
  sadam theory --quick               the paper's theory, checked

'sadam COMMAND --help' explains each command.
)";

/// While it lives, a line of `stream` that is wider than the terminal behind `file` is broken between words.
/// Where there is no terminal nothing changes. What is flushed before its end, such as a line that is drawn
/// again and again, passes as it is.
class WordBreaks : public std::streambuf {
 public:
  WordBreaks(std::ostream& stream, std::FILE* file) : stream_(stream), file_(file), flags_(stream.flags()) {
    if (isatty(fileno(file)) != 1) return;
    target_ = stream.rdbuf(this);
    stream.unsetf(std::ios_base::unitbuf);  // which would flush each word of a line
  }
  ~WordBreaks() override {
    if (target_ == nullptr) return;
    sync();
    stream_.rdbuf(target_);
    stream_.flags(flags_);
  }

 protected:
  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
    const std::lock_guard lock(mutex_);
    return take(traits_type::to_char_type(character)) ? character : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    const std::lock_guard lock(mutex_);
    for (std::streamsize i = 0; i < count; ++i)
      if (!take(text[i])) return i;
    return count;
  }
  int sync() override {
    const std::lock_guard lock(mutex_);
    return pass_on() && target_->pubsync() == 0 ? 0 : -1;
  }

 private:
  bool take(char character) {
    if (character != '\n') {
      line_ += character;
      return true;
    }
    // Before this the line went back to its start.
    const auto start = line_.rfind('\r') + 1;
    line_.replace(start, std::string::npos,
                  report::reflowed(line_.substr(start), base::terminal_columns(file_)));
    line_ += '\n';
    const bool waits = (flags_ & std::ios_base::unitbuf) == 0;
    return pass_on() && (waits || target_->pubsync() == 0);
  }
  bool pass_on() {
    const auto size = static_cast<std::streamsize>(line_.size());
    const bool passed = target_->sputn(line_.data(), size) == size;
    line_.clear();
    return passed;
  }

  std::ostream& stream_;
  std::FILE* file_;
  std::streambuf* target_ = nullptr;  ///< null: there is no terminal
  std::ios_base::fmtflags flags_;
  std::string line_;  ///< as far as it has come
  std::mutex mutex_;  ///< libtorch warns from threads of its own
};

// One sentence: libtorch appends pages.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

using Chain = std::vector<const CLI::App*>;

// The program, the subcommand that was given, and what was given to that: sadam, data, fetch.
Chain chain_of(const CLI::App& app) {
  Chain chain = {&app};
  while (!chain.back()->get_subcommands().empty()) chain.push_back(chain.back()->get_subcommands().back());
  return chain;
}

std::string name_of(const Chain& chain) {
  std::vector<std::string> names;
  for (const auto* app : chain) names.push_back(app->get_name());
  return fmt::format("{}", fmt::join(names, " "));
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) names.push_back(fmt::format("--{}", name));
  return names;
}

// Of what `app` was given and has no place for.
std::string about_extra(const CLI::App& app, const std::string& name, std::string given) {
  if (!given.starts_with('-')) {
    const auto commands = subcommands_of(app);
    if (commands.empty()) return fmt::format("'{}' takes no {}", name, base::in_quotes(given));
    return fmt::format("'{}' has no command {}{}", name, base::in_quotes(given),
                       base::suggestion(given, commands));
  }
  given.resize(std::min(given.size(), given.find('=')));
  // "--lr" for what is a field of the recipe.
  const auto fields =
      train::fields_with_key(given.substr(std::min(given.find_first_not_of('-'), given.size())));
  const auto options = options_of(app);
  if (!fields.empty() && std::ranges::count(options, "--set") > 0)
    return fmt::format("'{}' has no option {}; did you mean --set {}=VALUE?", name, base::in_quotes(given),
                       fmt::join(fields, "=VALUE or --set "));
  const auto meant = base::nearest(given, options);
  return fmt::format("'{}' has no option {}{}", name, base::in_quotes(given),
                     meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant));
}

bool asks_for_help(const CLI::Error& error) {
  return dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr;
}

// Words that no command took are what is wrong, and remain so where help is asked for beside them.
bool is_about_extras(const CLI::Error& error) {
  return dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || asks_for_help(error);
}

std::string about(const Chain& chain, const CLI::Error& error) {
  const auto& app = *chain.back();
  const auto extras = app.remaining();
  const bool command_missing = app.get_require_subcommand_min() > 0 && app.get_subcommands().empty();
  if (command_missing || is_about_extras(error)) {
    if (!extras.empty()) return about_extra(app, name_of(chain), extras.front());
    if (command_missing)
      return fmt::format("'{}' needs a command: {}", name_of(chain), fmt::join(subcommands_of(app), ", "));
  }
  return first_line(error.what());
}

/// What is wrong with a command line that could not be parsed, in one sentence: what was not understood, the
/// nearest name that would have been, and the command whose --help says more.
std::string parse_failure(const CLI::App& app, const CLI::Error& error) {
  auto chain = chain_of(app);
  // The command that has something left over need not be the last.
  while (is_about_extras(error) && chain.size() > 1 && chain.back()->remaining().empty()) chain.pop_back();
  const auto sentence = about(chain, error);
  const bool has_end = sentence.ends_with('?') || sentence.ends_with('.');
  return fmt::format("{}{} '{} --help'.", sentence, has_end ? " See" : "; see", name_of(chain));
}

/// Whether help was asked for beside a command that does not exist, as in "sadam evaluate --help": the help
/// of something else would be no answer.
bool is_help_on_unknown_command(const CLI::App& app, const CLI::Error& error) {
  if (!asks_for_help(error)) return false;
  const auto chain = chain_of(app);
  return std::any_of(chain.begin(), chain.end(), [](const CLI::App* each) {
    return !subcommands_of(*each).empty() && !each->remaining().empty();
  });
}

std::string complaint(const std::string& sentence) {
  return fmt::format("{} {}\n", base::painted("sadam:", base::Tone::bad, base::has_colour(stderr)), sentence);
}

int fail(const std::string& sentence, int status) {
  std::cerr << complaint(sentence);
  return status;
}

// What was printed may have been lost only now: a full disk shows when the last bytes are handed over.
int finish_output() {
  std::cout.flush();
  return std::cout ? 0 : fail("cannot write to standard output: is the disk full?", 1);
}

// CLI11 takes them in reverse order. "help train" is what some programs call "train --help".
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  std::reverse(words.begin(), words.end());
  return words;
}

std::unique_ptr<CLI::App> make_app(std::size_t help_width) {
  auto made = std::make_unique<CLI::App>(kIntroduction, "sadam");
  auto& app = *made;
  app.formatter(help_layout(help_width));
  app.set_version_flag("--version", SADAM_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return complaint(parse_failure(*failed, error));
  });
  for (auto* const add : {add_train, add_eval, add_export, add_reproduce, add_data, add_runs, add_compare,
                          add_report, add_serve, add_landscape, add_probe, add_theory, add_audit, add_info})
    add(app);
  return made;
}

// "", "train", "data fetch": every command that has a help, as words.
std::vector<std::vector<std::string>> commands_below(const CLI::App& app,
                                                     const std::vector<std::string>& words) {
  std::vector<std::vector<std::string>> all = {words};
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    auto longer = words;
    longer.push_back(command->get_name());
    const auto below = commands_below(*command, longer);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

// CLI11 knows the help of a command only once it has been asked for.
std::string help_of(std::vector<std::string> words, std::size_t width) {
  const auto app = make_app(width);
  words.emplace_back("--help");
  std::reverse(words.begin(), words.end());
  std::ostringstream text;
  try {
    app->parse(words);
  } catch (const CLI::CallForHelp& asked) {
    app->exit(asked, text, text);
  }
  return text.str();
}

}  // namespace

int run(int argc, char** argv) {
  base::keep_freed_memory();
  const WordBreaks of_errors(std::cerr, stderr);
  const WordBreaks of_output(std::cout, stdout);
  train::Progress errors(std::cerr, {.style = train::ProgressStyle::quiet});
  const train::ShownWarnings warnings(errors);  // torch's own way to show them is off: see main.cpp
  const auto made = make_app(base::help_width(stdout));
  auto& app = *made;
  try {
    app.parse(words_of(argc, argv));
    return finish_output();
  } catch (const CLI::ParseError& error) {
    if (is_help_on_unknown_command(app, error)) return fail(parse_failure(app, error), 2);
    return app.exit(error) == 0 ? finish_output() : 2;  // help is an "error" with status 0
  } catch (const Interrupted& interrupted) {
    if (!interrupted.words.empty()) std::cerr << interrupted.words << '\n';
    return 130;
  } catch (const UsageError& error) {
    return fail(error.what(), 2);
  } catch (const Error& error) {
    return fail(error.what(), 1);
  } catch (const std::bad_alloc&) {
    return fail("out of memory: use a smaller batch (--set train.batch=...) or smaller data.", 1);
  } catch (const std::exception& error) {
    return fail(first_line(error.what()), 1);
  }
}

void write_help_texts(std::ostream& out) {
  for (const std::size_t width : {60, 80})
    for (const auto& words : commands_below(*make_app(width), {}))
      out << fmt::format("{{\"{}\", {}, R\"help({})help\"}},\n", fmt::join(words, " "), width,
                         help_of(words, width));
}

}  // namespace sadam::cli
