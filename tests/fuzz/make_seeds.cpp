// Writes small valid files for the fuzzers to start from: make_seeds FOLDER makes FOLDER/fuzz_NAME/*.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "fuzz/seeds.h"
#include "nn/weights/pth_builder.h"
#include "nn/weights/tensor_file.h"

namespace {

namespace fs = std::filesystem;
using namespace sadam::weights;           // NOLINT(google-build-using-namespace)
using namespace sadam::weights::testing;  // NOLINT(google-build-using-namespace): every piece of the builder

void save(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream stream(path, std::ios::binary);
  stream << content;
  if (!stream.flush()) throw std::runtime_error("cannot write " + path.string());
}

void make_safetensors(const fs::path& folder) {
  const std::string data(48, '\x3f');
  const auto all = bytes_of(data);
  const auto as_string = [](const std::vector<std::byte>& bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const std::vector<Tensor> mixed{{"conv1.weight", DType::float32, {2, 1, 2, 2}, all.first(32)},
                                  {"bn1.running_mean", DType::float16, {3}, all.first(6)},
                                  {"fc.bias", DType::bfloat16, {2}, all.first(4)},
                                  {"loss", DType::float64, {}, all.first(8)},
                                  {"bn1.num_batches_tracked", DType::int64, {}, all.first(8)},
                                  {"none", DType::boolean, {0, 3}, {}}};
  save(folder / "empty", as_string(write_safetensors({})));
  save(folder / "mixed", as_string(write_safetensors(mixed)));
  save(folder / "metadata",
       as_string(write_safetensors(std::span(mixed).first(1), {{"format", "pt"}, {"\"", "\n"}})));
}

void make_pth(const fs::path& folder) {
  const auto plain = counting(6, {2, 3}, {3, 1});
  auto transposed = counting(6, {3, 2}, {1, 3});
  transposed.name = "v";
  transposed.storage.key = "1";
  const BuiltTensor count{
      "n", {.key = "2", .storage_class = "LongStorage", .count = 1, .data = std::string(8, '\1')}, {}, {}, 0};
  for (const bool legacy : {false, true}) {
    const std::string layout = legacy ? "legacy" : "zip";
    save(folder / (layout + "-empty"), pth({}, legacy));
    save(folder / (layout + "-plain"), pth({plain}, legacy));
    save(folder / (layout + "-views"), pth({plain, transposed, count}, legacy));
  }
  // The memo, attributes, parameters and short forms that real files use.
  const auto parameter =
      call(global("torch.nn.parameter", "Parameter"), tuple({pickled_tensor(plain, true)})) + "}b";
  const auto pairs = "](]U\1wa" + parameter + "ae";
  save(folder / "legacy-old",
       legacy_pth(pickle(call(global("collections", "OrderedDict"), tuple({pairs}))), {plain.storage}));
  const auto state = "\x80\x04\x95" + std::string(8, '\0') + "}\x94\x8c\1wh" + std::string(1, '\0') +
                     "}bK\1M\1\1J\1\1\1\1G" + std::string(8, '\0') + "\x85\x86\x87)N\x88.";
  save(folder / "zip-operations", zip_pth(state));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_seeds FOLDER\n";
    return 2;
  }
  make_safetensors(fs::path(argv[1]) / "fuzz_safetensors");
  make_pth(fs::path(argv[1]) / "fuzz_pth");
  sadam::data::fuzz::make_seeds(argv[1]);
  sadam::train::fuzz::make_seeds(argv[1]);
  return 0;
}
