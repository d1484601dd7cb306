#include "train/setup.h"

#include <ATen/Parallel.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sadam/error.h>
#include <sadam/process_group.h>
#include <sadam/version.h>
#include <torch/nn/module.h>
#include <torch/version.h>

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <span>
#include <system_error>
#include <thread>

#include "base/child.h"
#include "base/file.h"
#include "base/usage_error.h"
#include "nn/classifier.h"
#include "nn/load_weights.h"
#include "nn/weights/tensor_file.h"
#include "train/checkpoint.h"
#include "train/device.h"
#include "train/recipe/fields.h"
#include "train/recipe/source.h"
#include "train/schedule.h"

namespace sadam::train {
namespace {

constexpr std::string_view kWhereItRan = "\n# Where it ran.\n";

// What a machine or a shell gave, which may be no UTF-8.
std::string in_toml(std::string text) {
  try {
    RecipeSource().add_text(fmt::format("text = {}", to_toml(Slot(&text))), "");
  } catch (const UsageError&) {
    std::replace_if(
        text.begin(), text.end(), [](char letter) { return static_cast<unsigned char>(letter) >= 0x80; },
        '?');
  }
  return to_toml(Slot(&text));
}

// "2026-02-28T23:59:59Z".
std::string now_utc() { return fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr))); }

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// A word of a command line, so that a shell reads it back.
std::string in_shell(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

// What this process was started with; "" where the system does not say.
std::string command_line() {
  auto words = base::own_command_line();
  if (!words.empty()) words.front() = std::filesystem::path(words.front()).filename().string();
  for (auto& word : words) word = in_shell(word);
  return fmt::format("{}", fmt::join(words, " "));
}

// What run.toml says beside the recipe.
std::string run_table(const Recipe& recipe) {
  const auto device = device_named(recipe.train.device);
  return fmt::format(
      "{}[run]\nsadam = {}\nlibtorch = {}\ndevice = {}\nthreads = {}\nstarted = "
      "{}\nhost = {}\ncommand = {}\n",
      kWhereItRan, in_toml(SADAM_VERSION), in_toml(libtorch_version()),
      in_toml(device.is_cuda() ? device_model(device) : "cpu"), recipe.train.threads, in_toml(now_utc()),
      in_toml(host_name()), in_toml(command_line()));
}

void check_finite(const torch::nn::Module& module, const std::string& file) {
  for (const auto& parameter : module.named_parameters())
    if (!std::isfinite(parameter.value().sum(at::kDouble).item<double>()))
      throw Error(
          fmt::format("{} holds numbers that are not finite in {}: give other weights (model.weights).", file,
                      parameter.key()));
}

}  // namespace

data::DataSet DataSets::open(const DataRecipe& recipe) {
  if (last_ && last_->first == recipe) return last_->second;
  data::DataRequest request;
  request.name = recipe.name;
  request.root = recipe.root;
  request.pixels = static_cast<std::size_t>(recipe.pixels);
  request.train_images = static_cast<std::size_t>(recipe.train_images);
  request.test_images = static_cast<std::size_t>(recipe.test_images);
  request.validation_images = static_cast<std::size_t>(recipe.validation_images);
  last_.reset();  // one at a time: some are large
  return last_.emplace(recipe, data::open_data_set(request)).second;
}

data::LoaderOptions loader_options(const Recipe& recipe, const data::DataSet& data, bool train) {
  data::LoaderOptions options;
  options.batch = static_cast<std::size_t>(train ? recipe.train.batch : recipe.train.evaluate_batch);
  options.shuffle = train;
  options.seed = static_cast<std::uint64_t>(recipe.seed);
  options.threads = static_cast<int>(recipe.train.threads);
  options.normalization =
      nn::wants_imagenet_inputs(model_of(recipe)) ? data::imagenet_normalization() : data.normalization;
  return options;
}

int use_threads(std::int64_t threads, std::int64_t processes) {
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  const auto count = static_cast<int>(threads > 0 ? threads : std::max<std::int64_t>(cores / processes, 1));
  at::set_num_threads(count);
  return count;
}

