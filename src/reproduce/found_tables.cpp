#include "reproduce/found_tables.h"

#include <sadam/error.h>

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "reproduce/table_recipe.h"

namespace sadam::reproduce {
namespace {

namespace fs = std::filesystem;

fs::path full_path(const fs::path& folder) { return fs::absolute(folder).lexically_normal(); }

// The request that such a folder was made by: "table1-quick" of table1. None if it is another table's.
std::optional<Request> request_behind(std::string_view folder, std::string_view table) {
  if (!folder.starts_with(table)) return std::nullopt;
  Request request;
  auto variant = folder.substr(table.size());
  constexpr std::string_view kQuick = "-quick";
  if (variant.starts_with(kQuick)) {
    request.quick = true;
    variant.remove_prefix(kQuick.size());
  }
  if (variant.empty()) return request;
  constexpr std::string_view kEpochs = "-epochs";
  if (!variant.starts_with('-') || !variant.ends_with(kEpochs)) return std::nullopt;
  variant.remove_prefix(1);
  if (variant.size() <= kEpochs.size()) return std::nullopt;
  variant.remove_suffix(kEpochs.size());
  std::int64_t epochs = 0;
  const auto [end, problem] = std::from_chars(variant.data(), variant.data() + variant.size(), epochs);
  if (problem != std::errc() || end != variant.data() + variant.size() || epochs < 1) return std::nullopt;
  request.epochs = epochs;
  return request;
}

}  // namespace

std::vector<FoundTable> found_tables(const std::vector<const report::RunSummary*>& runs) {
  struct Folder {
    std::vector<std::size_t> runs;
    std::set<std::int64_t> seeds;
  };
  std::map<fs::path, Folder> folders;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto& folder = folders[full_path(runs[i]->folder).parent_path().parent_path().parent_path()];
    folder.runs.push_back(i);
    if (runs[i]->recipe) folder.seeds.insert(runs[i]->recipe->seed);
  }
  std::vector<FoundTable> found;
  for (auto& [path, folder] : folders) {
    for (const auto& recipe : built_in_recipes()) {
      auto request = request_behind(path.filename().string(), recipe.name);
      if (!request) continue;
      request->root = path.parent_path();
      request->seeds.assign(folder.seeds.begin(), folder.seeds.end());
      try {
        auto plan = make_plan(find_table(std::string(recipe.name)), *request);
        found.push_back({std::string(recipe.name), *request, std::move(plan), std::move(folder.runs)});
        break;
      } catch (const Error&) {
        // No such variant, or no table at all: the runs stand for themselves.
      }
    }
  }
  return found;
}

report::RunSummary as_planned(report::RunSummary run, const FoundTable& table) {
  run.folder = full_path(run.folder);
  run.name = run.folder.lexically_relative(table.request.root).string();
  return run;
}

}  // namespace sadam::reproduce
