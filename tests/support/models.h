// Small models and comparisons that several tests share.
#pragma once

#include <gtest/gtest.h>
#include <sadam/sadam.h>
#include <torch/torch.h>

#include <cstring>
#include <string>
#include <vector>

namespace sadam::testing {

inline std::vector<torch::Tensor> copies(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> result;
  for (const auto& tensor : tensors) result.push_back(tensor.detach().clone());
  return result;
}

/// Bit for bit, NaN included.
inline void expect_same_bits(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = a[i].detach().contiguous();
    const auto y = b[i].detach().contiguous();
    ASSERT_EQ(x.sizes(), y.sizes());
    ASSERT_EQ(x.scalar_type(), y.scalar_type());
    if (x.numel() == 0) continue;
    EXPECT_EQ(0, std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes())) << "tensor " << i << " differs";
  }
}

inline torch::Tensor generator_state() { return at::detail::getDefaultCPUGenerator().get_state(); }

/// Dropout and batch norm, the two things that make a forward pass leave traces.
struct NoisyNetImpl : torch::nn::Module {
  NoisyNetImpl() {
    first = register_module("first", torch::nn::Linear(6, 8));
    norm = register_module("norm", torch::nn::BatchNorm1d(8));
    dropout = register_module("dropout", torch::nn::Dropout(0.5));
    last = register_module("last", torch::nn::Linear(8, 3));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto h = dropout(torch::relu(norm(first(x))));
    masks.push_back(h.detach().eq(0));
    return last(h);
  }
  torch::nn::Linear first{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::Dropout dropout{nullptr};
  torch::nn::Linear last{nullptr};
  std::vector<torch::Tensor> masks;  // what dropout and ReLU switched off, one for each forward pass
};
TORCH_MODULE(NoisyNet);

/// A fixed batch for it.
struct Batch {
  torch::Tensor inputs = torch::randn({16, 6});
  torch::Tensor targets = torch::randint(0, 3, {16}, torch::kLong);
};

inline torch::Tensor loss_of(NoisyNet& net, const Batch& batch) {
  return torch::nn::functional::cross_entropy(net->forward(batch.inputs), batch.targets);
}

/// The sentence of the sadam::Error that `f` throws; "" if it throws nothing.
template <class F>
std::string sentence_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Expects a sadam::Error of one sentence that contains all of `parts`.
template <class F>
void expect_refused(F&& f, const std::vector<std::string>& parts) {
  const auto sentence = sentence_of(f);
  ASSERT_FALSE(sentence.empty()) << "nothing was refused";
  EXPECT_EQ('.', sentence.back()) << sentence;
  EXPECT_EQ(std::string::npos, sentence.find('\n')) << sentence;
  for (const auto& part : parts) EXPECT_NE(std::string::npos, sentence.find(part)) << sentence;
}

}  // namespace sadam::testing