void check_processes(const Recipe& recipe) {
  if (recipe.train.processes == 1) return;
  const bool on_cpu = device_named(recipe.train.device).is_cpu();
  if (on_cpu ? !has_gloo() : !has_nccl())
    throw Error(
        fmt::format("this sadam was built without {}, which processes on {} talk by: leave out "
                    "train.processes, or install "
                    "{} and build it again.",
                    on_cpu ? "Gloo" : "NCCL", on_cpu ? "CPUs" : "GPUs", on_cpu ? "libgloo-dev" : "nccl.h"));
  const bool probes = optimizer_of(recipe) == OptimizerKind::sadam && control_of(recipe) == Control::none;
  if (probes && recipe.train.probe_images > 0 && split_of(recipe) == Split::batch)
    throw UsageError(
        "train.probe_images takes the first images of a batch, which one process alone would have: leave it "
        "out, or set train.split=probes.");
  if (probes && split_of(recipe) == Split::probes && recipe.optimizer.noise == name_of(ProbeNoise::fresh))
    throw UsageError(
        "with optimizer.noise=fresh each probe draws masks of its own, so processes cannot share the probes: "
        "use shared, or train.split=batch.");
}

std::uint32_t checksum_of(const data::DataSet& data) {
  std::uint32_t checksum = 0;
  const auto add = [&](const auto& values) {
    checksum = base::crc32(std::as_bytes(std::span(values)), checksum);
  };
  for (const auto& set : {data.train, data.test, data.validation}) {
    if (!set) continue;
    add(std::array{set->size(), set->pixels(), static_cast<std::size_t>(set->classes())});
    std::vector<std::int64_t> labels(set->size());
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = set->label(i);
    add(labels);
    // All images may take minutes to decode.
    constexpr std::size_t kImages = 16;
    std::vector<std::uint8_t> image(set->bytes_per_image());
    for (std::size_t i = 0; i < std::min(kImages, set->size()); ++i) {
      set->read(i * set->size() / std::min(kImages, set->size()), image.data());
      add(image);
    }
  }
  return checksum;
}

std::filesystem::path weights_file(const Recipe& recipe) {
  const std::filesystem::path given(recipe.model.weights);
  std::error_code unreadable;
  if (std::filesystem::exists(given, unreadable)) return given;
  auto places = fmt::format("{} is not there", given.string());
  if (!given.has_parent_path()) {
    auto below = recipe.data.root / given;
    if (std::filesystem::exists(below, unreadable)) return below;
    places = fmt::format("{} is neither here nor in {}", given.string(), recipe.data.root);
  }
  const auto root = recipe.data.root == "data" ? "" : fmt::format(" --root {}", recipe.data.root);
  const auto known = nn::pretrained_weights(model_of(recipe));
  const auto fetch =
      known.empty() ? "" : fmt::format("get torchvision's with 'sadam data fetch {}{}', or ", known, root);
  throw Error(fmt::format("{}: {}give the path of the weights (model.weights, or --weights of eval).", places,
                          fetch));
}

Network make_network(const Recipe& recipe, const data::DataSet& data, LastLayer last_layer) {
  nn::ClassifierOptions options;
  options.model = model_of(recipe);
  options.pixels = static_cast<std::int64_t>(data.train->pixels());
  options.classes = data.train->classes();
  options.bits = static_cast<int>(recipe.model.bits);
  options.dropout = recipe.model.dropout;
  Network network{nn::make_classifier(options), {}};
  if (!recipe.model.weights.empty()) {
    const auto path = weights_file(recipe);
    const auto file = weights::read_weights(path);
    nn::LoadOptions load;
    load.replace_last_layer = last_layer == LastLayer::may_be_replaced;
    load.source = path.string();
    network.replaced = nn::load_weights(*network.classifier, file, load);
  }
  return network;
}

