#include "page/shelf.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sadam/version.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "base/file.h"
#include "base/quantities.h"
#include "report/comparison.h"
#include "report/recipe_values.h"
#include "report/run_list.h"

namespace sadam::page {
namespace {

namespace fs = std::filesystem;

// A page of ten long runs has to stay below 10 MB.
constexpr std::uintmax_t kLargestPicture = 1 << 20;
constexpr std::uintmax_t kLargestSheet = 512 << 10;
constexpr std::uintmax_t kLargestTogether = 4 << 20;
constexpr std::size_t kMostFiles = 100;
constexpr std::size_t kMostRows = 2000;

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

std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto part = bytes.substr(at, 3);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i)
      word = word << 8U | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= part.size() ? kLetters[word >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code problem;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied, problem);
  for (; !problem && entries != fs::recursive_directory_iterator(); entries.increment(problem)) {
    std::error_code gone;
    const auto status = entries->symlink_status(gone);
    if (gone) continue;
    if (fs::is_directory(status) && fs::exists(train::RunPaths{entries->path()}.recipe(), gone))
      entries.disable_recursion_pending();
    const auto end = entries->path().extension();
    if (fs::is_regular_file(status) && (end == ".svg" || end == ".png" || end == ".csv"))
      files.push_back(entries->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// What lies beside the runs: SVG, PNG and CSV files in these folders and below, but in no run's, that `sadam
// landscape`, `audit`, `theory` and `reproduce` have written. Links are passed over. What is too large is
// named and left out.
class Attachments {
 public:
  explicit Attachments(const std::vector<fs::path>& folders) {
    for (const auto& folder : folders)
      for (const auto& file : files_below(folder)) add(file, file.lexically_relative(folder).string());
  }

  Json pictures = Json::array();  // `Picture` of web/src/data.ts
  Json sheets = Json::array();    // `Sheet`

 private:
  void add(const fs::path& file, const std::string& id) {
    std::error_code gone;
    const auto size = fs::file_size(file, gone);
    if (gone) return;
    const bool is_sheet = file.extension() == ".csv";
    if (size > (is_sheet ? kLargestSheet : kLargestPicture) || together_ + size > kLargestTogether ||
        count_ >= kMostFiles) {
      leave_out(is_sheet, id, fmt::format("left out: {}", base::memory(static_cast<std::int64_t>(size))));
      return;
    }
    std::string text;
    try {
      text = base::read_text(file);
    } catch (const Error& error) {
      leave_out(is_sheet, id, error.what());
      return;
    }
    together_ += size;
    ++count_;
    if (is_sheet)
      add_sheet(id, text);
    else
      pictures.push_back({{"id", id},
                          {"title", file.stem().string()},
                          {"svg", file.extension() == ".svg" ? Json(text) : Json()},
                          {"png", file.extension() == ".png" ? Json(base64(text)) : Json()}});
  }

  void leave_out(bool is_sheet, const std::string& id, const std::string& why) {
    const auto title = fmt::format("{} ({})", id, why);
    if (is_sheet)
      sheets.push_back({{"id", id}, {"title", title}, {"header", Json::array()}, {"rows", Json::array()}});
    else
      pictures.push_back({{"id", id}, {"title", title}, {"svg", nullptr}, {"png", nullptr}});
  }

  void add_sheet(const std::string& id, std::string_view text) {
    auto rows = report::csv_records(text, kMostRows + 2);
    if (rows.empty()) return leave_out(true, id, "empty");
    auto title = fs::path(id).stem().string();
    if (rows.size() > kMostRows + 1) {
      rows.resize(kMostRows + 1);
      title += fmt::format(" (the first {} rows)", kMostRows);
    }
    const Json header = rows.front();
    rows.erase(rows.begin());
    sheets.push_back({{"id", id}, {"title", title}, {"header", header}, {"rows", rows}});
  }

  std::uintmax_t together_ = 0;
  std::size_t count_ = 0;
};

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
  Attachments attachments(source_.attachments);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return {{"program", fmt::format("sadam {}", SADAM_VERSION)},
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
