#include <fmt/format.h>

#include <iostream>

#include "base/file.h"
#include "base/usage_error.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/reproduce.h"
#include "report/picture.h"
#include "reproduce/landscape_figures.h"

namespace sadam::cli {
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
  const bool for_programs = arguments.csv || arguments.json;
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
  std::cout << (arguments.json ? to_json(all) : to_csv(all));
}

}  // namespace sadam::cli
