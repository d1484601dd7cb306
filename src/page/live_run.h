// One run, followed while its files grow, are cut back by a resume, or go.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/quantities.h"
#include "page/buckets.h"
#include "report/run_summary.h"
#include "report/text_table.h"
#include "train/record/events.h"
#include "train/record/run_folder.h"

namespace sadam::page {

using report::Json;

// Numbers as the page takes them: null where there is none.
inline Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }
inline Json number_or_null(const std::optional<double>& value) {
  return value ? number_or_null(*value) : Json();
}
/// A fraction, in per cent.
inline Json percent_or_null(const std::optional<double>& fraction) {
  return number_or_null(base::percent(fraction));
}

/// Seven digits, which is more than can be drawn, in half the room of all of them.
inline Json short_number(double value) {
  const auto text = fmt::format("{:.7g}", value);
  double rounded = value;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

/// What the files of a run look like from outside: changes whenever they do. Reads none of them.
std::string stamp_of(const train::RunPaths& paths);

class LiveRun {
 public:
  LiveRun(train::RunPaths paths, std::string id);

  /// Reads what is new; whether anything was. Never throws for what is in the folder.
  bool update();

  const std::string& id() const { return id_; }
  const std::string& stamp() const { return stamp_; }
  /// Without its numbers where its events are damaged, so that no table counts them.
  const report::RunSummary& summary() const { return summary_; }
  /// With those that could be read.
  report::RunSummary readable_summary() const;
  /// By the runs of which it is repeated with other seeds; "" where its recipe cannot be read.
  const std::string& group_key() const { return group_key_; }

  /// `Details` of web/src/data.ts.
  Json details(const std::vector<std::string>& differs) const;

 private:
  /// Everything that comes from events.
  struct Record {
    report::RunTotals totals;
    Buckets loss, lr, lgi, brake, residual, chatter, flips;
    Bins lgi_shares, brake_shares;
    std::vector<train::RegimeEvent> regimes;
    std::vector<std::string> notes;
    std::size_t notes_left_out = 0;
    bool braked = false;  ///< some step had a brake other than 1

    void add(const train::Event& event);
  };

  std::vector<std::string> notes() const;

  train::RunPaths paths_;
  std::string id_;
  std::string stamp_;
  train::EventTail tail_;
  Record record_;
  report::RunSummary summary_;
  std::string group_key_;
  Json environment_;
};

}  // namespace sadam::page
