#include "reproduce/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/quantities.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "data/data_set.h"
#include "train/recipe/source.h"

namespace sadam::reproduce {
namespace {

void apply_quick(TableRecipe& table) {
  if (!table.quick)
    throw UsageError(fmt::format(
        "{} has no [table.quick], which says what --quick changes: add one, or leave --quick out.",
        table.origin));
  const auto& quick = *table.quick;
  if (!quick.seeds.empty()) table.seeds = quick.seeds;
  if (!quick.columns.empty()) {
    table.columns = quick.columns;
    table.means.clear();
  }
  // Never on the paper's data: its numbers would stand beside unlike ones.
  for (auto& row : table.rows) {
    row.paper.clear();
    row.paper_seconds.clear();
    row.paper_wall_seconds.clear();
    row.paper_memory.clear();
  }
  if (!quick.rows.empty())
    std::erase_if(table.rows, [&](const TableRow& row) { return !contains(quick.rows, row.key); });
  for (auto& row : table.rows)
    if (!contains(keys_of(table.rows), row.baseline)) row.baseline.clear();
}

// Whether `--only` takes this cell in. The names have been checked.
bool is_selected(const std::vector<std::string>& only, const std::string& column, const std::string& row) {
  return only.empty() || std::ranges::any_of(only, [&](const std::string& wish) {
           return wish == column || wish == row || wish == fmt::format("{}/{}", column, row);
         });
}

void check_only(const TableRecipe& table, const std::vector<std::string>& only) {
  auto valid = keys_of(table.columns);
  for (const auto& row : table.rows) valid.push_back(row.key);
  for (const auto& wish : only)
    if (!table.has_cells(wish))
      throw UsageError(
          fmt::format("--only {}: there is no such column or row{}", wish, base::suggestion(wish, valid)));
}

// Its convergence, too, is that of this row.
void apply_baseline(TableRecipe& table, const std::string& baseline) {
  if (const auto rows = keys_of(table.rows); !contains(rows, baseline))
    throw UsageError(
        fmt::format("--baseline {}: there is no such row{}", baseline, base::suggestion(baseline, rows)));
  table.baseline = baseline;
  for (auto& row : table.rows) row.baseline.clear();
}

// A row that nothing is selected of would leave all others without differences.
void check_baseline(const TableRecipe& table, const Request& request) {
  if (!request.baseline || std::ranges::any_of(table.columns, [&](const TableColumn& column) {
        return is_selected(request.only, column.key, *request.baseline);
      }))
    return;
  throw UsageError(fmt::format("--baseline {0}: --only leaves it out: add {0} to it.", *request.baseline));
}

void leave_out_partial_means(TableRecipe& table) {
  const auto columns = keys_of(table.columns);
  std::erase_if(table.means, [&](const TableMean& mean) {
    return !std::ranges::all_of(mean.columns, [&](const auto& key) { return contains(columns, key); });
  });
}

// A method or a column whose own fields were changed would be shown under a title that is not true.
void check_set(const TableRecipe& table, const Request& request) {
  const auto check = [&](const std::string& assignment, const std::string& who, const auto& part) {
    const std::string field(field_of(assignment));
    const auto* const row = train::find_row(field);
    for (const auto& change : part.set)
      if (row != nullptr && train::find_row(field_of(change.text)) == row)
        throw UsageError(
            fmt::format("--set {}: {} {} ({}), so that titles would be wrong: leave it out, or write a table "
                        "of your own.",
                        assignment, who, field, change.where));
  };
  for (const auto& assignment : request.set) {
    for (const auto& row : table.rows) check(assignment, "the rows of the table differ in", row);
    for (const auto& column : table.columns)
      check(assignment, fmt::format("the column '{}' of the table is about", column.key), column);
  }
}

train::RecipeSource source_of(const TableRecipe& table, const Request& request, const TableColumn& column,
                              const TableRow& row) {
  train::RecipeSource source;
  source.ignore("table");
  source.add_text(table.text, table.origin);
  const auto apply = [&](const std::vector<Change>& changes) {
    for (const auto& change : changes) source.set(change.text, change.where);
  };
  if (request.quick) apply(table.quick.value().set);
  apply(column.set);
  apply(row.set);
  if (request.epochs) source.set(fmt::format("train.epochs={}", *request.epochs));
  for (const auto& assignment : request.set) source.set(assignment);
  return source;
}

train::Recipe resolve(const train::RecipeSource& source, const TableRecipe& table, const TableColumn& column,
                      const TableRow& row) {
  return resolved(source, table.origin, fmt::format("{}, {}/{}", table.origin, column.key, row.key));
}

// A cell as the table has it, whatever the command line asks for.
train::Recipe as_written(const TableRecipe& table, const TableColumn& column) {
  const auto& row = table.rows.front();
  return resolve(source_of(table, {}, column, row), table, column, row);
}

train::Recipe adamw_like(const train::Recipe& row) {
  auto recipe = row;
  recipe.optimizer = {};
  recipe.optimizer.name = "adamw";
#define SADAM_COPY(type, name, ...) recipe.optimizer.name = row.optimizer.name;
  SADAM_LEARNING_RATE(SADAM_COPY, 0)
  SADAM_ADAM_OPTIONS(SADAM_COPY)
#undef SADAM_COPY
  return recipe;
}

train::Recipe control_recipe(Control control, const train::Recipe& row, const std::filesystem::path& run) {
  auto recipe = adamw_like(row);
  if (control == Control::cosine) {
    recipe.schedule = {};
    recipe.schedule.name = "cosine";
  } else {
    // Without the correction the first steps are three times as long, which has nothing to do with a brake.
    recipe.optimizer.bias_correction = row.optimizer.bias_correction;
    recipe.control.kind = name_of(control);
    recipe.control.run = run.string();
  }
  return recipe;
}

// The cells of a column that are asked for, without seed and folder.
std::vector<PlannedRun> cells_of(const TableRecipe& table, const Request& request, std::size_t column) {
  std::vector<PlannedRun> cells;
  const auto& of = table.columns[column];
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (!is_selected(request.only, of.key, table.rows[row].key)) continue;
    PlannedRun cell;
    cell.column = column;
    cell.row = row;
    cell.source = std::make_shared<train::RecipeSource>(source_of(table, request, of, table.rows[row]));
    cell.recipe = resolve(*cell.source, table, of, table.rows[row]);
    if (cell.recipe.data.pixels == 0 &&
        data::path_in_name(cell.recipe.data.name))  // as begin_run() settles it
      cell.recipe.data.pixels = static_cast<std::int64_t>(data::own_pixels(cell.recipe.data.name));
    cells.push_back(std::move(cell));
  }
  return cells;
}

bool wants(const Request& request, Control control) {
  return std::ranges::find(request.controls, control) != request.controls.end();
}

bool has_controls(const TableRecipe& table, const PlannedRun& run) {
  return table.rows[run.row].controls && train::optimizer_of(run.recipe) == train::OptimizerKind::sadam;
}

// Adds the runs of one cell, for one seed.
void add_cell(Plan& plan, const Request& request, const std::filesystem::path& folder, PlannedRun run) {
  const auto& row = plan.table.rows[run.row];
  const auto seed = fmt::format("seed-{}", run.seed);
  run.recipe.seed = run.seed;
  run.folder = folder / row.key / seed;
  plan.runs.push_back(run);
  if (!has_controls(plan.table, run)) return;
  const auto controlled = run;
  for (const auto control : {Control::matched, Control::shuffled}) {
    if (!wants(request, control)) continue;
    run.control = control;
    run.recipe = control_recipe(control, controlled.recipe, controlled.folder);
    run.folder = folder / fmt::format("{}.{}", row.key, name_of(control)) / seed;
    plan.runs.push_back(run);
  }
}

// After the runs of all seeds, since each takes the brakes of the next seed, and the last those of the first.
void add_replayed(Plan& plan, const std::filesystem::path& folder, PlannedRun run) {
  const auto& seeds = plan.table.seeds;
  const auto& key = plan.table.rows[run.row].key;
  const auto own = run.recipe;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    const auto next = folder / key / fmt::format("seed-{}", seeds[(i + 1) % seeds.size()]);
    run.control = Control::replayed;
    run.recipe = control_recipe(Control::replayed, own, next);
    run.recipe.seed = run.seed = seeds[i];
    run.folder = folder / fmt::format("{}.replayed", key) / fmt::format("seed-{}", run.seed);
    plan.runs.push_back(run);
  }
}

