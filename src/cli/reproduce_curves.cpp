#include <fmt/format.h>

#include <iostream>

#include "base/usage_error.h"
#include "cli/command.h"
#include "cli/reproduce.h"
#include "reproduce/execute.h"
#include "reproduce/figures.h"
#include "reproduce/results.h"

namespace sadam::cli {
namespace {

using reproduce::Execution;
using reproduce::Figure;
using reproduce::Groups;

// A figure, and what there is to draw of it.
struct Drawing {
  Figure figure;
  Execution execution;
  Groups curves;
};

// Trains what the figures lack, one after the other, until told to stop.
void execute_all(std::vector<Drawing>& drawings, const ReproduceArguments& arguments) {
  const StopSignal stop;
  ProgressOutput output(arguments.quiet || arguments.jobs.is_worker());
  for (auto& drawing : drawings) {
    output.lines << drawing.figure.recipe.title << ": ";
    drawing.execution = execute(drawing.figure.plan, output.options(arguments.jobs));
    if (drawing.execution.stopped) return;
  }
}

std::string why_empty(const Drawing& drawing, const std::filesystem::path& root) {
  const auto& unavailable = drawing.execution.unavailable;
  if (!unavailable.empty()) return unavailable.begin()->second;
  if (!drawing.curves.problems.empty()) return drawing.curves.problems.front();
  return fmt::format("no run of it below {} has finished an epoch: make them with 'sadam reproduce curves'.",
                     root.string());
}

void print_points(const std::vector<Drawing>& drawings, bool json) {
  report::TextTable all;
  for (const auto& drawing : drawings) {
    auto points = to_points(drawing.figure, drawing.curves);
    all.columns = points.columns;
    for (auto& row : points.rows) all.add(std::move(row));
  }
  std::cout << (json ? to_json(all) : to_csv(all));
}

void draw(const Drawing& drawing, const ReproduceArguments& arguments, std::ostream& out) {
  const auto files = write_figure(drawing.figure, drawing.curves, arguments.request.root);
  if (!arguments.csv && !arguments.json)
    out << '\n'
        << to_report(drawing.figure, drawing.curves, drawing.execution.unavailable,
                     {.markdown = arguments.markdown, .width = output_width()});
  out << fmt::format("\nThe picture is in {}{}, its numbers are in {}.\n", files.picture.string(),
                     files.printed.empty() ? "" : " and " + files.printed.string(), files.numbers.string());
}

}  // namespace

void reproduce_curves(const ReproduceArguments& arguments) {
  std::vector<Drawing> drawings;
  auto request = arguments.full_request();
  const auto recorded = recorded_runs(arguments, request);
  const bool trains = !arguments.show && recorded.empty();
  for (auto& figure : plan_figures(reproduce::built_in_figures(), request)) {
    if (!recorded.empty()) figure.plan = with_recorded(std::move(figure.plan), recorded, request.root);
    drawings.push_back({std::move(figure), {}, {}});
  }
  if (trains)
    for (const auto& drawing : drawings) check_runs(drawing.figure.plan);
  if (arguments.plan_only) {
    for (const auto& drawing : drawings)
      for (const auto& run : drawing.figure.plan.runs) std::cout << run.folder.string() << '\n';
    return;
  }
  if (recorded.empty())
    for (const auto& drawing : drawings)
      check_same_recipes(drawing.figure.plan,
                         arguments.show ? reproduce::Purpose::show : reproduce::Purpose::train);
  if (trains) execute_all(drawings, arguments);
  if (arguments.jobs.is_worker()) {
    for (const auto& drawing : drawings) conclude(drawing.execution, arguments.jobs);
    return;
  }

  Execution all;
  for (const auto& [figure, execution, curves] : drawings) {
    all.stopped = all.stopped || execution.stopped;
    all.failures.insert(all.failures.end(), execution.failures.begin(), execution.failures.end());
  }
  // What is meant for another program stands alone on the standard output.
  const bool for_programs = arguments.csv || arguments.json;
  auto& out = for_programs ? std::cerr : std::cout;
  std::vector<Drawing> drawn;
  std::vector<std::string> left_out;
  std::vector<std::string> elsewhere;
  for (auto& drawing : drawings) {
    if (auto sentence = about_elsewhere(drawing.execution); !sentence.empty())
      elsewhere.push_back(std::move(sentence));
    drawing.curves = read_groups(drawing.figure.plan);
    if (!drawing.curves.groups.empty()) {
      draw(drawing, arguments, out);
      drawn.push_back(std::move(drawing));
      continue;
    }
    left_out.push_back(fmt::format("{} is left out: {}", drawing.figure.recipe.title,
                                   why_empty(drawing, arguments.request.root)));
  }
  if (drawn.empty() && !all.stopped) {
    conclude(all, arguments.jobs);
    throw Error(elsewhere.empty() ? left_out.front() : elsewhere.front());
  }
  if (!all.stopped)
    for (const auto& sentence : left_out) out << '\n' << sentence << '\n';
  if (for_programs) print_points(drawn, arguments.json);
  for (const auto& sentence : elsewhere) std::cerr << '\n' << sentence << '\n';
  conclude(all, arguments.jobs);
}

}  // namespace sadam::cli
