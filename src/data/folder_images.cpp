#include "data/folder_images.h"

#include <sadam/error.h>

#include <algorithm>
#include <atomic>

#include "base/file.h"
#include "data/resize.h"

namespace sadam::data {
namespace {

// Room for every image of a set, each of which is made once, by the first thread that asks for it.
class DecodedImages {
 public:
  DecodedImages(std::size_t count, std::size_t bytes_each)
      : bytes_each_(bytes_each),
        states_(std::make_unique<std::atomic<State>[]>(count)),
        // Not touched here: the system gives a page when its first image is written.
        bytes_(std::make_unique_for_overwrite<std::uint8_t[]>(count * bytes_each)) {}

  // Image i, made by `make(out)` if it is not there yet. If that throws, the next caller tries again.
  template <class Make>
  const std::uint8_t* get(std::size_t i, Make make) {
    auto& state = states_[i];
    auto* const bytes = bytes_.get() + i * bytes_each_;
    for (;;) {
      auto seen = State::absent;
      if (state.compare_exchange_strong(seen, State::being_made, std::memory_order_acquire)) break;
      if (seen == State::there) return bytes;
      state.wait(State::being_made, std::memory_order_acquire);
    }
    try {
      make(bytes);
    } catch (...) {
      settle(state, State::absent);
      throw;
    }
    settle(state, State::there);
    return bytes;
  }

 private:
  enum class State : std::uint8_t { absent, being_made, there };

  static void settle(std::atomic<State>& state, State to) {
    state.store(to, std::memory_order_release);
    state.notify_all();
  }

  std::size_t bytes_each_;
  std::unique_ptr<std::atomic<State>[]> states_;
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
      const auto picture = decode_jpeg_file(part_.path(i));
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

std::shared_ptr<const ImageSet> folder_images(FolderPart part, std::int64_t classes, std::size_t pixels,
                                              std::size_t keep_up_to) {
  return std::make_shared<FolderImages>(std::move(part), classes, pixels, keep_up_to);
}

Picture decode_jpeg_file(const std::filesystem::path& path) {
  const auto bytes = base::read_file(path);
  try {
    return decode_jpeg(bytes);
  } catch (const Error& error) {
    throw Error(path.string() + ": " + error.what());
  }
}

}  // namespace sadam::data
