#include "step/generators.h"

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/record_function.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "step/precision.h"

namespace sadam::step {

GeneratorAccess default_generator(at::Device device) {
  auto generator = at::globalContext().defaultGenerator(device);
  return {device.type(),
          [generator]() mutable {
            const std::lock_guard<std::mutex> lock(generator.mutex());
            return generator.get_state();
          },
          [generator](const at::Tensor& position) mutable {
            const std::lock_guard<std::mutex> lock(generator.mutex());
            generator.set_state(position);
          }};
}

// ---- who draws --------------------------------------------------------------------------------------------

struct DrawWatch::Drawn {
  std::thread::id thread = std::this_thread::get_id();
  std::set<c10::DeviceType> on;
  bool tells_devices_apart = true;
  bool autocast = false;
  at::CallbackHandle handle = 0;
};

namespace {

// Weak: a watch may be ended by another thread than it was begun on.
thread_local std::vector<std::weak_ptr<DrawWatch::Drawn>> watches;

// Takes a generator, or is known to draw from one of its own accord, as dropout on a GPU.
bool draws(const c10::OperatorName& name) {
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  // One that is made of others (dropout, which draws only in training) calls those that draw.
  if (!handle || handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) return false;
  const auto& arguments = handle->schema().arguments();
  return handle->hasTag(at::Tag::nondeterministic_seeded) ||
         std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
           return argument.type()->str().find("Generator") != std::string::npos;
         });
}

// Of several operators of one name those that matter draw, or call one that does.
bool draws(const at::RecordFunction& function) {
  thread_local std::unordered_map<std::string_view, bool> known;  // torch keeps the names of its operators
  const auto found = known.find(function.name());
  if (found != known.end()) return found->second;
  const auto name = function.operator_name();
  return name && (known[function.name()] = draws(*name));
}

c10::DeviceType device_of(const at::RecordFunction& function) {
  for (const auto& input : function.inputs())
    if (input.isTensor() && input.toTensor().defined()) return input.toTensor().device().type();
  return c10::DeviceType::CPU;
}

std::unique_ptr<at::ObserverContext> before_operator(const at::RecordFunction& function) {
  if (autocasts_now())
    for (const auto& watch : watches)
      if (const auto drawn = watch.lock()) drawn->autocast = true;
  if (!draws(function)) return nullptr;
  const auto device = device_of(function);
  for (const auto& watch : watches)
    if (const auto drawn = watch.lock()) drawn->on.insert(device);
  return nullptr;
}

}  // namespace

DrawWatch::DrawWatch(bool tells_devices_apart) : drawn_(std::make_shared<Drawn>()) {
  drawn_->tells_devices_apart = tells_devices_apart;
  drawn_->handle = at::addThreadLocalCallback(at::RecordFunctionCallback(&before_operator)
                                                  .needsInputs(tells_devices_apart)
                                                  .scopes({at::RecordScope::FUNCTION}));
  watches.push_back(drawn_);
}

DrawWatch::~DrawWatch() {
  if (drawn_->thread != std::this_thread::get_id()) return;  // it sees an end to its watch, and no more
  at::removeCallback(drawn_->handle);
  drawn_.reset();
  watches.erase(std::remove_if(watches.begin(), watches.end(), [](const auto& w) { return w.expired(); }),
                watches.end());
}

bool DrawWatch::drew_on(c10::DeviceType device) const {
  return drawn_->tells_devices_apart ? drawn_->on.count(device) > 0 : !drawn_->on.empty();
}

bool DrawWatch::saw_autocast() const { return drawn_->autocast; }

// ---- where they stand -------------------------------------------------------------------------------------

namespace {

bool is_same_position(const at::Tensor& a, const at::Tensor& b) {
  return a.nbytes() == b.nbytes() && std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

}  // namespace

Draws::Draws(std::vector<GeneratorAccess> generators) {
  for (auto& access : generators) {
    auto before = access.position();
    generators_.push_back({std::move(access), std::move(before), false, {}, {}});
  }
}

void Draws::end_base(bool just_now) {
  if (!watch_) return;
  for (auto& generator : generators_) {
    generator.drew = watch_->drew_on(generator.access.device);
    if (generator.drew && just_now) generator.after_base = generator.access.position();
  }
  saw_autocast_ = watch_->saw_autocast();
  watch_.reset();
}

void Draws::rest_here() {
  for (auto& generator : generators_)
    if (generator.drew) generator.rest = generator.access.position();
}

void Draws::rest_at_start() {
  for (auto& generator : generators_)
    if (generator.drew) generator.rest = generator.before;
}

void Draws::replay() const {
  for (const auto& generator : generators_)
    if (generator.drew) generator.access.set(generator.before);
}

void Draws::check_replay() const {
  for (auto& generator : generators_) {
    if (!generator.drew) continue;
    const auto position = generator.access.position();
    if (!generator.after_base.defined()) generator.after_base = position;
    if (!is_same_position(position, generator.after_base)) {
      TORCH_WARN_ONCE(
          "sadam: a probe drew other random numbers than the base evaluation, so the two are not one "
          "function: "
          "let no other thread draw from torch's default generator during a step (give data loaders "
          "generators of their own), and let the loss draw the same each time.");
    }
  }
}

void Draws::after_probes() const {
  for (const auto& generator : generators_)
    if (generator.rest.defined()) generator.access.set(generator.rest);
}

void Draws::restore() const {
  for (const auto& generator : generators_)
    if (!is_watched_ || generator.drew || (watch_ && watch_->drew_on(generator.access.device)))
      generator.access.set(generator.before);
}

}  // namespace sadam::step
