// What runs are called when nobody names them: what was changed, short and fit for the name of a file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/recipe/fields.h"
#include "train/recipe/recipe.h"

namespace sadam::train {

/// "lr", "train_images"; "data" for data.name; "control.brake" where other tables have the key as well.
std::string short_key(const FieldRow& row);

/// What short_text() joins a key and a value with.
enum class Join { file_name, label };

/// A field and its value: "lr3e-4" and "statistic-residual" for a file name, "lr=3e-4" and
/// "statistic=residual" for a label. Of a name, such as data.name, the value alone. Only letters, digits and
/// ".+-_=" are in it; of a path the last part.
std::string short_text(const FieldRow& row, Recipe recipe, Join join = Join::file_name);

/// Whether a field is about the experiment, and not about the machine or the people: data.root, train.device,
/// train.processes, train.split, train.threads, train.checkpoint_every, train.evaluate_batch and the title
/// are not.
bool describes_experiment(const FieldRow& row);

/// What `sadam train FILE` makes of the file alone, and what its names begin with.
struct NamedRecipe {
  std::string stem;
  Recipe recipe;
};
/// From the text of a file; nothing for no file. One that is no recipe before something else is set counts as
/// the defaults.
std::optional<NamedRecipe> named_recipe(const std::filesystem::path& file, std::string_view text);
/// "my" for recipes/my.toml; "first" for runs/first/run.toml.
std::string stem_of(const std::filesystem::path& recipe_file);

/// "cifar100-qatnet-sadam-lr3e-4-42", or "my-lr3e-4-42" with what differs from `base` (may be null): what was
/// changed and the seed. Fields named in `without` are left out. One recipe has one name; two recipes may
/// share one. At most 100 characters: a longer one is cut, with a checksum of all of it behind.
std::string short_name(const Recipe& recipe, const NamedRecipe* base,
                       const std::vector<std::string>& without = {});

/// `name`, cut in the same way.
std::string bounded_name(std::string name);

}  // namespace sadam::train
