// Numbers, tables and paragraphs for a terminal.
#pragma once

#include <string>
#include <vector>

namespace demo {

/// 0.4658 as "0.466" with 3 digits after the point.
std::string fixed(double value, int digits);

/// Two significant digits and the power of ten, as "1.2e-05".
std::string scientific(double value);

/// "93.1 ± 0.4"
std::string with_deviation(const std::vector<double>& values, int digits);

double mean(const std::vector<double>& values);

/// The sample deviation, with 1/(n−1); 0 for a single value.
double deviation(const std::vector<double>& values);

/// Rows of cells: the first column is set to the left, the others to the right. The first `header_rows` rows
/// stand above a rule.
std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t header_rows);

/// Breaks a text into indented lines of at most 96 columns.
std::string paragraph(const std::string& text);

}  // namespace demo
