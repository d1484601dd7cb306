#include <sadam/error.h>

#include <string_view>

#include "base/file.h"
#include "train/record/event_fields.h"
#include "train/record/events.h"
#include "train/record/json_fields.h"

namespace sadam::train {
namespace {

void read_line(std::string_view line, EventFile& file) {
  const auto object = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
  if (!object.is_object()) throw Error("it is no JSON object");
  std::string kind;
  const JsonFieldReader read(object);
  read("event", kind);
  if (kind == step_kind) {
    visit_step_fields(file.steps.emplace_back(), read);
  } else if (kind == epoch_kind) {
    visit_epoch_fields(file.epochs.emplace_back(), read);
  } else if (kind == note_kind) {
    visit_note_fields(file.notes.emplace_back(), read);
  }
}

}  // namespace

EventFile read_events(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EventFile file;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto length = text.find('\n');
    if (length == std::string_view::npos) {
      file.cut_line = number;
      break;
    }
    try {
      read_line(text.substr(0, length), file);
    } catch (const Error& error) {
      throw Error("line " + std::to_string(number) + " is not an event: " + error.what() +
                  ": the file is damaged or another one.");
    }
    text.remove_prefix(length + 1);
  }
  return file;
}

EventFile read_events(const std::filesystem::path& path) {
  const auto bytes = base::read_file(path);
  try {
    return read_events(std::span(bytes));
  } catch (const Error& error) {
    throw Error(path.string() + ": " + error.what());
  }
}

}  // namespace sadam::train
