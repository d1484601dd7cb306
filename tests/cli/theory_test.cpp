// `sadam theory`, as a person runs it.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <sstream>

#include "base/text.h"
#include "cli/program.h"
#include "support/temporary_folder.h"

namespace sadam::cli {
namespace {

TEST(TheoryCommand, PrintsClaimPlacePredictionMeasurementAndVerdictWithinEightyColumns) {
  const auto ended = run_program({"theory", "bounds", "proximal", "diameter", "--quick"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  for (const std::string text :
       {"bounds.rho: holds\n", "Proposition 4.1", "predicted", "measured", "bounds.code: does not hold\n",
        "Counterexample", "diameter.upper: holds in part\n", "\n11 claims: "})
    EXPECT_NE(ended.out.find(text), std::string::npos) << text << " is not in\n" << ended.out;
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(base::display_width(line), 80U) << line;
}

TEST(TheoryCommand, WritesEveryNumberAndOtherOnesForAnotherSeed) {
  const TemporaryFolder folder;
  const auto csv_of = [&](const std::string& name, const std::string& seed) {
    const auto file = (folder.path() / name).string();
    const auto ended = run_program({"theory", "diameter", "--quick", "--seed", seed, "--csv", file});
    EXPECT_EQ(ended.status, 0) << ended.err;
    return text_of_file(file);
  };
  const auto first = csv_of("a.csv", "3");
  EXPECT_EQ(first.find("claim,where,statement,verdict,case,relation,predicted,tolerance,measured,low,high,"),
            0U);
  EXPECT_NE(first.find("diameter.lower"), std::string::npos);
  EXPECT_NE(first, csv_of("b.csv", "4"));
}

TEST(TheoryCommand, AnswersBadInputWithOneSentence) {
  const auto misspelt = run_program({"theory", "bounds", "lyapunow"});
  EXPECT_EQ(misspelt.status, 2);
  EXPECT_EQ(misspelt.err, "sadam: there is no topic 'lyapunow'; did you mean 'lyapunov'?\n");
  EXPECT_EQ(misspelt.out, "") << "nothing is checked before all names are known";
  const auto folder = run_program({"theory", "bounds", "--csv", "/"});
  EXPECT_EQ(folder.status, 1);
  EXPECT_EQ(folder.out, "");
  const auto nowhere = run_program({"theory", "rate", "--csv", "/nowhere/theory.csv"});
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_EQ(nowhere.err, "sadam: there is no folder '/nowhere' for --csv: make it, or name another file.\n");
  EXPECT_EQ(run_program({"theory", "--csv", ""}).status, 2);
  EXPECT_EQ(run_program({"theory", "--seed", "-1"}).status, 2);
}

TEST(TheoryCommand, EndsAtOnceOnCtrlC) {
  const auto began = std::chrono::steady_clock::now();
  const auto ended = run_and_signal({"theory", "rate"}, std::chrono::milliseconds(700), SIGINT);
  EXPECT_EQ(ended.status, 130) << ended.err;
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

}  // namespace
}  // namespace sadam::cli
