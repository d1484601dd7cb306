#include <cstdint>
#include <cstdlib>

#include <sadam/error.h>
#include "data/folder.h"

namespace {

// Joined to a folder, such a name stays in it.
void require_plain(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find_first_of("/\\\n\t") != name.npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const auto& each : sadam::data::read_annotations(text)) {
      require_plain(each.file);
      require_plain(each.class_name);
    }
  } catch (const sadam::Error&) {
  }
  try {
    for (const auto& name : sadam::data::read_class_names(text)) require_plain(name);
  } catch (const sadam::Error&) {
  }
  return 0;
}
