// Numbers as the page takes them: null where there is none.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/quantities.h"
#include "report/text_table.h"

namespace sadam::page {

using report::Json;

inline Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }
inline Json number_or_null(const std::optional<double>& value) {
  return value ? number_or_null(*value) : Json();
}
/// A fraction, in per cent.
inline Json percent_or_null(const std::optional<double>& fraction) {
  return number_or_null(base::percent(fraction));
}

/// Seven digits, which is more than can be drawn, in half the room of all of them.
inline Json short_number(double value) {
  const auto text = fmt::format("{:.7g}", value);
  double rounded = value;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

}  // namespace sadam::page
