#include "report/named_run.h"

#include <algorithm>
#include <system_error>

#include "base/usage_error.h"

namespace sadam::report {
namespace {

bool is_same_folder(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code trouble;
  return std::filesystem::equivalent(a, b, trouble);
}

}  // namespace

std::vector<RunSummary> named_runs(const std::vector<std::string>& names, const std::filesystem::path& root) {
  std::vector<RunSummary> runs;
  for (const auto& name : names) {
    const auto paths = train::find_run(name, root);
    if (std::any_of(runs.begin(), runs.end(),
                    [&](const auto& run) { return is_same_folder(run.folder, paths.folder); }))
      throw UsageError("the run '" + name + "' is given twice; leave one out.");
    auto shown = name;
    while (shown.size() > 1 && shown.back() == '/') shown.pop_back();
    auto run = summarise(paths, std::move(shown));
    if (run.state == RunState::damaged) throw Error(run.problem);
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace sadam::report
