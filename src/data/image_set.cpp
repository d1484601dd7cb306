#include "data/image_set.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "data/picture.h"
#include "data/resize.h"

namespace sadam::data {
namespace {

class InMemoryImages final : public ImageSet {
 public:
  InMemoryImages(Images images, std::size_t pixels)
      : images_(std::move(images)),
        pixels_(pixels),
        resizer_({images_.width, images_.height}, {pixels, pixels}) {}

  std::size_t size() const override { return images_.count; }
  std::int64_t classes() const override { return images_.classes; }
  std::size_t pixels() const override { return pixels_; }
  std::int64_t label(std::size_t i) const override { return images_.labels[i]; }
  void read(std::size_t i, std::uint8_t* out) const override {
    resizer_(images_.pixels.data() + i * images_.bytes_per_image(), out);
  }
  const Images* stored() const override { return &images_; }

 private:
  Images images_;
  std::size_t pixels_;
  Resizer resizer_;
};

// Room for every image of a set, each of which is made once, by the first thread that asks for it.
class DecodedImages {
 public:
  DecodedImages(std::size_t count, std::size_t bytes_each)
      : bytes_each_(bytes_each),
        is_there_(count),
        // Not touched here: the system gives a page when its first image is written.
        bytes_(std::make_unique_for_overwrite<std::uint8_t[]>(count * bytes_each)) {}

  // Image i, made by `make(out)` if it is not there yet. If that throws, the next caller tries again.
  template <class Make>
  const std::uint8_t* get(std::size_t i, Make make) {
    auto* const bytes = bytes_.get() + i * bytes_each_;
    const std::lock_guard lock(locks_[i % locks_.size()]);
    if (is_there_[i] == 0) make(bytes);
    is_there_[i] = 1;
    return bytes;
  }

 private:
  std::size_t bytes_each_;
  std::array<std::mutex, 64> locks_;    // each for every 64th image
  std::vector<std::uint8_t> is_there_;  // not of bool, whose neighbours share a byte
  std::unique_ptr<std::uint8_t[]> bytes_;
};

class FolderImages final : public ImageSet {
 public:
  FolderImages(FolderPart part, std::int64_t classes, std::size_t pixels, std::size_t keep_up_to)
      : part_(std::move(part)), classes_(classes), pixels_(pixels) {
    if (part_.files.size() <= keep_up_to / bytes_per_image_of(pixels))
      decoded_ = std::make_unique<DecodedImages>(part_.files.size(), bytes_per_image_of(pixels));
  }

  std::size_t size() const override { return part_.files.size(); }
  std::int64_t classes() const override { return classes_; }
  std::size_t pixels() const override { return pixels_; }
  std::int64_t label(std::size_t i) const override { return part_.labels[i]; }

  void read(std::size_t i, std::uint8_t* out) const override {
    const auto decode = [&](std::uint8_t* to) {
      const auto picture = decode_picture_file(part_.path(i));
      Resizer({picture.width, picture.height}, {pixels_, pixels_})(picture.pixels.data(), to);
    };
    if (decoded_)
      std::copy_n(decoded_->get(i, decode), bytes_per_image(), out);
    else
      decode(out);
  }

 private:
  static std::size_t bytes_per_image_of(std::size_t pixels) { return 3 * pixels * pixels; }

  FolderPart part_;
  std::int64_t classes_;
  std::size_t pixels_;
  std::unique_ptr<DecodedImages> decoded_;  // filled by read(), which keeps threads apart
};

}  // namespace

std::shared_ptr<const ImageSet> in_memory(Images images, std::size_t pixels) {
  return std::make_shared<InMemoryImages>(std::move(images), pixels);
}

std::shared_ptr<const ImageSet> folder_images(FolderPart part, std::int64_t classes, std::size_t pixels,
                                              std::size_t keep_up_to) {
  return std::make_shared<FolderImages>(std::move(part), classes, pixels, keep_up_to);
}

void read_images(const ImageSet& images, std::size_t first, std::size_t count, std::uint8_t* out,
                 int threads) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // for what follows
  std::exception_ptr error;
  std::size_t error_image = count;
  const auto work = [&] {
    // After an error nothing new is begun, but all images before it have been: the first error is found.
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        images.read(first + i, out + i * images.bytes_per_image());
      } catch (...) {
        next = count;
        const std::lock_guard lock(mutex);
        if (i < error_image) {
          error = std::current_exception();
          error_image = i;
        }
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int i = 1; i < threads && static_cast<std::size_t>(i) < count; ++i) workers.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
}

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
  std::ranges::sort(all);
  return all;
}

Images subset(const Images& images, std::span<const std::size_t> chosen) {
  Images part;
  part.count = chosen.size();
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
