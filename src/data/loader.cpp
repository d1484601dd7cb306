#include "data/loader.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <stop_token>
#include <thread>
#include <utility>

#include "data/random.h"

namespace sadam::data {
namespace {

/// A worker takes so many bytes of images at a time (at least one image): enough to make the lock cheap, few
/// enough that a batch of large images is shared by all workers.
constexpr std::size_t kShareBytes = 64 * 1024;

}  // namespace

/// One thread calls start() and next(); the workers call work(). Batch number b is made in slot b mod
/// `ahead`, so a slot is free once the batch before it in that slot has been handed out.
class Loader::Workers {
 public:
  Workers(std::shared_ptr<const ImageSet> images, const LoaderOptions& options)
      : images_(std::move(images)),
        options_(checked_options(options)),
        table_(normalization_table(options.normalization)),
        count_(images_->size()),
        image_bytes_(images_->bytes_per_image()),
        full_batch_(options.parts_take_turns
                        ? std::min(options.batch, count_)
                        : (std::min(options.batch, count_) + options.parts - 1) / options.parts),
        share_(std::max<std::size_t>(1, kShareBytes / std::max<std::size_t>(1, image_bytes_))),
        slots_(std::min(options.ahead, batches())) {
    for (auto& slot : slots_) make_room(slot.batch);
    // Everything a worker needs is allocated here, where a failure can be reported.
    for (int i = 0; i < options.threads && !slots_.empty(); ++i)
      threads_.emplace_back([this, bytes = std::vector<std::uint8_t>(image_bytes_)](
                                const std::stop_token& stop) mutable { work(stop, bytes.data()); });
  }

  std::size_t batches() const { return (count_ + options_.batch - 1) / options_.batch; }

  void start(std::size_t epoch, std::size_t first_batch) {
    if (first_batch > batches())
      throw Error(fmt::format("an epoch cannot begin at batch {}: it has {}.", first_batch, batches()));
    auto order =
        options_.shuffle ? shuffled_order(count_, options_.seed, epoch) : std::vector<std::uint32_t>();
    std::unique_lock lock(mutex_);
    cancelled_ = true;
    for_caller_.wait(lock, [this] { return busy_ == 0; });
    cancelled_ = false;
    started_ = true;
    order_ = std::move(order);
    next_batch_ = claimed_batch_ = first_batch;
    claimed_images_ = 0;
    for (std::size_t i = 0; i < slots_.size(); ++i) reset(next_batch_ + i);
    lock.unlock();
    for_workers_.notify_all();
  }

  bool next(Batch& batch) {
    if (!started_)
      throw Error("a loader was asked for a batch before an epoch was started: call start() first.");
    if (next_batch_ >= batches()) {
      batch.size = 0;
      batch.images.clear();
      batch.labels.clear();
      return false;
    }
    make_room(batch);  // it takes the place of the one that is handed out
    std::unique_lock lock(mutex_);
    auto& slot = slot_of(next_batch_);
    for_caller_.wait(lock, [&] { return slot.missing == 0; });
    // A batch that could not be made stays where it is: whoever asks again is told again, and nothing is
    // skipped.
    if (slot.error) std::rethrow_exception(slot.error);
    std::swap(batch, slot.batch);
    batch.size = images_in(next_batch_);
    reset(next_batch_ + slots_.size());
    ++next_batch_;
    lock.unlock();
    for_workers_.notify_all();
    batch.images.resize(batch.size * image_bytes_);
    batch.labels.resize(batch.size);
    return true;
  }

 private:
  struct Slot {
    Batch batch;               ///< with room for a full batch
    std::size_t missing = 0;   ///< images still to come
    std::exception_ptr error;  ///< of the first image (in the order of the batch) that could not be read
    std::size_t error_image = 0;
  };

  /// Images [first, last) of a batch, for one worker.
  struct Share {
    std::size_t batch, first, last;
  };

  Slot& slot_of(std::size_t batch) { return slots_[batch % slots_.size()]; }

  std::size_t images_in(std::size_t batch) const { return range_of_batch(options_, batch, count_).size; }

  void make_room(Batch& batch) const {
    batch.images.resize(full_batch_ * image_bytes_);
    batch.labels.resize(full_batch_);
  }

  /// Empties the slot of a batch that is to be made.
  void reset(std::size_t batch) {
    auto& slot = slot_of(batch);
    slot.missing = images_in(batch);
    slot.error = nullptr;
    slot.error_image = std::numeric_limits<std::size_t>::max();
  }

  bool work_to_do() const {
    return started_ && !cancelled_ && claimed_batch_ < std::min(batches(), next_batch_ + slots_.size());
  }

  Share claim() {
    const auto size = images_in(claimed_batch_);
    const Share share{claimed_batch_, claimed_images_, std::min(claimed_images_ + share_, size)};
    claimed_images_ = share.last;
    if (claimed_images_ == size) {
      ++claimed_batch_;
      claimed_images_ = 0;
    }
    return share;
  }

