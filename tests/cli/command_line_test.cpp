// What is typed wrong is answered with what was meant, and what is printed arrives or is reported lost.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "base/text.h"
#include "cli/command.h"
#include "cli/program.h"
#include "support/temporary_folder.h"

namespace sadam::cli {
namespace {

std::string complaint(const Arguments& arguments, int status) {
  const auto ended = run_program(arguments);
  EXPECT_EQ(ended.status, status) << ended.err;
  EXPECT_EQ(ended.out, "");
  return ended.err;
}

TEST(CommandLine, AnUnknownCommandIsAnsweredWithTheNearest) {
  EXPECT_EQ(complaint({"trian"}, 2),
            "sadam: 'sadam' has no command 'trian'; did you mean 'train'? See 'sadam --help'.\n");
  EXPECT_EQ(complaint({"data", "fetsch"}, 2),
            "sadam: 'sadam data' has no command 'fetsch'; did you mean 'fetch'? See 'sadam data --help'.\n");
  EXPECT_NE(complaint({"xyzzy"}, 2).find("valid are: train, eval"), std::string::npos);
  EXPECT_NE(complaint({}, 2).find("needs a command: train, eval"), std::string::npos);
}

TEST(CommandLine, HelpOnAnUnknownCommandIsAnsweredAsTheCommandIs) {
  EXPECT_EQ(complaint({"evaluate", "--help"}, 2),
            "sadam: 'sadam' has no command 'evaluate'; did you mean 'eval'? See 'sadam --help'.\n");
  for (const Arguments& command :
       std::vector<Arguments>{{"xyzzy"}, {"data", "fetsch"}, {"evaluate", "runs"}}) {
    auto with_help = command;
    with_help.emplace_back("--help");
    EXPECT_EQ(complaint(with_help, 2), complaint(command, 2));
  }
  for (const Arguments& command : std::vector<Arguments>{{"data", "--help"}, {"runs", "-h"}}) {
    const auto ended = run_program(command);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_NE(ended.out.find("Usage: sadam"), std::string::npos) << ended.out;
  }
}

TEST(CommandLine, AnUnknownOptionIsAnsweredWithTheNearestAndTheRightHelp) {
  EXPECT_EQ(complaint({"runs", "--rot=x"}, 2),
            "sadam: 'sadam runs' has no option '--rot'; did you mean '--root'? See 'sadam runs --help'.\n");
  EXPECT_EQ(
      complaint({"train", "--lr", "0.1"}, 2),
      "sadam: 'sadam train' has no option '--lr'; did you mean --set optimizer.lr=VALUE? See 'sadam train "
      "--help'.\n");
  EXPECT_EQ(complaint({"--rot", "runs"}, 2), "sadam: 'sadam' has no option '--rot'; see 'sadam --help'.\n");
  EXPECT_EQ(complaint({"runs", "x"}, 2), "sadam: 'sadam runs' takes no 'x'; see 'sadam runs --help'.\n");
  EXPECT_NE(complaint({"data", "fetch"}, 2).find("see 'sadam data fetch --help'"), std::string::npos);
  EXPECT_NE(complaint({"train", "--name"}, 2).find("see 'sadam train --help'"), std::string::npos);
}

TEST(CommandLine, WhatCannotBeWrittenIsAFailure) {
  for (const std::string arguments : {"--help", "train --help", "info"}) {
    const auto command = "said=$(\"$SADAM_PROGRAM\" " + arguments +
                         " 2>&1 > /dev/full); test $? = 1 && echo \"$said\" | grep -q '^sadam: cannot write'";
    EXPECT_EQ(std::system(command.c_str()), 0) << arguments;
  }
}

TEST(CommandLine, HelpIsAlsoACommand) {
  EXPECT_EQ(run_program({"help"}).out, run_program({"--help"}).out);
  const auto train = run_program({"help", "train"});
  EXPECT_EQ(train.status, 0);
  EXPECT_EQ(train.out, run_program({"train", "--help"}).out);
  EXPECT_EQ(run_program({"help", "nonsense"}).status, 2);
}

TEST(CommandLine, AFolderOfRunsThatIsNotThereIsAFailureAndAnEmptyOneIsNot) {
  const TemporaryFolder folder;
  const auto root = folder.path().string();
  EXPECT_NE(complaint({"runs", "--root", root + "/nowhere"}, 1).find("/nowhere"), std::string::npos);
  EXPECT_EQ(complaint({"runs", "--root", root}, 0),
            "There are no runs below " + root + "; 'sadam train' makes one.\n");
}

// What the program prints on a terminal of so many columns; none where there are no terminals. A line that is
// drawn again is several lines here.
std::optional<std::string> on_terminal(const Arguments& arguments, std::size_t columns, int expected = 0) {
  const char* const program = std::getenv("SADAM_PROGRAM");
  std::vector<std::string> words = {program == nullptr ? "" : program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  winsize size{};
  size.ws_row = 40;
  size.ws_col = static_cast<unsigned short>(columns);
  int terminal = -1;
  int screen = -1;
  if (::openpty(&terminal, &screen, nullptr, nullptr, &size) != 0) return std::nullopt;
  const auto process = ::fork();
  if (process == 0) {
    ::login_tty(screen);
    ::setenv("TERM", "xterm", 1);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  // The screen stays open here: when its last user goes, Linux may drop what was not read yet.
  std::string text;
  int status = 0;
  for (bool ended = false;;) {
    pollfd ready{terminal, POLLIN, 0};
    if (::poll(&ready, 1, 20) > 0) {
      char buffer[4096];
      const auto count = ::read(terminal, buffer, sizeof buffer);
      if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
    } else if (ended) {
      break;
    } else {
      ended = ::waitpid(process, &status, WNOHANG) == process;
    }
  }
  ::close(screen);
  ::close(terminal);
  EXPECT_EQ(WEXITSTATUS(status), expected) << text;
  for (std::size_t end = 0; (end = text.find("\r\n", end)) != std::string::npos;) text.erase(end, 1);
  std::replace(text.begin(), text.end(), '\r', '\n');
  return text;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, base::display_width(line));
  return widest;
}

TEST(CommandLine, TablesFitTheTerminalAndHaveTheirFullWidthElsewhere) {
  const Arguments fields = {"info", "recipe"};
  EXPECT_GT(widest_line(run_program(fields).out), 100U);
  for (const std::size_t columns : {80, 100}) {
    const auto shown = on_terminal(fields, columns);
    if (!shown) GTEST_SKIP() << "this machine makes no terminals";
    EXPECT_LE(widest_line(*shown), columns);
  }
  EXPECT_EQ(on_terminal(fields, 500), run_program(fields).out);
}

// Between words: put together again it is the sentence that a file gets.
TEST(CommandLine, SentencesAreBrokenBetweenWordsOnATerminal) {
  const Arguments wrong = {"train", "--set", "optimizer.lr=1,,2"};
  const auto sentence = run_program(wrong).err;
  for (const std::size_t columns : {80, 60}) {
    ASSERT_GT(base::display_width(sentence), columns);
    auto shown = on_terminal(wrong, columns, 2);
    if (!shown) GTEST_SKIP() << "this machine makes no terminals";
    EXPECT_LE(widest_line(*shown), columns) << *shown;
    std::replace(shown->begin(), shown->end() - 1, '\n', ' ');
    for (const std::string colour : {"\033[31m", "\033[0m"})
      if (const auto at = shown->find(colour); at != std::string::npos) shown->erase(at, colour.size());
    EXPECT_EQ(*shown, sentence);
  }
}

TEST(CommandLine, WhatARunAndAGridShowFitsATerminal) {
  const TemporaryFolder folder;
  for (const std::string seeds : {"1", "1-2"}) {
    Arguments words = {"train", "--set", "seed=" + seeds, "--root", folder.path().string(), "--name", seeds};
    auto fields = small_run();
    std::erase(fields, "--quiet");
    words.insert(words.end(), fields.begin(), fields.end());
    const auto shown = on_terminal(words, 60);
    if (!shown) GTEST_SKIP() << "this machine makes no terminals";
    std::istringstream lines(*shown);
    for (std::string line; std::getline(lines, line);) {
      const bool is_path = line.find(folder.path().string()) != std::string::npos;
      EXPECT_TRUE(is_path || base::display_width(line) <= 60U) << line;
    }
    EXPECT_TRUE(says(*shown, seeds == "1" ? "epoch 1/" : "seed1: best ")) << *shown;
  }
}

// Every command that has a help, as it is typed.
std::vector<std::string> commands() {
  std::ostringstream texts;
  write_help_texts(texts);
  std::vector<std::string> names;
  std::istringstream lines(texts.str());
  for (std::string line; std::getline(lines, line);)
    if (const auto end = line.find("\", 80, R\"help("); line.starts_with("{\"") && end != std::string::npos)
      names.push_back(line.substr(2, end - 2));
  return names;
}

Arguments help_words(const std::string& command) {
  Arguments words;
  std::istringstream text(command);
  for (std::string word; text >> word;) words.push_back(word);
  words.emplace_back("--help");
  return words;
}

TEST(CommandLine, EveryHelpFitsEightyColumnsAndHasAnExample) {
  EXPECT_GE(commands().size(), 16U);
  for (const auto& command : commands()) {
    const auto help = run_program(help_words(command)).out;
    EXPECT_LE(widest_line(help), 80U) << help;
    EXPECT_EQ(help.find("\n\n\n"), std::string::npos) << help;
    EXPECT_NE(help.find("\n  sadam " + command), std::string::npos) << help;
    EXPECT_NE(help.find("Usage: sadam"), std::string::npos) << help;
  }
}

TEST(CommandLine, HelpIsNarrowerOnANarrowTerminalAndSaysTheSame) {
  const auto words_of = [](const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
  };
  for (const auto& command : commands()) {
    const auto narrow = on_terminal(help_words(command), 60);
    if (!narrow) GTEST_SKIP() << "this machine makes no terminals";
    EXPECT_LE(widest_line(*narrow), 60U) << *narrow;
    EXPECT_EQ(words_of(*narrow), words_of(run_program(help_words(command)).out));
  }
}

// So that it answers at once: without the engine, it has no libtorch to load.
TEST(CommandLine, HelpAndVersionNeedNoEngine) {
  const TemporaryFolder folder;
  const auto alone = folder.path() / "bin" / "sadam";
  std::filesystem::create_directories(alone.parent_path());
  std::filesystem::copy_file(std::getenv("SADAM_PROGRAM"), alone);
  const auto run = [&](const std::string& arguments) {
    const auto out = (folder.path() / "out").string();
    const auto status =
        std::system(("'" + alone.string() + "' " + arguments + " > '" + out + "' 2>&1").c_str());
    std::ifstream file(out);
    return std::pair(WEXITSTATUS(status), std::string(std::istreambuf_iterator<char>(file), {}));
  };
  for (const auto& command : commands()) {
    const auto expected = run_program(help_words(command)).out;
    EXPECT_EQ(run(command + " --help"), std::pair(0, expected));
    EXPECT_EQ(run("help " + command), std::pair(0, expected));
  }
  EXPECT_EQ(run("--version").second, run_program({"--version"}).out);
  const auto [status, said] = run("runs");
  EXPECT_EQ(status, 1);
  EXPECT_NE(said.find("install sadam again"), std::string::npos) << said;
}

TEST(CommandLine, HelpNamesTheStatesOfRunsAndFieldsThatMeanSomethingThere) {
  const auto runs = run_program({"runs", "--help"}).out;
  for (const std::string word :
       {"\n  finished ", "\n  running ", "\n  stopped ", "\n  damaged ", "optimizer.name=sadam."})
    EXPECT_NE(runs.find(word), std::string::npos) << word;
  EXPECT_EQ(run_program({"eval", "--help"}).out.find("optimizer."), std::string::npos);
}

}  // namespace
}  // namespace sadam::cli
