#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "cli/command.h"
#include "lab/theory.h"
#include "report/text_table.h"

namespace sadam::cli {
namespace {

constexpr fmt::string_view kTheoryHelp =
    R"(Checks the paper's theory with numbers: for each claim what it predicts, what
is measured with its 95 % interval, the verdict, and a counterexample where it
fails.

  sadam theory --quick
      every claim, in under a minute
  sadam theory bounds curvature
      some topics: {}
  sadam theory --csv theory.csv
      every claim in full, a few minutes; the numbers also in a file

The same seed gives the same numbers.)";

std::string theory_help() {
  std::vector<std::string> names;
  for (const auto& topic : lab::theory_topics()) names.push_back(topic.name);
  constexpr std::size_t kRoom = 60;
  return fmt::format(fmt::runtime(kTheoryHelp),
                     report::wrapped(fmt::format("{}", fmt::join(names, ", ")), kRoom, "      "));
}

struct TheoryArguments {
  std::vector<std::string> names;
  bool quick = false;
  std::uint64_t seed = 1;
  std::string csv;
};

constexpr std::size_t kTheoryWidth = 80;

std::string short_number(double value) {
  auto text = fmt::format("{:.3g}", value);
  if (text == "1" && std::fabs(1 - value) >= 5e-4) return fmt::format("{:.4g}", value);
  if (text == "1" && value != 1)
    text = fmt::format("1 {} {:.1e}", value < 1 ? "−" : "+", std::fabs(1 - value));
  return text;
}

std::string measurement(const lab::Estimate& estimate) {
  if (estimate.low == estimate.high) return short_number(estimate.value);
  return fmt::format("{} [{}, {}]", short_number(estimate.value), short_number(estimate.low),
                     short_number(estimate.high));
}

/// One word, so that a row fits.
std::string case_outcome(lab::Verdict verdict) {
  return verdict == lab::Verdict::holds ? "holds" : verdict == lab::Verdict::fails ? "fails" : "open";
}

report::TextTable cases_of(const lab::Claim& claim) {
  report::TextTable table;
  table.columns = {{"case", "case"}, {"predicted", "predicted"}, {"measured", "measured"}, {"verdict", ""}};
  for (const auto& one : claim.cases)
    table.add({one.name, lab::prediction(one), measurement(one.measured), case_outcome(judge(one))});
  return table;
}

/// Of cases that fail for one reason, the first is enough, and three in all.
std::vector<std::string> counterexamples_of(const lab::Claim& claim) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> texts, lines;
  for (const auto& one : claim.cases) {
    if (judge(one) != lab::Verdict::fails || one.counterexample.empty()) continue;
    if (std::find(texts.begin(), texts.end(), one.counterexample) != texts.end()) continue;
    texts.push_back(one.counterexample);
    if (lines.size() < kMost)
      lines.push_back(fmt::format("Counterexample ({}): {}", one.name, one.counterexample));
  }
  return lines;
}

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);) all += fmt::format("  {}\n", line);
  return all;
}

std::string claim_paragraph(const std::string& text) {
  return fmt::format("  {}\n", report::wrapped(text, kTheoryWidth, "  "));
}

std::string block_of(const lab::Claim& claim) {
  auto text = fmt::format("{}: {}\n", claim.id, to_string(judge(claim)));
  text += claim_paragraph(fmt::format("{} ({})", claim.statement, claim.where));
  if (!claim.setting.empty()) text += claim_paragraph(claim.setting);
  if (!claim.untestable.empty()) text += claim_paragraph(claim.untestable);
  if (!claim.cases.empty()) text += indented(to_text(cases_of(claim), kTheoryWidth - 2));
  for (const auto& line : counterexamples_of(claim)) text += claim_paragraph(line);
  return text;
}

std::string csv_of(const std::vector<lab::Claim>& claims) {
  report::TextTable table;
  for (const auto* key : {"claim", "where", "statement", "verdict", "case", "relation", "predicted",
                          "tolerance", "measured", "low", "high", "case_verdict", "counterexample"})
    table.columns.push_back({key, key});
  const auto value = [](double x) { return report::Cell::number(x, 6); };
  for (const auto& claim : claims) {
    const std::string verdict(to_string(judge(claim)));
    if (claim.cases.empty()) {
      std::vector<report::Cell> row = {claim.id, claim.where, claim.statement, verdict};
      row.resize(table.columns.size());
      row.back() = claim.untestable;
      table.add(std::move(row));
    }
    for (const auto& one : claim.cases) {
      const auto verdict_of_case = judge(one);
      table.add({claim.id, claim.where, claim.statement, verdict, one.name,
                 std::string(to_string(one.relation)), value(one.predicted), value(one.tolerance),
                 value(one.measured.value), value(one.measured.low), value(one.measured.high),
                 std::string(to_string(verdict_of_case)),
                 verdict_of_case == lab::Verdict::fails ? one.counterexample : ""});
    }
  }
  return to_csv(table);
}

/// "12 claims: 5 hold, 3 in part, 4 do not, 0 undecided."
std::string theory_summary(const std::vector<lab::Claim>& claims) {
  std::array<int, 4> counts{};
  for (const auto& claim : claims) ++counts[static_cast<std::size_t>(judge(claim))];
  return fmt::format("{} claims: {} hold, {} in part, {} do not, {} undecided.\n", claims.size(), counts[0],
                     counts[1], counts[2], counts[3]);
}

void theory_now(const TheoryArguments& arguments) {
  std::vector<const lab::TheoryTopic*> topics;
  for (const auto& name : arguments.names) {
    const auto* const topic = &lab::theory_topic(name);
    if (std::find(topics.begin(), topics.end(), topic) == topics.end()) topics.push_back(topic);
  }
  if (topics.empty())
    for (const auto& topic : lab::theory_topics()) topics.push_back(&topic);
  const auto file = output_target(arguments.csv, "--csv");
  const StopSignal stop;
  const WorkLine doing;
  std::vector<lab::Claim> all;
  for (const auto* topic : topics) {
    const auto say = [&](const std::string& what) {
      doing.say(fmt::format("checking {}: {}", topic->name, what));
    };
    const lab::LongWork options{arguments.quick, arguments.seed, &StopSignal::flag(), say};
    say(topic->about);
    const auto claims = topic->check(options);
    doing.clear();
    for (const auto& claim : claims) std::cout << block_of(claim) << '\n' << std::flush;
    all.insert(all.end(), claims.begin(), claims.end());
  }
  std::cout << theory_summary(all);
  if (!file.empty()) base::write_file_atomically(file, csv_of(all));
}

}  // namespace

void add_theory(CLI::App& app) {
  const auto [command, arguments] = add_command<TheoryArguments>(app, "theory", theory_help(), theory_now);
  command.add_option("topics", arguments.names, "What to check; everything without one")->type_name("NAME");
  command.add_flag("--quick", arguments.quick, "Fewer seeds, shorter runs: under a minute");
  add_seed_option(command, arguments.seed);
  add_output_option(command, "--csv", arguments.csv, "Also writes every number to this file");
}

}  // namespace sadam::cli
