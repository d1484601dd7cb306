#include "page/shelf.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sadam/version.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <system_error>

#include "page/attachments.h"
#include "page/page_json.h"
#include "page/tables.h"
#include "report/comparison.h"
#include "report/recipe_values.h"

namespace sadam::page {
namespace {

namespace fs = std::filesystem;

// Whether a file is where its name says, or a link leads to one that is below `root`, which has no links.
bool stays_below(const fs::path& file, const fs::path& root) {
  std::error_code trouble;
  if (!fs::is_symlink(file, trouble)) return true;
  const auto target = fs::canonical(file, trouble);
  if (trouble) return false;
  const auto relative = target.lexically_relative(root);
  return !relative.empty() && *relative.begin() != "..";
}

bool is_confined(const train::RunPaths& paths, const fs::path& root) {
  for (const auto& file : {paths.folder, paths.recipe(), paths.events(), paths.checkpoint(),
                           paths.previous_checkpoint(), paths.tensorboard()})
    if (!stays_below(file, root)) return false;
  return true;
}

Json run_json(const LiveRun& live, const std::string& group, const InTable& in_table, bool with_details) {
  const auto run = live.readable_summary();
  const auto* const recipe = run.recipe ? &*run.recipe : nullptr;
  auto title = in_table.title;
  if (title.empty() && recipe != nullptr) title = recipe->title;
  return {{"id", live.id()},
          {"state", to_string(run.state)},
          {"problem", run.problem},
          {"title", title.empty() ? live.id() : title},
          {"optimizer", recipe == nullptr ? "" : report::short_optimizer(*recipe)},
          {"group", group},
          {"seed", recipe == nullptr ? Json() : Json(recipe->seed)},
          {"steps", run.steps},
          {"epochs_done", run.epochs_done},
          {"epochs", recipe == nullptr ? Json() : Json(recipe->train.epochs)},
          {"best", percent_or_null(run.best_accuracy)},
          {"last", percent_or_null(run.last_accuracy)},
          {"mean_brake", number_or_null(run.mean_brake)},
          {"mean_lgi", number_or_null(run.mean_lgi)},
          {"seconds", number_or_null(run.train_seconds)},
          {"stamp", live.stamp()},
          {"details", with_details ? live.details(in_table.differs) : Json()}};
}

}  // namespace

std::vector<FoundRun> runs_below(const fs::path& root, bool confined) {
  std::vector<FoundRun> found;
  std::error_code trouble;
  const auto real_root = fs::canonical(root, trouble);
  for (const auto& paths : train::find_runs(root)) {
    if (confined && (trouble || !is_confined(paths, real_root))) continue;
    found.push_back({paths, paths.folder.lexically_relative(root).string()});
  }
  return found;
}

void Shelf::update() {
  std::set<std::string> there;
  for (auto& [paths, id] : source_.runs()) {
    there.insert(id);
    auto& run = runs_[id];
    if (!run) run = std::make_unique<LiveRun>(paths, id);
  }
  std::erase_if(runs_, [&](const auto& run) { return !there.contains(run.first); });
}

std::vector<const LiveRun*> Shelf::runs() const {
  std::vector<const LiveRun*> list;
  for (const auto& [id, run] : runs_) list.push_back(run.get());
  return list;
}

// The name of each run's group. A seed that comes twice begins another group: it must not count as two.
std::map<std::string, std::string> Shelf::groups() const {
  struct Members {
    std::set<std::int64_t> seeds;
    std::vector<std::string> ids;
  };
  std::map<std::pair<std::string, int>, Members> members;
  std::map<std::string, std::string> names;
  for (const auto& [id, run] : runs_) {
    if (run->group_key().empty()) {
      names[id] = id;
      continue;
    }
    const auto seed = run->summary().recipe->seed;
    int copy = 0;
    while (members[{run->group_key(), copy}].seeds.contains(seed)) ++copy;
    auto& group = members[{run->group_key(), copy}];
    group.seeds.insert(seed);
    group.ids.push_back(id);
  }
  std::set<std::string> taken;
  for (const auto& [key, group] : members) {
    const auto common = report::common_name(group.ids);
    auto name = common;
    for (int number = 2; name.empty() || !taken.insert(name).second; ++number)
      name = fmt::format("{} #{}", common, number);
    for (const auto& id : group.ids) names[id] = name;
  }
  return names;
}

Json Shelf::report() {
  const std::lock_guard lock(mutex_);
  update();
  for (auto& [id, run] : runs_) run->update();
  auto tables = tables_of(runs());
  const auto names = groups();
  auto list = Json::array();
  for (const auto& [id, run] : runs_)
    list.push_back(run_json(*run, names.at(id), tables.runs[id], !source_.live));
  auto attachments = attachments_in(source_.attachments);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return {{"version", 1},
          {"program", fmt::format("sadam {}", SADAM_VERSION)},
          {"made", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))},
          {"root", source_.root},
          {"live", source_.live},
          {"tables", std::move(tables.tables)},
          {"runs", std::move(list)},
          {"pictures", std::move(attachments.pictures)},
          {"sheets", std::move(attachments.sheets)}};
}

std::optional<Json> Shelf::run(const std::string& id) {
  const std::lock_guard lock(mutex_);
  update();
  const auto found = runs_.find(id);
  if (found == runs_.end()) return std::nullopt;
  for (auto& [other, run] : runs_) run->update();
  auto tables = tables_of(runs());
  return run_json(*found->second, groups().at(id), tables.runs[id], true);
}

Json Shelf::stamps() {
  auto list = Json::array();
  for (const auto& [paths, id] : source_.runs()) list.push_back({{"id", id}, {"stamp", stamp_of(paths)}});
  return list;
}

std::string to_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace sadam::page
