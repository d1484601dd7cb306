#include "page/live_run.h"

#include <sadam/error.h>
#include <sys/stat.h>

#include <utility>

#include "base/file.h"
#include "report/comparison.h"
#include "report/recipe_values.h"
#include "train/recipe/toml.h"

namespace sadam::page {
namespace {

// Of a file that nobody wrote for this there may be any number.
constexpr std::size_t kMostNotes = 200;
constexpr std::size_t kMostRegimes = 2000;

constexpr std::string_view kRunning = "running";  // what the stamp of a folder in use begins with

Json series_json(const Buckets& buckets) {
  std::vector<Json> step;
  std::vector<Json> mean;
  std::vector<Json> low;
  std::vector<Json> high;
  const bool every_step = buckets.length() == 1;
  for (const auto& bucket : buckets.buckets()) {
    if (bucket.last_step == 0) continue;
    step.emplace_back(bucket.last_step);
    const bool any = bucket.finite > 0;
    mean.push_back(any ? short_number(bucket.mean()) : Json());
    if (every_step) continue;
    low.push_back(any ? short_number(bucket.low) : Json());
    high.push_back(any ? short_number(bucket.high) : Json());
  }
  return {{"step", step}, {"mean", mean}, {"min", low}, {"max", high}};
}

Json histogram_json(const Bins& bins) { return {{"width", bins.width()}, {"counts", bins.counts()}}; }

Json epoch_json(const train::EpochEvent& epoch) {
  return {{"epoch", epoch.epoch},
          {"step", epoch.step},
          {"test_loss", number_or_null(epoch.test_loss)},
          {"test_accuracy", percent_or_null(epoch.test_accuracy)},
          {"validation_accuracy",
           epoch.validation_accuracy ? percent_or_null(*epoch.validation_accuracy) : Json()},
          {"train_seconds", number_or_null(epoch.train_seconds)}};
}

// What run.toml says beside the recipe: [run].
Json environment_of(const train::RunPaths& paths) {
  auto list = Json::array();
  try {
    for (const auto& entry : train::read_entries(base::read_text(paths.recipe()), paths.recipe().string())) {
      if (entry.table != "run" || entry.opens_table) continue;
      if (const auto* const words = std::get_if<std::string>(&entry.value))
        list.push_back(Json::array({entry.key, *words}));
      else if (const auto* const number = std::get_if<std::int64_t>(&entry.value))
        list.push_back(Json::array({entry.key, fmt::format("{}", *number)}));
    }
  } catch (const Error&) {
    // The summary says what is wrong with it.
  }
  return list;
}

}  // namespace

std::string stamp_of(const train::RunPaths& paths) {
  std::string stamp(train::is_in_use(paths) ? kRunning : "");
  for (const auto& file : {paths.recipe(), paths.events(), paths.checkpoint(), paths.previous_checkpoint()}) {
    struct stat about {};
    if (::stat(file.c_str(), &about) != 0)
      stamp += ";";
    else
      stamp += fmt::format(";{:x}.{:x}.{:x}", about.st_ino, about.st_size,
                           about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec);
  }
  return stamp;
}

void LiveRun::Record::add(const train::Event& event) {
  totals.add(event);
  if (const auto* const step = std::get_if<train::StepEvent>(&event)) {
    loss.add(step->step, step->loss);
    lr.add(step->step, step->lr);
    lgi.add(step->step, step->lgi);
    brake.add(step->step, step->brake);
    if (step->residual) residual.add(step->step, *step->residual);
    if (step->probed) lgi_shares.add(step->lgi);
    brake_shares.add(step->brake);
    braked = braked || step->brake != 1;
  } else if (const auto* const window = std::get_if<train::ChatterEvent>(&event)) {
    chatter.add(window->step, window->chatter);
    flips.add(window->step, window->flips);
  } else if (const auto* const regime = std::get_if<train::RegimeEvent>(&event)) {
    if (regimes.size() < kMostRegimes) regimes.push_back(*regime);
  } else if (const auto* const note = std::get_if<train::NoteEvent>(&event)) {
    if (notes.size() < kMostNotes)
      notes.push_back(note->text);
    else
      ++notes_left_out;
  }
}

LiveRun::LiveRun(train::RunPaths paths, std::string id)
    : paths_(std::move(paths)), id_(std::move(id)), tail_(paths_.events()) {}

bool LiveRun::update() {
  // Before anything is read: what changes meanwhile is read the next time.
  auto stamp = stamp_of(paths_);
  if (stamp == stamp_) return false;
  const bool locked = stamp.starts_with(kRunning);
  stamp_ = std::move(stamp);
  std::string trouble;  // why its events could not be opened
  try {
    tail_.read([this](const train::Event& event) { record_.add(event); }, [this] { record_ = {}; });
  } catch (const Error& error) {
    trouble = error.what();
  }
  report::EventsRead events;
  events.totals = record_.totals;
  events.cut_line = tail_.cut_line();
  events.problem = trouble.empty() ? tail_.problem() : trouble;
  try {
    summary_ = report::summarise(paths_, id_, events, locked);
  } catch (const std::exception& error) {
    // A folder that goes while it is looked at can fail anywhere.
    summary_ = {};
    summary_.folder = paths_.folder;
    summary_.state = report::RunState::damaged;
    summary_.problem = error.what();
  }
  environment_ = environment_of(paths_);
  group_key_ = summary_.recipe ? report::group_key(*summary_.recipe) : "";
  return true;
}

report::RunSummary LiveRun::readable_summary() const {
  auto summary = summary_;
  if (report::is_unread(summary.state)) {
    record_.totals.put_into(summary);
    if (!record_.braked) summary.mean_brake.reset();
  }
  return summary;
}

std::vector<std::string> LiveRun::notes() const {
  auto list = record_.notes;
  if (record_.notes_left_out > 0)
    list.push_back(fmt::format("{} more notes are left out.", record_.notes_left_out));
  for (auto& sentence : train::sentences(record_.totals.counts())) list.push_back(std::move(sentence));
  if (summary_.diverged) list.emplace_back("Training diverged by the last epoch.");
  if (const auto broken = tail_.broken_lines(); broken > 0)
    list.push_back(fmt::format("{} of events.jsonl {} no event and passed over.",
                               base::counted(broken, "line"), broken == 1 ? "is" : "are"));
  return list;
}

Json LiveRun::details(const std::vector<std::string>& differs) const {
  auto recipe = Json::array();
  if (summary_.recipe)
    for (const auto& value : report::recipe_values(*summary_.recipe))
      if (!std::holds_alternative<std::monostate>(value.cell.value))
        recipe.push_back(Json::array({value.name, value.cell.text}));
  auto epochs = Json::array();
  for (const auto& epoch : record_.totals.epochs()) epochs.push_back(epoch_json(epoch));

  // AdamW's ρ is always 0 and its brake 1, which says nothing.
  const bool probed = record_.totals.counts().probed > 0;
  const bool braked = probed || record_.braked;
  auto series = Json::object();
  const auto add_series = [&](const char* name, const Buckets& buckets, bool is_recorded = true) {
    if (is_recorded && !buckets.is_empty()) series[name] = series_json(buckets);
  };
  add_series("loss", record_.loss);
  add_series("lgi", record_.lgi, probed);
  add_series("brake", record_.brake, braked);
  add_series("lr", record_.lr);
  add_series("residual", record_.residual);
  add_series("chatter", record_.chatter);
  add_series("flips", record_.flips);
  auto histograms = Json::object();
  if (probed) histograms["lgi"] = histogram_json(record_.lgi_shares);
  if (braked) histograms["brake"] = histogram_json(record_.brake_shares);
  auto regimes = Json::array();
  for (const auto& regime : record_.regimes)
    regimes.push_back({{"step", regime.step},
                       {"quantity", regime.quantity},
                       {"before", number_or_null(regime.before)},
                       {"after", number_or_null(regime.after)},
                       {"score", number_or_null(regime.score)}});
  return {{"recipe", recipe}, {"environment", environment_}, {"differs", differs}, {"epochs", epochs},
          {"series", series}, {"histograms", histograms},    {"regimes", regimes}, {"notes", notes()}};
}

}  // namespace sadam::page