  void work(const std::stop_token& stop, std::uint8_t* bytes) {
    std::unique_lock lock(mutex_);
    while (for_workers_.wait(lock, stop, [this] { return work_to_do(); }) && !stop.stop_requested()) {
      const auto share = claim();
      auto& slot = slot_of(share.batch);
      ++busy_;
      lock.unlock();
      std::exception_ptr error;
      auto image = share.first;
      try {
        for (; image < share.last && !cancelled_ && !stop.stop_requested(); ++image)
          make(share.batch, image, slot, bytes);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      --busy_;
      slot.missing -= share.last - share.first;
      if (error && image < slot.error_image) {
        slot.error = error;
        slot.error_image = image;
      }
      if (slot.missing == 0 || busy_ == 0) for_caller_.notify_one();
    }
  }

  void make(std::size_t batch, std::size_t image, Slot& slot, std::uint8_t* bytes) const {
    const auto place = range_of_batch(options_, batch, count_).first + image;
    const std::size_t index = options_.shuffle ? order_[place] : place;
    slot.batch.labels[image] = images_->label(index);
    images_->read(index, bytes);
    auto* out = slot.batch.images.data() + image * image_bytes_;
    for (const auto& channel : table_)
      for (std::size_t i = 0; i < image_bytes_ / 3; ++i) *out++ = channel[*bytes++];
  }

  const std::shared_ptr<const ImageSet> images_;
  const LoaderOptions options_;
  const NormalizationTable table_;
  const std::size_t count_;
  const std::size_t image_bytes_;
  const std::size_t full_batch_;
  const std::size_t share_;  ///< images a worker takes at a time

  std::mutex mutex_;  ///< for everything below, with the exceptions named
  std::condition_variable_any for_workers_;
  std::condition_variable for_caller_;
  std::vector<Slot> slots_;           ///< the batches in them belong to the workers that claimed a share
  std::vector<std::uint32_t> order_;  ///< changes only while no worker is busy
  bool started_ = false;
  std::atomic<bool> cancelled_ = false;  ///< read between images, without the lock
  std::size_t next_batch_ = 0;           ///< to be handed out
  std::size_t claimed_batch_ = 0;        ///< from which the next share is taken
  std::size_t claimed_images_ = 0;       ///< of that batch
  std::size_t busy_ = 0;                 ///< workers with a share

  std::vector<std::jthread> threads_;  ///< last: they stop and are joined before anything else goes
};

Loader::Loader(std::shared_ptr<const ImageSet> images, const LoaderOptions& options)
    : workers_(std::make_unique<Workers>(std::move(images), options)) {}
Loader::~Loader() = default;

std::size_t Loader::batches() const { return workers_->batches(); }
void Loader::start(std::size_t epoch, std::size_t first_batch) { workers_->start(epoch, first_batch); }
bool Loader::next(Batch& batch) { return workers_->next(batch); }

NormalizationTable normalization_table(const Normalization& normalization) {
  NormalizationTable table;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const auto mean = normalization.mean[channel];
    const auto deviation = normalization.deviation[channel];
    for (std::size_t byte = 0; byte < 256; ++byte)
      table[channel][byte] = (static_cast<float>(byte) / 255.0f - mean) / deviation;
  }
  return table;
}

BatchRange range_of_batch(const LoaderOptions& options, std::size_t batch, std::size_t count) {
  const auto first = std::min(batch * options.batch, count);
  const auto size = std::min(options.batch, count - first);
  if (options.parts_take_turns) return {first, batch % options.parts == options.part ? size : 0};
  const auto begin = size * options.part / options.parts;
  return {first + begin, size * (options.part + 1) / options.parts - begin};
}

const LoaderOptions& checked_options(const LoaderOptions& options) {
  if (options.batch < 1) throw Error("a batch of 0 images was asked for: it must have at least 1.");
  if (options.part >= options.parts)
    throw Error(
        fmt::format("part {} of a batch was asked for, and there are {}.", options.part, options.parts));
  if (options.threads < 1)
    throw Error(fmt::format("a loader with {} threads was asked for: it needs at least 1.", options.threads));
  if (options.ahead < 1)
    throw Error("a loader that makes 0 batches ahead was asked for: it needs at least 1.");
  return options;
}

std::vector<std::uint32_t> shuffled_order(std::size_t count, std::uint64_t seed, std::uint64_t epoch) {
  if (count > std::numeric_limits<std::uint32_t>::max())
    throw Error(fmt::format("a set of {} images is too large to shuffle: 4294967295 is the most.", count));
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  Random random(seed, Purpose::shuffle, epoch);
  for (auto left = static_cast<std::uint32_t>(count); left > 1; --left)
    std::swap(order[left - 1], order[random.below(left)]);
  return order;
}

}  // namespace sadam::data
