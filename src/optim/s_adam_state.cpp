// How S-Adam is saved and loaded.
#include <sadam/s_adam.h>

#include <utility>

#include "../probe/forward_state.h"
#include "../probe/snapshot.h"
#include "adam_update.h"
#include "archive.h"
#include "device_work.h"

namespace sadam {

using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

void SAdam::save(OutputArchive& archive) const {
  fetch_from_device();
  optim::save_state(archive, *this, "SAdam");
  archive.write("has_source", c10::IValue(static_cast<bool>(wide().source())));
  archive.write("last_lgi", c10::IValue(latest_lgi()));
}

void SAdam::load(InputArchive& archive) {
  const optim::Factories factories{"SAdam", [] { return std::make_unique<SAdamOptions>(); },
                                   [] { return std::make_unique<SAdamParamState>(); }, optim::moments_of};
  auto loaded = optim::load_state(archive, *this, factories);
  auto last_lgi = optim::read_value(archive, "last_lgi").toDoubleVector();
  if (last_lgi.size() != loaded.options.size())
    throw Error("load: the saved state has another number of groups and ρ: the file is damaged.");
  auto& whole = static_cast<SAdamOptions&>(*loaded.defaults);
  const bool needs_source = optim::read_value(archive, "has_source").toBool();
  if (needs_source && !wide().source())
    throw Error(
        "load: the state was saved with a caller's direction source, which a file cannot hold: build SAdam "
        "with .source(...) first.");
  if (wide().source()) whole.source(wide().source());
  check_values(whole, "load: ");
  check_combination(whole);
  for (auto& options : loaded.options) {
    static_cast<SAdamOptions&>(*options).inherit_from(whole);
    check_values(static_cast<SAdamOptions&>(*options), "load: ");
  }

  totals_ = loaded.totals;
  last_lgi_ = std::move(last_lgi);
  defaults_ = std::move(loaded.defaults);
  begun_.reset();
  summary_is_open_ = false;
  forget_device();
  optim::commit_state(std::move(loaded), param_groups(), state());
}

}  // namespace sadam
