#include "data/fetch/catalogue.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "base/usage_error.h"

namespace sadam::data {
namespace {

std::vector<CatalogueEntry> make_catalogue() {
  std::vector<CatalogueEntry> entries;
  // The page of the data sets lists the MD5 of every version.
  entries.push_back({.name = "cifar10",
                     .title = "CIFAR-10, 10 classes, 32 pixels",
                     .url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                     .bytes = 170052171,
                     .checksum = {Hash::md5, "c32a1d4ab5d03f1284b67883e8d87530",
                                  "the authors, https://www.cs.toronto.edu/~kriz/cifar.html"},
                     .place = "cifar-10-batches-bin"});
  entries.push_back({.name = "cifar100",
                     .title = "CIFAR-100, 100 classes, 32 pixels",
                     .url = "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                     .bytes = 168513733,
                     .checksum = {Hash::md5, "03b5dce01913d631647c71ecec9e9cb8",
                                  "the authors, https://www.cs.toronto.edu/~kriz/cifar.html"},
                     .place = "cifar-100-binary"});
  // Stanford publishes none. Avalanche and many other loaders check this one.
  entries.push_back({.name = "tinyimagenet",
                     .title = "TinyImageNet-200, 200 classes, 64 pixels",
                     .url = "https://cs231n.stanford.edu/tiny-imagenet-200.zip",
                     .bytes = 248100043,
                     .checksum = {Hash::md5, "90528d7ca1a48142e341f4ef8d21d0de",
                                  "ContinualAI's Avalanche (benchmarks/datasets/tiny_imagenet)"},
                     .place = "tiny-imagenet-200"});
  // fastai publishes the size, and an MD5 of the first MiB alone, which would not see damage after it;
  // FastAI.jl has a digest of the whole.
  entries.push_back(
      {.name = "imagewoof",
       .title = "Imagewoof2-160, 10 breeds of dogs, 160 pixels",
       .url = "https://s3.amazonaws.com/fast-ai-imageclas/imagewoof2-160.tgz",
       .bytes = 92612825,
       .checksum = {Hash::sha256, "663c22f69c2802d85e2a67103c017e047096702ffddf9149a14011b7002539bf",
                    "FluxML's FastAI.jl (src/datasets)"},
       .place = "imagewoof2-160"});
  // torchvision publishes the first eight digits, as part of the name. The other digits are those that many
  // projects record for this file.
  entries.push_back(
      {.name = "resnet18",
       .title = "weights of torchvision's ResNet-18, trained on ImageNet",
       .url = "https://download.pytorch.org/models/resnet18-f37072fd.pth",
       .bytes = 46830571,
       .checksum = {Hash::sha256, "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec",
                    "torchvision, in the name of the file (the first eight digits)"},
       .archive = false,
       .place = "resnet18-f37072fd.pth"});
  return entries;
}

}  // namespace

std::string CatalogueEntry::file_name() const { return url.substr(url.rfind('/') + 1); }

const std::vector<CatalogueEntry>& catalogue() {
  static const std::vector<CatalogueEntry> entries = make_catalogue();
  return entries;
}

const CatalogueEntry& catalogue_entry(std::string_view name) {
  const auto& entries = catalogue();
  const auto found = std::ranges::find(entries, name, &CatalogueEntry::name);
  if (found != entries.end()) return *found;
  std::vector<std::string> names;
  std::ranges::transform(entries, std::back_inserter(names), &CatalogueEntry::name);
  throw UsageError("there is nothing called '" + std::string(name) + "' to fetch" +
                   base::suggestion(name, names));
}

std::string_view to_string(Hash hash) { return hash == Hash::md5 ? "MD5" : "SHA-256"; }

}  // namespace sadam::data
