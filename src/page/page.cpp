#include "page/page.h"

#include <fmt/format.h>
#include <sadam/error.h>

namespace sadam::page {
namespace {

constexpr std::string_view kPlace = R"(<script type="application/json" id="sadam-data">null</script>)";
constexpr std::string_view kNull = "null";

// JSON that may stand in a script of an HTML page: no tag begins in it.
std::string in_script(std::string_view json) {
  std::string safe;
  safe.reserve(json.size() + json.size() / 64);
  for (const char each : json) {
    if (each == '<')
      safe += "\\u003c";
    else
      safe += each;
  }
  return safe;
}

}  // namespace

std::string_view page_or_refusal() {
  const auto page = built_in_page();
  if (page.empty())
    throw Error(
        "this sadam was built without its page: install Node.js 18 or later, let npm reach its packages, and "
        "build "
        "it again.");
  return page;
}

std::string policy_of(std::string_view page) {
  constexpr std::string_view kBefore = R"(<meta http-equiv="Content-Security-Policy" content=")";
  const auto at = page.find(kBefore);
  if (at == std::string_view::npos) return "default-src 'none'";
  page.remove_prefix(at + kBefore.size());
  return std::string(page.substr(0, page.find('"')));
}

std::string page_with(std::string_view page, std::string_view json) {
  const auto at = page.find(kPlace);
  if (at == std::string_view::npos)
    throw Error("the page that was built into this program has no place for data: build it again.");
  const auto place = at + kPlace.find(kNull);
  return fmt::format("{}{}{}", page.substr(0, place), in_script(json), page.substr(place + kNull.size()));
}

}  // namespace sadam::page
