// Which runs are meant: those of which every `field=value` holds.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/text_table.h"

namespace sadam::report {

std::optional<double> number_in(const Value& value);

class Conditions {
 public:
  /// Throws a UsageError for a text without '='; `index_of` finds the column of a field.
  Conditions(const std::vector<std::string>& texts,
             const std::function<std::size_t(const std::string&)>& index_of);

  /// A number matches however it is written ("0.001", "1e-3"), and as the table shows it ("15.96").
  bool hold_of(const std::vector<Cell>& row);

  /// For each condition that held of no row so far, what the rows have instead: "optimizer.name is adamw or
  /// sadam".
  std::vector<std::string> unmet(const std::vector<Column>& columns) const;

 private:
  struct Condition {
    std::size_t column;
    std::string wanted;
    bool met = false;
    std::set<std::string> seen = {};
  };
  std::vector<Condition> conditions_;
};

}  // namespace sadam::report
