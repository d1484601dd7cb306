#include "fuzz/seeds.h"

#include <limits>
#include <string>

#include "base/file.h"
#include "train/recipe/source.h"
#include "train/record/checkpoint_file.h"
#include "train/record/events.h"

namespace sadam::train::fuzz {
namespace {

void make_recipes(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  base::write_file_atomically(folder / "empty", "");
  base::write_file_atomically(folder / "every-field", to_toml(Recipe()) + "\n[run]\nversion = \"0\"\n");
  RecipeSource source;
  source.add_text(
      "optimizer = {preset = 'reference', directions = 'step', statistic = 'residual'}\nschedule.name = "
      "'cosine' # and so on\n",
      "seed");
  base::write_file_atomically(folder / "preset", to_toml(source.resolve()));
  // After a zero byte come --set, one after each.
  const std::string zero(1, '\0');
  base::write_file_atomically(folder / "set", "[train]\nepochs = 3\n" + zero + "optimizer.probes=8" + zero +
                                                  "title=a b" + zero + "seed = 7");
  for (const auto& field : recipe_fields())
    base::write_file_atomically(folder / field.name, field.name + " = " + field.standard + "\n");
}

void make_events(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  StepEvent step{3, 1, 2.5, 0.001, 0.25, 0.5, true, false, false, 0, 0.125};
  const EpochEvent epoch{1, 3, 2.5, 2.25, 0.125, 0.25, 0.5, 9, 1, 1 << 30};
  base::write_file_atomically(folder / "step", to_line(step));
  base::write_file_atomically(folder / "epoch", to_line(epoch));
  base::write_file_atomically(folder / "note", to_line(NoteEvent{"a \"b\"\n\xc3\xbc"}));
  step.loss = std::numeric_limits<double>::infinity();
  const auto all = to_line(step) + to_line(epoch) + to_line(NoteEvent{"resumed"});
  base::write_file_atomically(folder / "all", all);
  base::write_file_atomically(folder / "cut", all + all.substr(0, 40));
}

void make_envelopes(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::string payload = "an archive";
  base::write_file_atomically(folder / "whole", seal("{\"step\":3}", std::as_bytes(std::span(payload))));
  base::write_file_atomically(folder / "empty", seal("", {}));
  Position position;
  position.epoch = 2;
  position.loss_sum = 2.5;
  position.events = {1000, 0xcbf43926U};
  position.recipe = to_toml(Recipe());
  base::write_file_atomically(folder / "position",
                              seal(to_meta(position), std::as_bytes(std::span(payload))));
}

}  // namespace

void make_seeds(const std::filesystem::path& folder) {
  make_recipes(folder / "fuzz_recipe");
  make_events(folder / "fuzz_events");
  make_envelopes(folder / "fuzz_envelope");
}

}  // namespace sadam::train::fuzz
