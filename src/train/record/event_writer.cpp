#include "train/record/append_file.h"
#include "train/record/event_fields.h"
#include "train/record/events.h"
#include "train/record/json_fields.h"

namespace sadam::train {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct EventToJson {
  OrderedJson operator()(const StepEvent& event) const {
    auto json = started(step_kind);
    visit_step_fields(event, JsonFieldWriter(json));
    return json;
  }
  OrderedJson operator()(const EpochEvent& event) const {
    auto json = started(epoch_kind);
    visit_epoch_fields(event, JsonFieldWriter(json));
    return json;
  }
  OrderedJson operator()(const NoteEvent& event) const {
    auto json = started(note_kind);
    visit_note_fields(event, JsonFieldWriter(json));
    return json;
  }

 private:
  static OrderedJson started(const char* kind) {
    OrderedJson json;
    json["event"] = kind;
    return json;
  }
};

}  // namespace

std::string to_line(const Event& event) {
  // Bytes of a note that are not UTF-8 become U+FFFD: a run does not end over a message.
  return std::visit(EventToJson{}, event).dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

class EventWriter::File : public AppendFile {
 public:
  using AppendFile::AppendFile;
};

EventWriter::EventWriter(const std::filesystem::path& path, std::uint64_t keep)
    : file_(std::make_unique<File>(path, keep)) {}
EventWriter::EventWriter(EventWriter&&) noexcept = default;
EventWriter::~EventWriter() = default;

void EventWriter::write(const Event& event) {
  const auto line = to_line(event);
  file_->append(std::as_bytes(std::span(line)));
}

FileMark EventWriter::sync() { return file_->sync(); }

}  // namespace sadam::train
