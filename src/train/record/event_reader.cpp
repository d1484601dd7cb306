#include <sadam/error.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/file.h"
#include "train/record/event_fields.h"
#include "train/record/events.h"

namespace sadam::train {
namespace {

using Json = nlohmann::json;

/// Reads the fields of one event. A sentence it throws has no beginning yet: the line comes before it.
class FieldReader {
 public:
  explicit FieldReader(const Json& object) : object_(object) {}

  void operator()(const char* name, std::int64_t& value) const {
    const auto& json = at(name);
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const bool fits =
        json.is_number_unsigned() ? json.get<std::uint64_t>() <= most : json.is_number_integer();
    if (!fits) refuse(name, "no integer");
    value = json.get<std::int64_t>();
  }

  void operator()(const char* name, double& value) const {
    const auto& json = at(name);
    if (!json.is_number() && !json.is_null()) refuse(name, "no number");
    value = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
  }

  void operator()(const char* name, bool& value) const {
    const auto& json = at(name);
    if (!json.is_boolean()) refuse(name, "neither true nor false");
    value = json.get<bool>();
  }

  void operator()(const char* name, std::string& value) const {
    const auto& json = at(name);
    if (!json.is_string()) refuse(name, "no text");
    value = json.get_ref<const std::string&>();
  }

 private:
  const Json& at(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) refuse(name, "missing");
    return *found;
  }

  [[noreturn]] static void refuse(const char* name, const char* problem) {
    throw Error("'" + std::string(name) + "' is " + problem);
  }

  const Json& object_;
};

void read_line(std::string_view line, EventFile& file) {
  const auto object = Json::parse(line.begin(), line.end(), nullptr, false);
  if (!object.is_object()) throw Error("it is no JSON object");
  std::string kind;
  const FieldReader read(object);
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
