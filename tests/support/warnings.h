// What the library warns of.
#pragma once

#include <c10/util/Exception.h>
#include <torch/version.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace sadam::testing {

#if TORCH_VERSION_MAJOR >= 2
namespace torchs_warnings = c10::WarningUtils;
#else
namespace torchs_warnings = c10::Warning;
#endif

/// While it lives, keeps the warnings of this thread instead of printing them; those that torch gives once in
/// a process come each time.
class CapturedWarnings {
 public:
  CapturedWarnings() { torchs_warnings::set_warnAlways(true); }
  ~CapturedWarnings() { torchs_warnings::set_warnAlways(before_); }
  CapturedWarnings(const CapturedWarnings&) = delete;
  CapturedWarnings& operator=(const CapturedWarnings&) = delete;

  /// Those of this library.
  const std::vector<std::string>& sentences() const { return handler_.sentences; }
  std::size_t count(const std::string& part) const {
    return static_cast<std::size_t>(
        std::count_if(sentences().begin(), sentences().end(),
                      [&](const auto& sentence) { return sentence.find(part) != std::string::npos; }));
  }

 private:
  struct Handler : c10::WarningHandler {
#if TORCH_VERSION_MAJOR >= 2
    void process(const c10::Warning& warning) override { keep(warning.msg()); }
#else
    void process(const c10::SourceLocation&, const std::string& text, bool) override { keep(text); }
#endif
    void keep(const std::string& text) {
      if (text.rfind("sadam: ", 0) == 0) sentences.push_back(text);
    }
    std::vector<std::string> sentences;
  };
  bool before_ = torchs_warnings::get_warnAlways();
  Handler handler_;
  torchs_warnings::WarningHandlerGuard guard_{&handler_};
};

}  // namespace sadam::testing