void check_batches(const Recipe& recipe, std::int64_t images, std::int64_t pixels) {
  // The smallest part of a batch that is not empty.
  const auto parts = split_of(recipe) == Split::batch ? recipe.train.processes : 1;
  const auto least_part = [&](std::int64_t batch) { return std::max<std::int64_t>(batch / parts, 1); };
  const auto rest = images % recipe.train.batch;
  const auto smallest = least_part(rest > 0 ? rest : recipe.train.batch);
  if (smallest >= nn::least_batch(model_of(recipe), pixels)) return;
  throw UsageError(
      fmt::format("{} images in batches of {}{} leave one alone, and {} cannot be trained on one image of {} "
                  "pixels, because its last "
                  "batch norms would see one value a channel: change train.batch or data.train_images, or "
                  "use larger images.",
                  images, recipe.train.batch, parts == 1 ? "" : fmt::format(" for {} processes", parts),
                  recipe.model.name, pixels));
}

std::string libtorch_version() { return TORCH_VERSION; }

RunFolder begin_run(const std::filesystem::path& folder, Recipe recipe, DataSets& data,
                    std::int64_t local_processes) {
  recipe.train.threads =
      use_threads(recipe.train.threads, local_processes > 0 ? local_processes : recipe.train.processes);
  device_named(recipe.train.device);
  check_processes(recipe);
  settle_control(recipe);
  if (recipe.data.pixels == 0 && data::path_in_name(recipe.data.name))
    recipe.data.pixels = static_cast<std::int64_t>(data::own_pixels(recipe.data.name));
  // What does not go together is refused before there is a folder.
  const auto images = data.open(recipe.data);
  const auto network = make_network(recipe, images, LastLayer::may_be_replaced);
  if (!recipe.model.weights.empty()) check_finite(*network.classifier, recipe.model.weights);
  check_batches(recipe, static_cast<std::int64_t>(images.train->size()),
                static_cast<std::int64_t>(images.train->pixels()));
  auto made = RunFolder::create(folder);
  base::write_file_atomically(made.paths().recipe(), to_toml(recipe) + run_table(recipe));
  return made;
}

void take_back(const RunFolder& folder) {
  const auto& paths = folder.paths();
  std::error_code gone;
  if (std::filesystem::file_size(paths.events(), gone) > 0 && !gone) return;
  // What else may lie there is not ours: only what is empty then goes.
  for (const auto& path :
       {paths.tensorboard_file(), paths.tensorboard(), paths.events(), paths.recipe(), paths.folder})
    std::filesystem::remove(path, gone);
}

void change_recipe(const RunFolder& folder, Recipe wanted, DataSets& data) {
  const auto& paths = folder.paths();
  const auto recipe = recipe_of(paths);
  if (wanted.train.processes == recipe.train.processes && wanted.train.threads != recipe.train.threads)
    throw UsageError(fmt::format(
        "train.threads is {}, and other threads round differently: only with other train.processes may it "
        "change.",
        recipe.train.threads));
  // More processes have no more threads together, unless they are told so.
  if (wanted.train.processes > recipe.train.processes && wanted.train.threads == recipe.train.threads)
    wanted.train.threads =
        std::max<std::int64_t>(wanted.train.threads * recipe.train.processes / wanted.train.processes, 1);
  check_processes(wanted);
  if (wanted == recipe) return;
  if (wanted.data.name != recipe.data.name &&
      !(data::path_in_name(wanted.data.name) && data::path_in_name(recipe.data.name)))
    throw UsageError(fmt::format(
        "data.name is {}, and a run goes on with its own data: only a folder: of images may be given "
        "anew, where it has been moved.",
        recipe.data.name));
  if (const auto saved = read_checkpoint(paths, recipe)) check_epochs(saved->position, wanted);
  check_tensorboard_place(paths.tensorboard());
  if (wanted.train.epochs != recipe.train.epochs || wanted.data.name != recipe.data.name)
    data.open(wanted.data);
  if (wanted.train.processes != recipe.train.processes || wanted.train.split != recipe.train.split) {
    const auto images = data.open(wanted.data).train;
    check_batches(wanted, static_cast<std::int64_t>(images->size()),
                  static_cast<std::int64_t>(images->pixels()));
  }
  const auto text = base::read_text(paths.recipe());
  const auto where_it_ran = text.substr(std::min(text.find(kWhereItRan), text.size()));
  base::write_file_atomically(paths.recipe(), fmt::format("{}{}", to_toml(wanted), where_it_ran));
}

}  // namespace sadam::train
