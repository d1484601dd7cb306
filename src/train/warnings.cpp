#include "train/warnings.h"

#include <string_view>

#include "train/progress.h"

namespace sadam::train {
namespace {

#if TORCH_VERSION_MAJOR >= 2
namespace torchs = c10::WarningUtils;
#else
namespace torchs = c10::Warning;
#endif

}  // namespace

ShownWarnings::ShownWarnings(Progress& progress)
    : progress_(progress), before_(torchs::get_warning_handler()) {
  torchs::set_warning_handler(this);
}

ShownWarnings::~ShownWarnings() { torchs::set_warning_handler(before_); }

void ShownWarnings::show(const std::string& text) const {
  std::string_view sentence = text;
  constexpr std::string_view ours = "sadam: ";
  if (sentence.starts_with(ours)) {
    sentence.remove_prefix(ours.size());
    if (sentence.find(" skipped so far, ") != std::string_view::npos) return;
  }
  progress_.warn(sentence);
}

}  // namespace sadam::train
