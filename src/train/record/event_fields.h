// The fields of the events by name, once for the reader and the writer.
#pragma once

#include "train/record/events.h"

namespace sadam::train {

inline constexpr const char* step_kind = "step";
inline constexpr const char* epoch_kind = "epoch";
inline constexpr const char* note_kind = "note";

/// Calls visit(name, member) for each field, in the order in which they are written.
template <class Step, class Visit>
void visit_step_fields(Step& event, const Visit& visit) {
  visit("step", event.step);
  visit("epoch", event.epoch);
  visit("loss", event.loss);
  visit("lr", event.lr);
  visit("lgi", event.lgi);
  visit("brake", event.brake);
  visit("probed", event.probed);
  visit("within_noise", event.within_noise);
  visit("skipped", event.skipped);
  visit("non_finite_probes", event.non_finite_probes);
  visit("probe_seconds", event.probe_seconds);
}

template <class Epoch, class Visit>
void visit_epoch_fields(Epoch& event, const Visit& visit) {
  visit("epoch", event.epoch);
  visit("step", event.step);
  visit("train_loss", event.train_loss);
  visit("test_loss", event.test_loss);
  visit("test_accuracy", event.test_accuracy);
  visit("mean_lgi", event.mean_lgi);
  visit("mean_brake", event.mean_brake);
  visit("train_seconds", event.train_seconds);
  visit("evaluate_seconds", event.evaluate_seconds);
  visit("peak_memory", event.peak_memory);
}

template <class Note, class Visit>
void visit_note_fields(Note& event, const Visit& visit) {
  visit("text", event.text);
}

}  // namespace sadam::train
