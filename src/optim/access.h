// What the parts of this room may do with an optimizer that its users may not.
#pragma once

#include <sadam/optimizer.h>
#include <sadam/s_adam.h>

#include <vector>

#include "before_step.h"
#include "device_work.h"

namespace sadam::optim {

struct Access {
  static at::Tensor evaluate(Optimizer& optimizer, const probe::LossClosure& closure, BeforeStep& before,
                             const char* caller) {
    return optimizer.evaluate(closure, before, caller);
  }
  /// All checks that come before a step.
  static void check(Optimizer& optimizer) {
    if (auto* const s_adam = dynamic_cast<SAdam*>(&optimizer))
      s_adam->prepare();
    else
      optimizer.check();
  }
  static void check_gradients(const Optimizer& optimizer) { optimizer.check_gradients(); }
  static void require_a_gradient(const Optimizer& optimizer, const char* caller) {
    optimizer.require_a_gradient(caller);
  }
  static const std::vector<at::Tensor>& buffers(const Optimizer& optimizer) { return optimizer.buffers_; }
  static at::Device device(const Optimizer& optimizer) { return optimizer.device(); }
  static DeviceWork& device_work(Optimizer& optimizer) { return optimizer.device_work(); }
  static std::shared_ptr<DeviceWork> shared_device_work(Optimizer& optimizer) {
    optimizer.device_work();
    return optimizer.device_work_;
  }
  static StepSummary& summary(Optimizer& optimizer) { return optimizer.summary_; }
  static Totals& totals(Optimizer& optimizer) { return optimizer.totals_; }
  static const SAdamOptions& wide(const SAdam& optimizer) { return optimizer.wide(); }
  static const std::vector<double>& last_lgi(const SAdam& optimizer) { return optimizer.last_lgi_; }
};

}  // namespace sadam::optim
