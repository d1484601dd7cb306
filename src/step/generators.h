// Torch's random generators around the evaluations of a step. They belong to the whole process: they are
// touched only where this thread has drawn from them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceType.h>

#include <functional>
#include <memory>
#include <vector>

namespace sadam::step {

/// One generator: where it stands, as bytes on the host, and how to set it there.
struct GeneratorAccess {
  c10::DeviceType device;
  std::function<at::Tensor()> position;
  std::function<void(const at::Tensor&)> set;
};

/// Torch's default generator of a device.
GeneratorAccess default_generator(at::Device device);

/// While it lives, notices whether operators of this thread draw random numbers, and, if it is to tell
/// devices apart, which costs a little, on which kind; and whether any was called while torch autocasts. What
/// is drawn without an operator of torch is not seen.
class DrawWatch {
 public:
  explicit DrawWatch(bool tells_devices_apart = true);
  ~DrawWatch();
  DrawWatch(const DrawWatch&) = delete;
  DrawWatch& operator=(const DrawWatch&) = delete;

  /// On any, if it does not tell them apart.
  bool drew_on(c10::DeviceType device) const;
  bool saw_autocast() const;

  struct Drawn;

 private:
  std::shared_ptr<Drawn> drawn_;
};

/// Where the generators stand before, during and after a step.
class Draws {
 public:
  explicit Draws(std::vector<GeneratorAccess> generators);

  /// The base evaluation begins; ends. Where nothing replays it, it need not be watched.
  void begin_base(bool is_replayed = true) {
    if (is_replayed) watch_ = std::make_unique<DrawWatch>(generators_.size() > 1);
    is_watched_ = is_replayed;
  }
  /// If it has ended earlier, where that was is learnt from the first probe.
  void end_base(bool just_now = true);
  /// Whether torch autocast in it: then its loss is not what an evaluation in full precision would find.
  bool saw_autocast() const { return saw_autocast_; }
  /// What is replayed is not what was watched, but a part of it: where that ends is learnt from the first
  /// probe.
  void forget_end() {
    for (auto& generator : generators_) generator.after_base.reset();
  }
  /// Where to be after the probes: here, as the backward pass may have drawn, too; or as before all of it.
  void rest_here();
  void rest_at_start();
  /// Before a probe, and after it: it draws what the base evaluation drew. Warns if it drew something else.
  void replay() const;
  void check_replay() const;
  void after_probes() const;
  /// As before the step.
  void restore() const;

 private:
  struct Generator {
    GeneratorAccess access;
    at::Tensor before;
    bool drew = false;      ///< the base evaluation, from it
    at::Tensor after_base;  ///< where that left it
    at::Tensor rest;
  };
  mutable std::vector<Generator> generators_;  // a probe may tell where the base evaluation ended
  std::unique_ptr<DrawWatch> watch_;
  bool is_watched_ = true;
  bool saw_autocast_ = false;
};

}  // namespace sadam::step