void add_cosine(Plan& plan, const std::filesystem::path& folder, PlannedRun run) {
  run.row = plan.table.rows.size();
  run.control = Control::cosine;
  run.recipe = control_recipe(Control::cosine, run.recipe, {});
  run.recipe.seed = run.seed;
  run.folder = folder / "adamw.cosine" / fmt::format("seed-{}", run.seed);
  plan.runs.push_back(run);
}

std::vector<std::string> differences_of(const TableRecipe& paper, const TableRecipe& table,
                                        const Request& request, const train::Recipe& used) {
  const bool of_the_paper = paper.has_paper_numbers();
  std::vector<std::string> differences;
  const auto standard = as_written(paper, paper.columns.front());
  if (used.train.epochs != standard.train.epochs)
    differences.push_back(fmt::format("{} instead of {}",
                                      base::counted(static_cast<std::uint64_t>(used.train.epochs), "epoch"),
                                      standard.train.epochs));
  if (request.quick) {
    differences.emplace_back("so little training says that everything works, and not which method is better");
    if (of_the_paper) differences.emplace_back("other data than the paper's, so its numbers are left out");
    if (used.data.train_images > 0)
      differences.push_back(fmt::format("only {} training images and {} test images", used.data.train_images,
                                        used.data.test_images));
    if (used.model.weights != standard.model.weights)
      differences.emplace_back("random weights instead of pretrained ones");
    const bool batch_is_papers = std::ranges::any_of(paper.columns, [&](const TableColumn& column) {
      return as_written(paper, column).train.batch == used.train.batch;
    });
    if (!batch_is_papers)
      differences.push_back(
          fmt::format("batches of {} instead of {}", used.train.batch, standard.train.batch));
    if (used.data.pixels != standard.data.pixels)
      differences.push_back(
          fmt::format("images of {} pixels instead of {}", used.data.pixels, standard.data.pixels));
  }
  // Where the data are and how the work is shared out changes no result that is compared.
  for (const auto& assignment : request.set)
    if (const auto field = field_of(assignment); !train::may_change(field) && field != "train.threads")
      differences.push_back(fmt::format("--set {}", assignment));
  if (request.baseline && std::ranges::any_of(paper.rows, [&](const TableRow& row) {
        return paper.baseline_of(row) != *request.baseline;
      }))
    differences.push_back(fmt::format("--baseline {}", *request.baseline));
  differences.push_back(table.seeds.size() == 1 ? "one seed" : fmt::format("{} seeds", table.seeds.size()));
  if (of_the_paper) differences.emplace_back("other hardware, so times compare only with each other");
  // Those of the paper's tables are about its numbers, which are not shown with other data.
  if (!of_the_paper || table.has_paper_numbers())
    differences.insert(differences.end(), table.notes.begin(), table.notes.end());
  for (const auto& column : table.columns)
    differences.insert(differences.end(), column.notes.begin(), column.notes.end());
  return differences;
}

}  // namespace

