// What is read is written and read back the same.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include <sadam/error.h>
#include "train/record/events.h"

namespace {

std::string written(const sadam::train::EventFile& file) {
  std::string lines;
  for (const auto& event : file.steps) lines += to_line(event);
  for (const auto& event : file.epochs) lines += to_line(event);
  for (const auto& event : file.notes) lines += to_line(event);
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace train = sadam::train;
  train::EventFile file;
  try {
    file = train::read_events(std::as_bytes(std::span(data, size)));
  } catch (const sadam::Error&) {
    return 0;
  }
  const auto lines = written(file);
  const auto again = train::read_events(std::as_bytes(std::span(lines)));
  const bool same = again.steps.size() == file.steps.size() && again.epochs.size() == file.epochs.size() &&
                    again.notes.size() == file.notes.size() && again.cut_line == 0 && written(again) == lines;
  if (!same) std::abort();
  return 0;
}
