// What takes the steps of a GraphedStep.
#pragma once

#include <sadam/graphed_step.h>

#include <optional>

namespace sadam {

/// What a GraphedStep was given.
struct GraphRequest {
  std::shared_ptr<torch::nn::Module> module;
  Optimizer* optimizer = nullptr;
  GraphedStep::Loss loss;
  GraphOptions options;
  GraphedStep::Prepare prepare;

  GraphedStep::Inputs prepared(const GraphedStep::Inputs& inputs) const {
    return prepare ? prepare(inputs) : inputs;
  }
};

/// Takes steps eagerly.
class GraphedStep::Engine {
 public:
  explicit Engine(GraphRequest request);
  virtual ~Engine() = default;

  /// Whether the model is still on the device that this was made for.
  bool is_at_home() const;
  const GraphRequest& request() const { return request_; }

  torch::Tensor checked_step(const Inputs& inputs, std::optional<double> brake);
  virtual torch::Tensor step(const Inputs& inputs, std::optional<double> brake) {
    return eager_step(inputs, brake);
  }

  bool captured = false;
  std::string why_not = "the parameters are on the CPU";
  std::int64_t streams = 0;

 protected:
  torch::Tensor eager_step(const Inputs& inputs, std::optional<double> brake);

  GraphRequest request_;
  at::Device device_;  ///< of the optimizer's parameters

 private:
  bool protects_buffers_ = false;
};

namespace optim {

/// The engine for parameters on a GPU. Throws `sadam::Error` in a build without CUDA.
std::unique_ptr<GraphedStep::Engine> make_graph_engine(GraphRequest request);

}  // namespace optim
}  // namespace sadam