Control control_named(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& control : names_of(Control{})) {
    if (control.value == Control::none) continue;
    if (control.name == name) return control.value;
    names.emplace_back(control.name);
  }
  throw UsageError(fmt::format("--controls {}: there is no such control{}", base::in_quotes(name),
                               base::suggestion(name, names)));
}

train::Recipe resolved(const train::RecipeSource& source, const std::string& origin, const std::string& who) {
  try {
    return source.resolve();
  } catch (const UsageError& error) {
    const std::string sentence = error.what();
    const bool names_file = !origin.empty() && sentence.starts_with(origin + ":");
    if (names_file || sentence.starts_with("--set")) throw;
    throw UsageError(fmt::format("{}: {}", who, sentence));
  }
}

std::string PlannedRun::cell(const TableRecipe& table) const {
  if (table.columns[column].key.empty()) return table.rows[row].key;  // a grid
  return fmt::format("{}/{}", table.columns[column].key,
                     row < table.rows.size() ? table.rows[row].key : "adamw");
}

std::string PlannedRun::label(const TableRecipe& table) const {
  if (table.columns[column].key.empty()) return folder.filename().string();
  const auto of = control == Control::none ? "" : fmt::format(" {}", name_of(control));
  return fmt::format("{}{}, seed {}", cell(table), of, seed);
}

std::string variant_of(const Request& request) {
  std::string variant = request.quick ? "-quick" : "";
  if (request.epochs) variant += fmt::format("-{}-epochs", *request.epochs);
  return variant;
}

Plan make_plan(TableRecipe table, const Request& request) {
  for (const auto& assignment : request.set)
    if (sets_seed(assignment))
      throw UsageError(fmt::format(
          "--set {}: every cell is run once for each seed of the table; choose them with --seeds.",
          assignment));
  check_seeds(request.seeds, "--seeds");
  const auto paper = table;
  if (request.quick) apply_quick(table);
  if (!request.seeds.empty()) table.seeds = request.seeds;
  if (request.baseline) apply_baseline(table, *request.baseline);
  check_only(table, request.only);
  std::erase_if(table.columns, [&](const TableColumn& column) {
    return std::ranges::none_of(
        table.rows, [&](const TableRow& row) { return is_selected(request.only, column.key, row.key); });
  });
  check_baseline(table, request);
  leave_out_partial_means(table);
  check_set(table, request);

  Plan plan;
  plan.table = table;
  plan.of_the_paper = paper.has_paper_numbers();
  plan.name = table.name + variant_of(request);
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const auto folder = request.root / plan.name / table.columns[column].key;
    const auto cells = cells_of(table, request, column);
    for (const auto seed : table.seeds) {
      std::optional<PlannedRun> controlled;
      for (auto run : cells) {
        run.seed = seed;
        if (has_controls(table, run) && wants(request, Control::cosine)) controlled = run;
        add_cell(plan, request, folder, run);
      }
      if (controlled) add_cosine(plan, folder, *controlled);
    }
    for (const auto& run : cells)
      if (has_controls(table, run) && wants(request, Control::replayed)) add_replayed(plan, folder, run);
  }
  if (plan.runs.empty()) throw UsageError(fmt::format("--only selects nothing of {}.", table.name));
  plan.differences = differences_of(paper, table, request, plan.runs.front().recipe);
  return plan;
}

}  // namespace sadam::reproduce
