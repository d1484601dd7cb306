#include "train/record/position.h"

#include <sadam/error.h>

#include <system_error>

#include "base/file.h"
#include "train/record/envelope.h"
#include "train/record/json_fields.h"

namespace sadam::train {
namespace {

// Calls visit(name, member) for each field, in the order in which they are written.
template <class Where, class Visit>
void visit_position_fields(Where& position, const Visit& visit) {
  visit("epoch", position.epoch);
  visit("steps", position.run.steps);
  visit("skipped", position.run.skipped);
  visit("probed", position.run.probed);
  visit("within_noise", position.run.within_noise);
  visit("non_finite_probes", position.run.non_finite_probes);
  visit("epoch_steps", position.this_epoch.steps);
  visit("epoch_skipped", position.this_epoch.skipped);
  visit("epoch_probed", position.this_epoch.probed);
  visit("epoch_within_noise", position.this_epoch.within_noise);
  visit("epoch_non_finite_probes", position.this_epoch.non_finite_probes);
  visit("loss_sum", position.loss_sum);
  visit("finite_losses", position.finite_losses);
  visit("lgi_sum", position.lgi_sum);
  visit("brake_sum", position.brake_sum);
  visit("train_seconds", position.train_seconds);
  visit("evaluate_seconds", position.evaluate_seconds);
  visit("events_bytes", position.events.bytes);
  visit("events_checksum", position.events.checksum);
  visit("tensorboard_bytes", position.tensorboard.bytes);
  visit("tensorboard_checksum", position.tensorboard.checksum);
  visit("recipe", position.recipe);
}

}  // namespace

std::string to_meta(const Position& position) {
  nlohmann::ordered_json meta;
  visit_position_fields(position, JsonFieldWriter(meta));
  return meta.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Position from_meta(std::string_view meta) {
  Position position;
  const auto json = nlohmann::json::parse(meta.begin(), meta.end(), nullptr, false);
  try {
    if (!json.is_object()) throw Error("there is no JSON object");
    visit_position_fields(position, JsonFieldReader(json));
  } catch (const Error& error) {
    throw Error("the checkpoint does not say where the run stands (" + std::string(error.what()) +
                "): it was made by another version of sadam, so go on with that or start the run anew.");
  }
  return position;
}

std::optional<Position> saved_position(const RunPaths& paths) {
  std::error_code unreadable;
  if (!std::filesystem::exists(paths.checkpoint(), unreadable)) return std::nullopt;
  try {
    const auto file = base::read_file(paths.checkpoint());
    return from_meta(open_envelope(file).meta);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace sadam::train
