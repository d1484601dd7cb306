#include "table.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numeric>
#include <sstream>

namespace demo {

namespace {

constexpr std::size_t columns = 96;
const std::string indent = "  ";

// Characters, not bytes: in UTF-8 the bytes that continue a character look like 10xxxxxx.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string fixed(double value, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return out.str();
}

std::string scientific(double value) {
  std::ostringstream out;
  out << std::scientific << std::setprecision(1) << value;
  return out.str();
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0.0;
  const double center = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - center) * (value - center);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::string with_deviation(const std::vector<double>& values, int digits) {
  return fixed(mean(values), digits) + " ± " + fixed(deviation(values), digits);
}

std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t header_rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (r == header_rows) {
      out += indent;
      const auto total = std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
      for (std::size_t i = 0; i < total; ++i) out += "─";
      out += '\n';
    }
    std::string line = indent;
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      const std::string padding(widths[i] - width(rows[r][i]), ' ');
      line += i == 0 ? rows[r][i] + padding : indent + padding + rows[r][i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string paragraph(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && width(indent) + width(line) + 1 + width(word) > columns) {
      out += indent + line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return out + indent + line + '\n';
}

}  // namespace demo
