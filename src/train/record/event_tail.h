// A file of events that is read while it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "train/record/events.h"

namespace sadam::train {

/// Each call of read() goes on where the last one ended. A line that is not an event is passed over and
/// counted; one without its line feed is waited for.
class EventTail {
 public:
  explicit EventTail(std::filesystem::path path) : path_(std::move(path)) {}

  /// Calls `visit` for each event that has come since. Where the file was cut back or replaced since, as a
  /// resumed run does, or is gone, `restart` is called first: everything visited so far is void. Throws an
  /// Error for a file that is there and cannot be read.
  void read(const std::function<void(const Event&)>& visit, const std::function<void()>& restart);

  std::size_t broken_lines() const { return broken_lines_; }
  /// Of the first of them, as read_events() says it; "" if there are none.
  const std::string& problem() const { return problem_; }
  /// The number of the last line if it has no line feed yet; else 0.
  std::size_t cut_line() const { return rest_.empty() && !skipping_ ? 0 : lines_ + 1; }

 private:
  bool goes_on(int file, std::uint64_t device, std::uint64_t inode, std::uint64_t size) const;
  void take(std::string_view bytes, const std::function<void(const Event&)>& visit);
  void take_line(std::string_view line, const std::function<void(const Event&)>& visit);
  void note_broken(const std::string& problem);

  std::filesystem::path path_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::uint64_t offset_ = 0;  ///< bytes read so far
  std::string last_;          ///< the last of them, by which a file that was rewritten is noticed
  std::string rest_;          ///< the beginning of a line whose end has not come yet
  bool skipping_ = false;     ///< that line is longer than any event: its end is waited for, and no more
  std::size_t lines_ = 0;     ///< whole ones
  std::size_t broken_lines_ = 0;
  std::string problem_;
};

}  // namespace sadam::train
