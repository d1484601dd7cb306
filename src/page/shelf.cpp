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
#include "report/comparison.h"
#include "report/recipe_values.h"

namespace sadam::page {
namespace {

namespace fs = std::filesystem;

// Whether a file is not there, or is a regular one (a folder) that lies below `root`, whose path has no
// links. Others, such as a pipe, would be waited for.
bool stays_below(const fs::path& file, fs::file_type type, const fs::path& root) {
  std::error_code trouble;
  const auto there = fs::symlink_status(file, trouble).type();
  if (there == fs::file_type::not_found || there == type) return true;
  if (there != fs::file_type::symlink) return false;
  const auto target = fs::canonical(file, trouble);
  if (trouble || fs::status(target, trouble).type() != type) return false;
  const auto relative = target.lexically_relative(root);
  return !relative.empty() && *relative.begin() != "..";
}

bool is_confined(const train::RunPaths& paths, const fs::path& root) {
  if (!stays_below(paths.folder, fs::file_type::directory, root)) return false;
  for (const auto& file : {paths.recipe(), paths.events(), paths.checkpoint(), paths.previous_checkpoint()})
    if (!stays_below(file, fs::file_type::regular, root)) return false;
  return true;
}

// The name of each run's group. A seed that comes twice begins another group: it must not count as two.
std::map<std::string, std::string> groups_of(const std::vector<const LiveRun*>& runs) {
  struct Members {
    std::set<std::int64_t> seeds;
    std::vector<std::string> ids;
  };
  std::map<std::pair<std::string, int>, Members> members;
  std::map<std::string, std::string> names;
  for (const auto* run : runs) {
    if (run->group_key().empty()) {
      names[run->id()] = run->id();
      continue;
    }
    const auto seed = run->summary().recipe->seed;
    int copy = 0;
    while (members[{run->group_key(), copy}].seeds.contains(seed)) ++copy;
    auto& group = members[{run->group_key(), copy}];
    group.seeds.insert(seed);
    group.ids.push_back(run->id());
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

}  // namespace

std::vector<FoundRun> runs_below(const fs::path& root, bool confined) {
  std::vector<FoundRun> found;
  std::error_code trouble;
  const auto real_root = fs::canonical(root, trouble);
  const auto add = [&](const train::RunPaths& paths, std::string id) {
    if (!confined || (!trouble && is_confined(paths, real_root))) found.push_back({paths, std::move(id)});
  };
  // A slash at the end is part of no name.
  const auto folder = root.has_filename() ? root : root.parent_path();
  if (const auto run = train::find_run_if(folder.string(), ""))
    add({folder}, real_root.filename().string());
  else
    for (const auto& paths : train::find_runs(folder))
      add(paths, paths.folder.lexically_relative(folder).string());
  return found;
}

void Shelf::update() {
  bool changed = runs_.empty();
  std::set<std::string> there;
  for (auto& [paths, id] : source_.runs()) {
    there.insert(id);
    auto& run = runs_[id];
    if (!run) run = std::make_unique<LiveRun>(paths, id);
    changed = run->update() || changed;
  }
  changed = std::erase_if(runs_, [&](const auto& run) { return !there.contains(run.first); }) > 0 || changed;
  if (!changed) return;
  std::vector<const LiveRun*> all;
  for (const auto& [id, run] : runs_) all.push_back(run.get());
  tables_ = tables_of(all);
  groups_ = groups_of(all);
}

Json Shelf::report() {
  const std::lock_guard lock(mutex_);
  update();
  auto runs = Json::array();
  for (const auto& [id, run] : runs_) runs.push_back(run_json(*run, !source_.live));
  auto attachments = attachments_in(source_.attachments);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return {{"version", 1},
          {"program", fmt::format("sadam {}", SADAM_VERSION)},
          {"made", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))},
          {"root", source_.root},
          {"live", source_.live},
          {"tables", tables_.tables},
          {"runs", std::move(runs)},
          {"pictures", std::move(attachments.pictures)},
          {"sheets", std::move(attachments.sheets)}};
}

std::optional<Json> Shelf::run(const std::string& id) {
  const std::lock_guard lock(mutex_);
  update();
  const auto found = runs_.find(id);
  return found == runs_.end() ? std::nullopt : std::optional(run_json(*found->second, true));
}

Json Shelf::run_json(const LiveRun& live, bool with_details) const {
  const auto run = live.readable_summary();
  const auto* const recipe = run.recipe ? &*run.recipe : nullptr;
  const auto in_table = tables_.runs.find(live.id());
  const auto& place = in_table == tables_.runs.end() ? InTable() : in_table->second;
  auto title = place.title;
  if (title.empty() && recipe != nullptr) title = recipe->title;
  return {{"id", live.id()},
          {"state", name_of(run.state)},
          {"problem", run.problem},
          {"title", title.empty() ? live.id() : title},
          {"optimizer", recipe == nullptr ? "" : report::short_optimizer(*recipe)},
          {"group", groups_.at(live.id())},
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
          {"details", with_details ? live.details(place.differs) : Json()}};
}

std::string Shelf::stamps() {
  constexpr std::chrono::milliseconds kFresh(250);
  const std::lock_guard lock(stamps_mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (stamps_.empty() || now - stamps_at_ > kFresh) {
    auto list = Json::array();
    for (const auto& [paths, id] : source_.runs()) list.push_back({{"id", id}, {"stamp", stamp_of(paths)}});
    stamps_ = to_text(list);
    stamps_at_ = now;
  }
  return stamps_;
}

std::string to_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace sadam::page
