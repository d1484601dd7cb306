#include "reproduce/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"
#include "base/usage_error.h"

namespace sadam::reproduce {
namespace {

// Leaves the items with the given keys, or all if there are none.
template <class Keyed>
void keep_keys(std::vector<Keyed>& items, const std::vector<std::string>& keys) {
  if (!keys.empty()) std::erase_if(items, [&](const Keyed& item) { return !contains(keys, item.key); });
}

TableRecipe table_of(const FigureRecipe& figure) {
  auto table = find_table(figure.table);
  keep_keys(table.columns, figure.columns);
  keep_keys(table.rows, figure.rows);
  return table;
}

// What `--only` wants of one figure.
struct Wanted {
  bool everything = false;
  std::vector<std::string> cells;
};

Wanted wanted_of(const Figure& figure, const std::vector<std::string>& only, std::set<std::string>& unknown) {
  Wanted wanted;
  wanted.everything = only.empty();
  const auto prefix = figure.recipe.key + "/";
  for (const auto& wish : only) {
    const auto cell = wish.starts_with(prefix) ? wish.substr(prefix.size()) : wish;
    if (wish == figure.recipe.key)
      wanted.everything = true;
    else if (figure.plan.table.has_cells(cell))
      wanted.cells.push_back(cell);
    else
      continue;
    unknown.erase(wish);
  }
  return wanted;
}

[[noreturn]] void refuse(const std::string& wish, const std::vector<Figure>& figures) {
  std::set<std::string> names;
  for (const auto& figure : figures) {
    names.insert(figure.recipe.key);
    for (const auto& column : figure.plan.table.columns) names.insert(column.key);
    for (const auto& row : figure.plan.table.rows) names.insert(row.key);
  }
  throw UsageError(fmt::format("--only {}: there is no such figure, column or row{}", wish,
                               base::suggestion(wish, std::vector(names.begin(), names.end()))));
}

}  // namespace

std::vector<FigureRecipe> built_in_figures() {
  for (const auto& built_in : built_in_recipes())
    if (built_in.name == "curves") return read_figures(built_in.text, "curves.toml");
  return {};
}

std::vector<Figure> plan_figures(const std::vector<FigureRecipe>& recipes, const Request& request) {
  auto without_only = request;
  without_only.only.clear();
  std::vector<Figure> all;
  for (const auto& recipe : recipes)
    all.push_back({recipe, make_plan(table_of(recipe), without_only), recipe.key + variant_of(request)});

  std::set<std::string> unknown(request.only.begin(), request.only.end());
  std::vector<Figure> figures;
  for (const auto& figure : all) {
    const bool named = std::any_of(request.only.begin(), request.only.end(), [&](const std::string& wish) {
      return wish == figure.recipe.key || wish.starts_with(figure.recipe.key + "/");
    });
    if (!figure.plan.of_the_paper && !named) continue;  // ours: only where it is asked for by its name
    const auto wanted = wanted_of(figure, request.only, unknown);
    if (!wanted.everything && wanted.cells.empty()) continue;
    figures.push_back(figure);
    if (wanted.everything) continue;
    auto restricted = request;
    restricted.only = wanted.cells;
    figures.back().plan = make_plan(table_of(figure.recipe), restricted);
  }
  if (!unknown.empty()) refuse(*unknown.begin(), all);
  return figures;
}

std::vector<Figure> figures_of(const std::vector<const report::RunSummary*>& runs) {
  std::vector<Figure> figures;
  for (const auto& found : found_tables(runs)) {
    std::vector<report::RunSummary> its_runs;
    for (const auto i : found.runs) its_runs.push_back(as_planned(*runs[i], found));
    const auto add = [&](Figure figure) {
      try {
        figure.plan = with_recorded(std::move(figure.plan), its_runs, found.request.root);
      } catch (const Error&) {
        return;  // none of them is in this figure
      }
      const auto is_taken = [&](const std::string& name) {
        return std::any_of(figures.begin(), figures.end(),
                           [&](const auto& each) { return each.name == name; });
      };
      const auto name = figure.name;
      for (int number = 2; is_taken(figure.name); ++number) figure.name = fmt::format("{}-{}", name, number);
      figures.push_back(std::move(figure));
    };
    const FigureRecipe whole{found.name, found.plan.table.title,         found.name, {},
                             {},         {"test_accuracy", "train_loss"}};
    add({whole, found.plan, found.plan.name});
    for (const auto& recipe : built_in_figures()) {
      if (recipe.table != found.name) continue;
      auto request = found.request;
      request.only = {recipe.key};
      for (auto& figure : plan_figures({recipe}, request)) add(std::move(figure));
    }
  }
  return figures;
}

}  // namespace sadam::reproduce
