// Numbers, times and sizes as a person reads them.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace sadam::base {

/// "2.2500" with four digits; "2.4e+32" for what has so many digits that nobody counts them; "nan" for
/// whatever is not finite, which printf may call -nan or inf.
inline std::string decimal(double value, int digits) {
  if (!std::isfinite(value)) return "nan";
  return std::abs(value) < 1e9 ? fmt::format("{:.{}f}", value, digits) : fmt::format("{:.1e}", value);
}

/// A fraction in per cent, without the last digits that a product in binary adds: 34.95 for 0.3495, and not
/// 34.949999999999996.
inline double percent(double fraction) {
  const double scaled = std::round(fraction * 1e12);
  return std::isfinite(scaled) ? scaled / 1e10 : 100 * fraction;
}

inline std::optional<double> percent(const std::optional<double>& fraction) {
  return fraction ? std::optional(percent(*fraction)) : std::nullopt;
}

/// "3.2 s", "42 s", "3:25", "1:02:03"; "–" for a time that is not known.
inline std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e12) return "–";
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

/// "1 run", "3 runs".
inline std::string counted(std::uint64_t count, const std::string& thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

/// "512 B", "3.4 MiB", "1.2 GiB".
inline std::string memory(std::int64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.95 would be printed as "1024.0".
  for (; std::abs(value) >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace sadam::base
