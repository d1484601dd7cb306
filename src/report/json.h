// Tables as JSON, for those who put them into something larger. Private to this room.
#pragma once

#include <cmath>
#include <string>
#include <type_traits>
#include <variant>

#include <nlohmann/json.hpp>

#include "report/text_table.h"

namespace sadam::report {

/// Keeps the order in which keys were given.
using Json = nlohmann::ordered_json;

inline Json json_value(const Value& value) {
  return std::visit(
      [](const auto& held) -> Json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>)
          return nullptr;
        else if constexpr (std::is_same_v<Held, double>)
          return std::isfinite(held) ? Json(held) : Json();
        else
          return held;
      },
      value);
}

inline Json json_rows(const TextTable& table) {
  auto rows = Json::array();
  for (const auto& row : table.rows) {
    auto object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) object[table.columns[i].key] = json_value(row[i].value);
    rows.push_back(std::move(object));
  }
  return rows;
}

/// Names of folders need not be UTF-8, JSON must be: what is not is replaced.
inline std::string write_json(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace sadam::report
