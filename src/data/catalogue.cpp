#include "data/catalogue.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include <algorithm>

#include "base/text.h"
#include "base/usage_error.h"

namespace sadam::data {
namespace {

constexpr std::string_view kFolderPrefix = "folder:";

std::vector<KnownSet> make_known_sets() {
  using enum DataKind;
  const std::string cifar_authors = "the authors, https://www.cs.toronto.edu/~kriz/cifar.html";
  // Classes, pixels, training and test images, whether all classes have as many.
  return {
      {"cifar10", cifar, 10, 32, 50000, 10000, true,
       CatalogueEntry{.name = "cifar10",
                      .title = "CIFAR-10, 10 classes, 32 pixels",
                      .url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                      .bytes = 170052171,
                      .checksum = {Hash::md5, "c32a1d4ab5d03f1284b67883e8d87530", cifar_authors},
                      .place = "cifar-10-batches-bin"}},
      {"cifar100", cifar, 100, 32, 50000, 10000, true,
       CatalogueEntry{.name = "cifar100",
                      .title = "CIFAR-100, 100 classes, 32 pixels",
                      .url = "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                      .bytes = 168513733,
                      .checksum = {Hash::md5, "03b5dce01913d631647c71ecec9e9cb8", cifar_authors},
                      .place = "cifar-100-binary"}},
      // Stanford publishes no checksum. Avalanche and many other loaders check this one.
      {"tinyimagenet", tiny_imagenet, 200, 64, 100000, 10000, true,
       CatalogueEntry{.name = "tinyimagenet",
                      .title = "TinyImageNet-200, 200 classes, 64 pixels",
                      .url = "https://cs231n.stanford.edu/tiny-imagenet-200.zip",
                      .bytes = 248100043,
                      .checksum = {Hash::md5, "90528d7ca1a48142e341f4ef8d21d0de",
                                   "ContinualAI's Avalanche (benchmarks/datasets/tiny_imagenet)"},
                      .place = "tiny-imagenet-200"}},
      // fastai publishes the size, and an MD5 of the first MiB alone, which would not see damage after it;
      // FastAI.jl has a digest of the whole.
      {"imagewoof", class_folders, 10, 160, 9025, 3929, false,
       CatalogueEntry{
           .name = "imagewoof",
           .title = "Imagewoof2-160, breeds of dogs, 10 classes, 160 pixels",
           .url = "https://s3.amazonaws.com/fast-ai-imageclas/imagewoof2-160.tgz",
           .bytes = 92612825,
           .checksum = {Hash::sha256, "663c22f69c2802d85e2a67103c017e047096702ffddf9149a14011b7002539bf",
                        "FluxML's FastAI.jl (src/datasets)"},
           .place = "imagewoof2-160"}},
      {"synthetic10", synthetic, 10, 32, 50000, 10000, true},
      {"synthetic100", synthetic, 100, 32, 50000, 10000, true},
  };
}

// torchvision publishes the first eight digits, as part of the name. The other digits are those that many
// projects record for this file.
CatalogueEntry resnet18_weights() {
  return {.name = "resnet18",
          .title = "weights of torchvision's ResNet-18, trained on ImageNet",
          .url = "https://download.pytorch.org/models/resnet18-f37072fd.pth",
          .bytes = 46830571,
          .checksum = {Hash::sha256, "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec",
                       "torchvision, in the name of the file (the first eight digits)"},
          .archive = false,
          .place = "resnet18-f37072fd.pth"};
}

template <class Entries>
std::vector<std::string> names_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return names;
}

}  // namespace

std::string_view to_string(Hash hash) { return hash == Hash::md5 ? "MD5" : "SHA-256"; }

std::string CatalogueEntry::file_name() const { return url.substr(url.rfind('/') + 1); }

const std::vector<KnownSet>& known_sets() {
  static const auto sets = make_known_sets();
  return sets;
}

const KnownSet& known_set(const std::string& name) {
  const auto found = std::ranges::find(known_sets(), name, &KnownSet::name);
  if (found != known_sets().end()) return *found;
  auto names = names_of(known_sets());
  names.push_back(fmt::format("{}PATH", kFolderPrefix));
  throw UsageError(fmt::format("there is no data set '{}'{}", name, base::suggestion(name, names)));
}

std::optional<std::filesystem::path> path_in_name(const std::string& name) {
  if (!name.starts_with(kFolderPrefix)) return std::nullopt;
  const auto path = name.substr(kFolderPrefix.size());
  if (path.empty()) throw UsageError("the data set 'folder:' lacks its path: write folder:PATH.");
  return path;
}

std::size_t pixels_of(const std::string& name) {
  constexpr std::size_t kFolderPixels = 224;
  return path_in_name(name) ? kFolderPixels : known_set(name).pixels;
}

std::filesystem::path known_folder(const KnownSet& set, const std::filesystem::path& root) {
  auto folder = set.source.value().path_below(root);
  std::error_code failure;
  if (!std::filesystem::is_directory(folder, failure))
    throw Error(
        fmt::format("there is no folder {}: `sadam data fetch {}` downloads it, or give the folder above it "
                    "as data.root.",
                    folder.string(), set.name));
  return folder;
}

const std::vector<CatalogueEntry>& catalogue() {
  static const auto entries = [] {
    std::vector<CatalogueEntry> list;
    for (const auto& set : known_sets())
      if (set.source) list.push_back(*set.source);
    list.push_back(resnet18_weights());
    return list;
  }();
  return entries;
}

const CatalogueEntry& catalogue_entry(std::string_view name) {
  const auto found = std::ranges::find(catalogue(), name, &CatalogueEntry::name);
  if (found != catalogue().end()) return *found;
  throw UsageError(fmt::format("there is nothing called '{}' to fetch{}", name,
                               base::suggestion(name, names_of(catalogue()))));
}

}  // namespace sadam::data
