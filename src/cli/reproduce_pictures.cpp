// The pictures of the paper: `sadam reproduce curves`, from runs, and `sadam reproduce figures`, on
// landscapes.
#include <fmt/format.h>

#include <iostream>

#include "base/file.h"
#include "base/usage_error.h"
#include "cli/reproduce.h"
#include "report/picture.h"
#include "reproduce/figures.h"
#include "reproduce/landscape_figures.h"
#include "reproduce/results.h"

namespace sadam::cli {

// ---- curves -----------------------------------------------------------------------------------------------

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

void print_points(const std::vector<Drawing>& drawings, const Format& format) {
  report::TextTable all;
  for (const auto& drawing : drawings) {
    auto points = to_points(drawing.figure, drawing.curves);
    all.columns = points.columns;
    for (auto& row : points.rows) all.add(std::move(row));
  }
  std::cout << format.text_of(all);
}

void draw(const Drawing& drawing, const ReproduceArguments& arguments, std::ostream& out) {
  const auto files = write_figure(drawing.figure, drawing.curves, arguments.request.root);
  if (!arguments.format.is_for_programs())
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
  const bool for_programs = arguments.format.is_for_programs();
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
  if (for_programs) print_points(drawn, arguments.format);
  for (const auto& sentence : elsewhere) std::cerr << '\n' << sentence << '\n';
  conclude(all, arguments.jobs);
}

// ---- figures ----------------------------------------------------------------------------------------------

namespace {

reproduce::LandscapeRequest request_of(const ReproduceArguments& arguments) {
  if (arguments.epochs > 0 || arguments.plan_only || arguments.show || !arguments.from_csv.empty())
    throw UsageError(
        "the figures train no network and are drawn at once: leave out --epochs, --plan, --show and "
        "--from-csv.");
  const auto full = arguments.full_request();
  if (full.seeds.size() > 1) throw UsageError("the figures show one seed: give one to --seeds.");
  reproduce::LandscapeRequest request;
  request.only = full.only;
  request.sets = full.set;
  request.controls = !full.controls.empty();
  if (!full.seeds.empty()) request.seed = full.seeds.front();
  return request;
}

}  // namespace

void reproduce_figures(const ReproduceArguments& arguments) {
  check_root(arguments.request.root);
  const auto figures = landscape_figures(request_of(arguments));
  const bool for_programs = arguments.format.is_for_programs();
  auto& out = for_programs ? std::cerr : std::cout;
  report::TextTable all;
  for (const auto& figure : figures) {
    const auto picture = arguments.request.root / fmt::format("{}.svg", figure.key);
    const auto numbers = arguments.request.root / fmt::format("{}.csv", figure.key);
    std::filesystem::create_directories(arguments.request.root);
    report::write_picture(picture, figure.picture);
    base::write_file_atomically(numbers, to_csv(figure.numbers));
    if (for_programs) {
      all.columns = figure.results.columns.empty() ? all.columns : figure.results.columns;
      for (auto row : figure.results.rows) {
        row.insert(row.begin(), report::Cell(figure.key));
        all.rows.push_back(std::move(row));
      }
    } else {
      out << fmt::format("\n{}\n\n", figure.picture.title);
      if (!figure.results.rows.empty())
        out << (arguments.markdown ? to_markdown(figure.results) : to_text(figure.results, output_width()))
            << '\n';
      for (const auto& sentence : figure.picture.caption)
        out << report::wrapped(sentence, output_width()) << '\n';
    }
    out << fmt::format("\nThe picture is in {}, its numbers are in {}.\n", picture.string(),
                       numbers.string());
  }
  if (!for_programs) return;
  all.columns.insert(all.columns.begin(), {"figure", "figure", report::Align::left});
  std::cout << arguments.format.text_of(all);
}

}  // namespace sadam::cli
