// All the runs that the page shows, as the JSON of web/src/data.ts.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "page/live_run.h"

namespace sadam::page {

/// What its table says of a run.
struct InTable {
  std::string title;                 ///< "S-Adam k=2, authors' code"
  std::vector<std::string> differs;  ///< from the paper
};

struct Tables {
  Json tables = Json::array();                    ///< `Table` of web/src/data.ts
  std::unordered_map<std::string, InTable> runs;  ///< by id
};

/// The tables that found_tables() finds, as `sadam reproduce --show` has them (tables.cpp).
Tables tables_of(const std::vector<const LiveRun*>& runs);

struct FoundRun {
  train::RunPaths paths;
  std::string id;
};

/// The runs below a folder, or the one that it is. With `confined`, none of which anything is outside of it,
/// because a symbolic link leads there, or is no regular file.
std::vector<FoundRun> runs_below(const std::filesystem::path& root, bool confined);

/// May be used by several threads.
class Shelf {
 public:
  struct Source {
    std::string root;                                ///< as the user gave it
    std::function<std::vector<FoundRun>()> runs;     ///< looked for anew each time
    std::vector<std::filesystem::path> attachments;  ///< folders in which pictures and sheets are looked for
    bool live = false;
  };
  explicit Shelf(Source source) : source_(std::move(source)) {}

  /// `Report`: with the details of every run unless it is live.
  Json report();
  /// `Run` with its details; nothing if there is none of that id.
  std::optional<Json> run(const std::string& id);
  /// [{"id": …, "stamp": …}], from a look at the files alone, not older than a quarter of a second.
  std::string stamps();

 private:
  /// Finds runs, forgets those that are gone, reads what is new.
  void update();
  Json run_json(const LiveRun& run, bool with_details) const;

  Source source_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<LiveRun>> runs_;  ///< by id
  // From all of them together; made anew when one has changed.
  Tables tables_;
  std::map<std::string, std::string> groups_;  ///< the group's name, by id

  std::mutex stamps_mutex_;
  std::string stamps_;
  std::chrono::steady_clock::time_point stamps_at_;
};

/// In one line. Names of folders need not be UTF-8, JSON must be: what is not is replaced.
std::string to_text(const Json& json);

}  // namespace sadam::page
