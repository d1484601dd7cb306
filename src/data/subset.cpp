#include "data/subset.h"

#include <algorithm>
#include <numeric>

namespace sadam::data {

std::vector<std::size_t> even_subset(std::span<const std::int64_t> labels, std::int64_t classes,
                                     std::size_t count) {
  std::vector<std::size_t> all(labels.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (count == 0 || count >= labels.size()) return all;

  // The round of an image is how many of its class come before it: taken by round, then class, the first
  // `count`.
  std::vector<std::size_t> met(static_cast<std::size_t>(classes), 0);
  std::vector<std::size_t> round(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) round[i] = met[static_cast<std::size_t>(labels[i])]++;
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(all.begin(), end, all.end(), [&](std::size_t a, std::size_t b) {
    return round[a] != round[b] ? round[a] < round[b] : labels[a] < labels[b];
  });
  all.erase(end, all.end());
  std::sort(all.begin(), all.end());
  return all;
}

Images subset(const Images& images, std::span<const std::size_t> chosen) {
  Images part;
  part.count = chosen.size();
  part.channels = images.channels;
  part.height = images.height;
  part.width = images.width;
  part.classes = images.classes;
  const auto size = images.bytes_per_image();
  part.pixels.reserve(chosen.size() * size);
  part.labels.reserve(chosen.size());
  for (const auto i : chosen) {
    const auto pixels = std::span(images.pixels).subspan(i * size, size);
    part.pixels.insert(part.pixels.end(), pixels.begin(), pixels.end());
    part.labels.push_back(images.labels[i]);
  }
  return part;
}

FolderPart subset(const FolderPart& part, std::span<const std::size_t> chosen) {
  FolderPart smaller{part.folder, {}, {}};
  smaller.files.reserve(chosen.size());
  smaller.labels.reserve(chosen.size());
  for (const auto i : chosen) {
    smaller.files.push_back(part.files[i]);
    smaller.labels.push_back(part.labels[i]);
  }
  return smaller;
}

}  // namespace sadam::data
