#include "data/read_images.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace sadam::data {

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

}  // namespace sadam::data
