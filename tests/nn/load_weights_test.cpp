#include "nn/load_weights.h"

#include <cstring>
#include <limits>

#include "nn/resnet18.h"
#include "nn/weights/pth_builder.h"
#include "nn/weights/tensor_file.h"
#include "support/find_tensor.h"
#include "support/models.h"

namespace sadam::nn {
namespace {

using namespace sadam::testing;
using weights::DType;
using weights::TensorFile;
namespace built = weights::testing;

/// A convolution, a batch norm and a last layer: every kind of name there is.
struct SmallNetImpl : torch::nn::Module {
  explicit SmallNetImpl(std::int64_t classes = 3) {
    conv = register_module("conv", torch::nn::Conv2d(1, 2, 2));
    norm = register_module("norm", torch::nn::BatchNorm2d(2));
    fc = register_module("fc", torch::nn::Linear(2, classes));
    const torch::NoGradGuard no_graph;
    norm->running_mean.normal_();
    norm->running_var.uniform_(1, 2);
    norm->num_batches_tracked.fill_(7);
  }
  std::vector<torch::Tensor> state() const {
    auto all = parameters();
    for (const auto& buffer : buffers()) all.push_back(buffer);
    return all;
  }
  torch::nn::Conv2d conv{nullptr};
  torch::nn::BatchNorm2d norm{nullptr};
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(SmallNet);

/// Tensors and the bytes they point into.
class FileInMemory {
 public:
  template <class Element>
  FileInMemory& add(const std::string& name, DType dtype, std::vector<std::int64_t> shape,
                    const std::vector<Element>& elements) {
    const auto bytes = std::as_bytes(std::span(elements));
    file.owned.push_back(std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end()));
    file.tensors.push_back({name, dtype, std::move(shape), *file.owned.back()});
    return *this;
  }
  FileInMemory& ones(const std::string& name, const std::vector<std::int64_t>& shape) {
    std::int64_t count = 1;
    for (const auto size : shape) count *= size;
    return add(name, DType::float32, shape, std::vector<float>(static_cast<std::size_t>(count), 1.0F));
  }
  FileInMemory& without(const std::string& name) {
    std::erase_if(file.tensors, [&](const auto& tensor) { return tensor.name == name; });
    return *this;
  }
  TensorFile file;
};

/// All ones, and everything there.
FileInMemory whole_file(std::int64_t classes = 3) {
  FileInMemory result;
  result.ones("conv.weight", {2, 1, 2, 2}).ones("conv.bias", {2});
  for (const std::string field : {"weight", "bias", "running_mean", "running_var"}) {
    result.ones("norm." + field, {2});
  }
  result.add("norm.num_batches_tracked", DType::int64, {}, std::vector<std::int64_t>{41});
  result.ones("fc.weight", {classes, 2}).ones("fc.bias", {classes});
  return result;
}

using Names = std::vector<std::string>;

TEST(LoadWeights, FillsEveryParameterAndBuffer) {
  SmallNet net;
  EXPECT_EQ(Names{}, load_weights(*net, whole_file().file));
  for (const auto& parameter : net->parameters()) EXPECT_TRUE(parameter.eq(1).all().item<bool>());
  EXPECT_TRUE(net->norm->running_mean.eq(1).all().item<bool>());
  EXPECT_TRUE(net->norm->running_var.eq(1).all().item<bool>());
  EXPECT_EQ(41, net->norm->num_batches_tracked.item<std::int64_t>());
}

TEST(LoadWeights, LeavesParametersTrainableAndInPlace) {
  SmallNet net;
  const auto handle = net->conv->weight;
  load_weights(*net, whole_file().file);
  EXPECT_TRUE(handle.is_same(net->conv->weight));
  EXPECT_TRUE(net->conv->weight.requires_grad());
  EXPECT_TRUE(net->conv->weight.is_leaf());
  EXPECT_TRUE(handle.eq(1).all().item<bool>());
}

TEST(LoadWeights, ConvertsEveryFloatingTypeToThatOfTheModel) {
  const std::vector<std::uint16_t> halves = {0x3800, 0xc100};  // 0.5, −2.5
  const std::vector<std::uint16_t> brains = {0x3f00, 0xc020};  // the same
  const std::vector<double> doubles = {0.5, -2.5};
  const std::vector<float> floats = {0.5F, -2.5F};
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    const auto loaded = [&](DType dtype, const auto& elements) {
      SmallNet net;
      net->to(type);
      load_weights(*net, whole_file().without("conv.bias").add("conv.bias", dtype, {2}, elements).file);
      EXPECT_EQ(type, net->conv->bias.scalar_type());
      return net->conv->bias.detach();
    };
    const auto expected = torch::tensor({0.5, -2.5}, type);
    EXPECT_TRUE(torch::equal(expected, loaded(DType::float16, halves)));
    EXPECT_TRUE(torch::equal(expected, loaded(DType::bfloat16, brains)));
    EXPECT_TRUE(torch::equal(expected, loaded(DType::float32, floats)));
    EXPECT_TRUE(torch::equal(expected, loaded(DType::float64, doubles)));
  }
}

TEST(LoadWeights, Float64IntoFloat64LosesNothing) {
  SmallNet net;
  net->to(torch::kDouble);
  const std::vector<double> fine = {0.1, 1 + std::numeric_limits<double>::epsilon()};
  load_weights(*net, whole_file().without("conv.bias").add("conv.bias", DType::float64, {2}, fine).file);
  EXPECT_EQ(fine[0], net->conv->bias[0].item<double>());
  EXPECT_EQ(fine[1], net->conv->bias[1].item<double>());
}

TEST(LoadWeights, BatchCountsMayHaveAnyType) {
  SmallNet net;
  const auto load = [&](DType dtype, const auto& elements) {
    auto file = whole_file();
    load_weights(
        *net,
        file.without("norm.num_batches_tracked").add("norm.num_batches_tracked", dtype, {}, elements).file);
    return net->norm->num_batches_tracked.item<std::int64_t>();
  };
  EXPECT_EQ(-3, load(DType::int8, std::vector<std::int8_t>{-3}));
  EXPECT_EQ(200, load(DType::uint8, std::vector<std::uint8_t>{200}));
  EXPECT_EQ(-300, load(DType::int16, std::vector<std::int16_t>{-300}));
  EXPECT_EQ(70000, load(DType::int32, std::vector<std::int32_t>{70000}));
  EXPECT_EQ(1, load(DType::boolean, std::vector<std::uint8_t>{2}));
  EXPECT_EQ(12, load(DType::float32, std::vector<float>{12}));
}

TEST(LoadWeights, OldFilesWithoutBatchCountsFit) {
  SmallNet net;
  const auto file = whole_file().without("norm.num_batches_tracked");
  EXPECT_EQ(Names{"norm.num_batches_tracked"}, load_weights(*net, file.file));
  EXPECT_EQ(7, net->norm->num_batches_tracked.item<std::int64_t>());
}

TEST(LoadWeights, SaysWhatIsMissingUnexpectedAndMisShaped) {
  SmallNet net;
  auto file = whole_file(1000).without("conv.bias").without("norm.running_var");
  file.ones("conv.biases", {2}).ones("extra", {});
  file.without("norm.bias").add("norm.bias", DType::int64, {2}, std::vector<std::int64_t>{1, 2});
  file.without("norm.weight").ones("norm.weight", {});
  expect_refused([&] { load_weights(*net, file.file); },
                 {"2 missing (conv.bias, norm.running_var)", "2 unexpected ('conv.biases', 'extra')",
                  "4 mis-shaped (norm.weight: file scalar, model 2, norm.bias: file int64, model float32, "
                  "fc.weight: file 1000×2, model 3×2, fc.bias: file 1000, model 3)"});
}

TEST(LoadWeights, RefusesAFileThatDoesNotFitAndLeavesTheModelUntouched) {
  SmallNet net;
  const auto before = copies(net->state());
  const auto refuse = [&](const FileInMemory& file, const Names& parts) {
    expect_refused([&] { load_weights(*net, file.file, {.source = "some.pth"}); }, parts);
    expect_same_bits(before, net->state());
  };
  refuse(whole_file().without("fc.bias"), {"some.pth does not fit", "1 missing (fc.bias)"});
  refuse(whole_file().ones("new\nname", {2}), {"1 unexpected ('new\\x0aname')"});
  refuse(whole_file(5), {"2 mis-shaped (fc.weight: file 5×2, model 3×2, fc.bias: file 5, model 3)"});
  refuse(FileInMemory(), {"8 missing (conv.weight, "});
}

TEST(LoadWeights, AnErrorListsTenNamesOfAKindAndCountsAll) {
  SmallNet net;
  auto file = whole_file();
  for (int i = 0; i < 12; ++i) file.ones("extra" + std::to_string(i), {1});
  const auto sentence = sentence_of([&] { load_weights(*net, file.file); });
  EXPECT_NE(std::string::npos, sentence.find("12 unexpected ('extra0', ")) << sentence;
  EXPECT_NE(std::string::npos, sentence.find("'extra9', …)")) << sentence;
  EXPECT_EQ(std::string::npos, sentence.find("extra10")) << sentence;
}

TEST(LoadWeights, ALastLayerThatDiffersIsKeptWhereThatIsAllowed) {
  const LoadOptions replacing{.replace_last_layer = true};
  const Names last = {"fc.weight", "fc.bias"};
  for (const auto& file :
       {whole_file(5), whole_file().without("fc.bias"), whole_file().without("fc.weight").without("fc.bias"),
        whole_file().ones("fc.1", {1})}) {
    SmallNet net;
    const auto before = copies(net->fc->parameters());
    EXPECT_EQ(last, load_weights(*net, file.file, replacing));
    expect_same_bits(before, net->fc->parameters());
    EXPECT_TRUE(net->conv->weight.eq(1).all().item<bool>());
  }
}

TEST(LoadWeights, ALastLayerThatFitsIsLoadedAlsoWhereItMayBeReplaced) {
  SmallNet net;
  EXPECT_EQ(Names{}, load_weights(*net, whole_file().file, {.replace_last_layer = true}));
  EXPECT_TRUE(net->fc->weight.eq(1).all().item<bool>());
}

TEST(LoadWeights, ReplacingTheLastLayerForgivesNothingElse) {
  SmallNet net;
  const auto before = copies(net->state());
  auto file = whole_file(5).without("conv.bias");
  const auto sentence = sentence_of([&] { load_weights(*net, file.file, {.replace_last_layer = true}); });
  EXPECT_NE(std::string::npos, sentence.find("1 missing (conv.bias)")) << sentence;
  EXPECT_EQ(std::string::npos, sentence.find("fc.")) << sentence;
  expect_same_bits(before, net->state());
}

TEST(ExportSafetensors, CanBeLoadedBack) {
  SmallNet net;
  const auto bytes = export_safetensors(*net, {{"model", "small"}});
  const auto file = weights::read_safetensors(bytes);
  EXPECT_EQ("small", file.metadata.at("model"));
  SmallNet other;
  EXPECT_EQ(Names{}, load_weights(*other, file));
  expect_same_bits(net->state(), other->state());
}

TEST(ExportSafetensors, HoldsFloat32AndCountsWhateverTheModelHas) {
  SmallNet net;
  const auto expected = net->fc->weight.detach().clone();
  net->to(torch::kDouble);
  // Column by column in memory; the file has rows.
  net->fc->weight.set_data(net->fc->weight.t().contiguous().t());
  const auto bytes = export_safetensors(*net);
  const auto file = weights::read_safetensors(bytes);
  ASSERT_EQ(9U, file.tensors.size());
  for (const auto& tensor : file.tensors) {
    EXPECT_EQ(tensor.name == "norm.num_batches_tracked" ? DType::int64 : DType::float32, tensor.dtype)
        << tensor.name;
  }
  const auto* weight = weights::find(file, "fc.weight");
  ASSERT_NE(nullptr, weight);
  EXPECT_EQ(expected.sizes().vec(), weight->shape);
  EXPECT_EQ(0, std::memcmp(expected.data_ptr(), weight->bytes.data(), weight->bytes.size()));
}

/// A state dict of ResNet-18 for 1000 classes as torchvision saves it. All tensors are parts of one storage,
/// which keeps the file small: tensor t begins at element t.
std::string resnet_pth(bool legacy) {
  ResNet18 torchvision;
  auto state = torchvision->named_parameters();
  state.update(torchvision->named_buffers());
  constexpr std::int64_t kLongest = 512 * 512 * 9;
  std::vector<float> values;
  for (std::int64_t i = 0; i < kLongest + 200; ++i) values.push_back(static_cast<float>(i % 1021));
  const built::BuiltStorage weights{"0", "FloatStorage", kLongest + 200, built::elements(values)};
  const built::BuiltStorage counts{"1", "LongStorage", 1, built::elements(std::vector<std::int64_t>{9})};
  std::vector<built::BuiltTensor> tensors;
  for (const auto& entry : state) {
    const bool real = entry.value().is_floating_point();
    tensors.push_back({entry.key(),
                       {real ? "0" : "1", real ? "FloatStorage" : "LongStorage", real ? weights.count : 1},
                       entry.value().sizes().vec(),
                       entry.value().strides().vec(),
                       real ? static_cast<std::int64_t>(tensors.size()) : 0});
  }
  const auto pickled = built::pickled_state(tensors, legacy);
  return legacy ? built::legacy_pth(pickled, {weights, counts}) : built::zip_pth(pickled, {weights, counts});
}

TEST(LoadWeights, PthFilesOfTorchvisionFitResNet18WithAnotherLastLayer) {
  ResNet18 net(ResNet18Options{.classes = 10});
  const auto names = net->named_parameters().keys();
  const auto fc_before = net->named_parameters()["fc.weight"].detach().clone();
#ifdef SADAM_HAVE_ARCHIVE
  const std::vector<bool> layouts = {false, true};
#else
  const std::vector<bool> layouts = {true};
#endif
  for (const bool legacy : layouts) {
    SCOPED_TRACE(legacy ? "legacy" : "zip");
    const auto text = resnet_pth(legacy);
    const auto file = weights::read_pth(built::bytes_of(text));
    expect_refused([&] { load_weights(*net, file); }, {"fc.weight: file 1000×512, model 10×512"});
    EXPECT_EQ((Names{"fc.weight", "fc.bias"}), load_weights(*net, file, {.replace_last_layer = true}));
    const auto parameters = net->named_parameters();
    for (std::size_t t = 0; t < names.size(); ++t) {
      if (names[t].starts_with("fc.")) continue;
      const auto values = parameters[names[t]].detach().flatten();
      const auto expected =
          torch::arange(static_cast<std::int64_t>(t), static_cast<std::int64_t>(t) + values.numel())
              .remainder(1021)
              .to(torch::kFloat);
      EXPECT_TRUE(torch::equal(expected, values)) << names[t];
    }
    EXPECT_EQ(9, net->named_buffers()["bn1.num_batches_tracked"].item<std::int64_t>());
    EXPECT_TRUE(torch::equal(fc_before, parameters["fc.weight"]));
    for (const auto& parameter : net->parameters()) {
      const torch::NoGradGuard no_graph;
      if (!parameter.is_same(parameters["fc.weight"])) parameter.zero_();
    }
  }
}

}  // namespace
}  // namespace sadam::nn
