#include "train/checkpoint.h"

#include <ATen/Context.h>
#include <fmt/format.h>
#include <sadam/error.h>
#include <torch/nn/module.h>
#include <torch/serialize/archive.h>

#include <mutex>
#include <string>
#include <utility>

#include "train/training.h"

namespace sadam::train {
namespace {

at::Device device_of(const torch::nn::Module& module) {
  const auto parameters = module.parameters();
  return parameters.empty() ? at::Device(at::kCPU) : parameters.front().device();
}

at::Generator generator_of(at::Device device) { return at::globalContext().defaultGenerator(device); }

at::Tensor generator_state(at::Device device) {
  auto g = generator_of(device);
  const std::lock_guard<std::mutex> lock(g.mutex());
  return g.get_state();
}

void set_generator_state(at::Device device, const at::Tensor& state) {
  auto g = generator_of(device);
  const std::lock_guard<std::mutex> lock(g.mutex());
  g.set_state(state);
}

[[noreturn]] void refuse_other(const std::string& what) {
  throw Error(
      fmt::format("the checkpoint is of another {}: use it with the one that it was made with.", what));
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
  try {
    torch::serialize::InputArchive weights;
    archive.read("model", weights);
    module.load(weights);
  } catch (const c10::OutOfMemoryError&) {
    throw;  // says nothing about the checkpoint
  } catch (const c10::Error&) {
    refuse_other("network");
  }
  const auto found = shapes();
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (found[i] != expected[i])
      refuse_other(fmt::format("network ({} has another shape there)", expected[i].first));
}

// Without a training: the weights alone.
Position load(std::span<const std::byte> file, torch::nn::Module& module, Training* training) {
  const auto device = device_of(module);
  const auto envelope = open_envelope(file);
  const auto position = from_meta(envelope.meta);
  try {
    // Whatever device it was saved on, it is read to the module's.
    torch::serialize::InputArchive archive;
    archive.load_from(reinterpret_cast<const char*>(envelope.payload.data()), envelope.payload.size(),
                      device);
    load_module(archive, module);
    torch::serialize::InputArchive optimizer;
    archive.read("optimizer", optimizer);
    if (training == nullptr) {
      load_average(optimizer, module);
      return position;
    }
    training->load(optimizer);
    at::Tensor state;
    archive.read("generator", state);
    set_generator_state(at::kCPU, state.cpu());
    if (device.is_cpu()) return position;
    archive.read("device_generator", state);
    set_generator_state(device, state.cpu());
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::Error&) {  // whose messages are pages long, and speak of archives and keys
    refuse_other("optimizer");
  }
  return position;
}

}  // namespace

std::vector<std::byte> make_checkpoint(const Position& position, const torch::nn::Module& module,
                                       const Training& training) {
  torch::serialize::OutputArchive archive;
  torch::serialize::OutputArchive weights;
  torch::serialize::OutputArchive optimizer;
  module.save(weights);
  training.save(optimizer);
  archive.write("model", weights);
  archive.write("optimizer", optimizer);
  archive.write("generator", generator_state(at::kCPU));
  const auto device = device_of(module);
  if (!device.is_cpu()) archive.write("device_generator", generator_state(device));
  std::vector<std::byte> payload;
  archive.save_to([&](const void* data, std::size_t size) {
    const auto* const bytes = static_cast<const std::byte*>(data);
    payload.insert(payload.end(), bytes, bytes + size);
    return size;
  });
  return seal(to_meta(position), payload);
}

Position load_checkpoint(std::span<const std::byte> file, torch::nn::Module& module, Training& training) {
  return load(file, module, &training);
}

Position load_checkpoint(std::span<const std::byte> file, torch::nn::Module& module) {
  return load(file, module, nullptr);
}

}  // namespace sadam::train
