#include "reproduce/figures.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/nearest.h"
#include "base/usage_error.h"
#include "reproduce/curves.h"

namespace sadam::reproduce {
namespace {

template <class Keyed>
bool has_key(const std::vector<Keyed>& items, std::string_view key) {
  return std::any_of(items.begin(), items.end(), [&](const Keyed& item) { return item.key == key; });
}

// Leaves the items with the given keys, or all if there are none.
template <class Keyed>
void keep_keys(std::vector<Keyed>& items, const std::vector<std::string>& keys, const FigureRecipe& figure) {
  if (keys.empty()) return;
  std::vector<std::string> valid;
  for (const auto& item : items) valid.push_back(item.key);
  for (const auto& key : keys)
    if (!has_key(items, key))
      throw UsageError("figure " + figure.key + ": " + figure.table + " has no column or row '" + key + "'" +
                       base::suggestion(key, valid));
  std::erase_if(
      items, [&](const Keyed& item) { return std::find(keys.begin(), keys.end(), item.key) == keys.end(); });
}

void check_measures(const FigureRecipe& figure) {
  std::vector<std::string> names;
  for (const auto& measure : curve_measures()) names.emplace_back(measure.key);
  if (figure.measures.empty())
    throw UsageError("figure " + figure.key + " shows nothing: give it measures, such as " + names.front() +
                     ".");
  for (const auto& wish : figure.measures)
    if (std::find(names.begin(), names.end(), wish) == names.end())
      throw UsageError("figure " + figure.key + " has an unknown measure '" + wish + "'" +
                       base::suggestion(wish, names));
}

TableRecipe table_of(const FigureRecipe& figure) {
  auto table = find_table(figure.table);
  keep_keys(table.columns, figure.columns, figure);
  keep_keys(table.rows, figure.rows, figure);
  return table;
}

// A column, a row, or column/row.
bool is_cell_name(const TableRecipe& table, std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return has_key(table.columns, name) || has_key(table.rows, name);
  return has_key(table.columns, name.substr(0, slash)) && has_key(table.rows, name.substr(slash + 1));
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
    else if (is_cell_name(figure.plan.table, cell))
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
  throw UsageError("--only " + wish + ": there is no such figure, column or row" +
                   base::suggestion(wish, std::vector(names.begin(), names.end())));
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
  for (const auto& recipe : recipes) {
    check_measures(recipe);
    all.push_back({recipe, make_plan(table_of(recipe), without_only), recipe.key + variant_of(request)});
  }

  std::set<std::string> unknown(request.only.begin(), request.only.end());
  std::vector<Figure> figures;
  for (const auto& figure : all) {
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

}  // namespace sadam::reproduce
