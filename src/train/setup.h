// What a run is made of before its first step: threads, data, network, and its folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/data_set.h"
#include "data/loader.h"
#include "train/recipe/recipe.h"
#include "train/record/run_folder.h"

namespace sadam::nn {
class Classifier;
}

namespace sadam::train {

/// Data sets that several runs of one process share.
class DataSets {
 public:
  data::DataSet open(const DataRecipe& recipe);

 private:
  std::optional<std::pair<DataRecipe, data::DataSet>> last_;
};

struct Network {
  std::shared_ptr<nn::Classifier> classifier;
  /// Tensors of the last layer that start anew, because the weight file has another one; empty otherwise.
  std::vector<std::string> replaced;
};

/// What becomes of a last layer in the weight file that does not fit the data's classes.
enum class LastLayer { must_fit, may_be_replaced };

/// The file that `model.weights` names: as given, or, for a bare name that is not here, in the folder of the
/// data sets. Throws an Error that says how to get it if it is in neither.
std::filesystem::path weights_file(const Recipe& recipe);

/// The network of a recipe for this data, with the weights the recipe names, or random ones from torch's
/// generator.
Network make_network(const Recipe& recipe, const data::DataSet& data, LastLayer last_layer);

/// Refuses batches, or a rest of the images for the last one, that are too small for the recipe's network:
/// better before an epoch than at its end. `images`: of the training set, so many pixels wide and high.
void check_batches(const Recipe& recipe, std::int64_t images, std::int64_t pixels);

/// How a run's batches are made, of the training or the test images.
data::LoaderOptions loader_options(const Recipe& recipe, const data::DataSet& data, bool train);

/// Sets the number of threads, 0 for one a core, shared by so many processes; returns it.
int use_threads(std::int64_t threads, std::int64_t processes = 1);

/// Refuses what several processes cannot do together.
void check_processes(const Recipe& recipe);

/// Of sizes, labels and some of the images: whether two processes have the same data.
std::uint32_t checksum_of(const data::DataSet& data);

/// "1.13.0": what the program was built with.
std::string libtorch_version();

/// Makes the folder of a new run and writes its recipe, complete with everything that is now settled
/// (threads, the size of images in a folder, the brake of a `matched` control), and with the versions it runs
/// on. Nothing is trained yet. Data, weights and recipe that do not go together are refused before the folder
/// is made.
/// `local_processes`: how many of the run's processes are on this machine; 0: all of them.
RunFolder begin_run(const std::filesystem::path& folder, Recipe recipe, DataSets& data,
                    std::int64_t local_processes = 0);

/// Removes the folder of a run that begin_run has made, and that failed before its first step.
void take_back(const RunFolder& folder);

/// Rewrites the run.toml of a run that is to go on with another title, another place of its data, other
/// processes, or another number of epochs; other fields must be as they were. Throws a UsageError, and
/// changes nothing, where that would not be the run that it would have been with them from the start.
void change_recipe(const RunFolder& folder, Recipe wanted, DataSets& data);

}  // namespace sadam::train
