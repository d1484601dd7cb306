#include "train/checkpoint.h"

#include <ATen/CPUGeneratorImpl.h>
#include <sadam/error.h>
#include <torch/nn/module.h>
#include <torch/serialize/archive.h>

#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "train/record/envelope.h"
#include "train/stepper.h"

namespace sadam::train {
namespace {

// Each field of a Position with its name in the file.
template <class Where, class Do>
void for_each_field(Where& position, const Do& visit) {
  visit("step", position.step);
  visit("epoch", position.epoch);
  visit("epoch_steps", position.epoch_steps);
  visit("loss_sum", position.loss_sum);
  visit("lgi_sum", position.lgi_sum);
  visit("brake_sum", position.brake_sum);
  visit("train_seconds", position.train_seconds);
  visit("evaluate_seconds", position.evaluate_seconds);
  visit("events_bytes", position.events_bytes);
  visit("tensorboard_bytes", position.tensorboard_bytes);
}

// A sum can be NaN or infinite, which JSON cannot hold: doubles travel as the bits they are.
nlohmann::json as_json(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
template <class Integer>
nlohmann::json as_json(Integer value) {
  return value;
}
void from_json_to(const nlohmann::json& json, double& value) {
  const auto bits = json.get<std::uint64_t>();
  std::memcpy(&value, &bits, sizeof value);
}
template <class Integer>
void from_json_to(const nlohmann::json& json, Integer& value) {
  json.get_to(value);
}

std::string to_meta(const Position& position) {
  nlohmann::json meta;
  for_each_field(position, [&](const char* name, const auto& value) { meta[name] = as_json(value); });
  return meta.dump();
}

Position from_meta(std::string_view meta) {
  Position position;
  try {
    const auto json = nlohmann::json::parse(meta);
    for_each_field(position, [&](const char* name, auto& value) { from_json_to(json.at(name), value); });
  } catch (const nlohmann::json::exception&) {
    throw Error("the checkpoint does not say where the run stands: it comes from another version of sadam.");
  }
  return position;
}

at::Generator generator() { return at::detail::getDefaultCPUGenerator(); }

at::Tensor generator_state() {
  auto g = generator();
  const std::lock_guard<std::mutex> lock(g.mutex());
  return g.get_state();
}

void set_generator_state(const at::Tensor& state) {
  auto g = generator();
  const std::lock_guard<std::mutex> lock(g.mutex());
  g.set_state(state);
}

torch::serialize::InputArchive archive_in(const Envelope& envelope) {
  torch::serialize::InputArchive archive;
  archive.load_from(reinterpret_cast<const char*>(envelope.payload.data()), envelope.payload.size());
  return archive;
}

// libtorch replaces a tensor by one of any shape, so the shapes are compared here.
void load_module(torch::serialize::InputArchive& archive, torch::nn::Module& module) {
  const auto shapes = [&] {
    std::vector<std::pair<std::string, std::vector<std::int64_t>>> list;
    for (const auto& item : module.named_parameters())
      list.emplace_back(item.key(), item.value().sizes().vec());
    for (const auto& item : module.named_buffers()) list.emplace_back(item.key(), item.value().sizes().vec());
    return list;
  };
  const auto expected = shapes();
  torch::serialize::InputArchive weights;
  archive.read("model", weights);
  module.load(weights);
  const auto found = shapes();
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (found[i] != expected[i])
      throw Error("the checkpoint is of another network: " + expected[i].first + " has another shape there.");
}

// libtorch's own messages are pages long.
template <class Do>
Position checked(std::span<const std::byte> file, const Do& load) {
  const auto envelope = open_envelope(file);
  const auto position = from_meta(envelope.meta);
  try {
    auto archive = archive_in(envelope);
    load(archive);
  } catch (const c10::Error& error) {
    throw Error("the checkpoint does not fit the run's recipe: " +
                std::string(error.what_without_backtrace()));
  }
  return position;
}

}  // namespace

std::vector<std::byte> make_checkpoint(const Position& position, const torch::nn::Module& module,
                                       const Stepper& stepper) {
  torch::serialize::OutputArchive archive;
  torch::serialize::OutputArchive weights;
  torch::serialize::OutputArchive optimizer;
  module.save(weights);
  stepper.save(optimizer);
  archive.write("model", weights);
  archive.write("optimizer", optimizer);
  archive.write("generator", generator_state());
  std::vector<std::byte> payload;
  archive.save_to([&](const void* data, std::size_t size) {
    const auto* const bytes = static_cast<const std::byte*>(data);
    payload.insert(payload.end(), bytes, bytes + size);
    return size;
  });
  return seal(to_meta(position), payload);
}

Position load_checkpoint(std::span<const std::byte> file, torch::nn::Module& module, Stepper& stepper) {
  return checked(file, [&](torch::serialize::InputArchive& archive) {
    load_module(archive, module);
    torch::serialize::InputArchive optimizer;
    archive.read("optimizer", optimizer);
    stepper.load(optimizer);
    at::Tensor state;
    archive.read("generator", state);
    set_generator_state(state);
  });
}

Position load_checkpoint(std::span<const std::byte> file, torch::nn::Module& module) {
  return checked(file, [&](torch::serialize::InputArchive& archive) { load_module(archive, module); });
}

std::optional<Position> saved_position(const RunPaths& paths) {
  if (!std::filesystem::exists(paths.checkpoint())) return std::nullopt;
  try {
    const auto file = base::read_file(paths.checkpoint());
    return from_meta(open_envelope(file).meta);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace sadam::train
