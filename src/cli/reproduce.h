// What `sadam reproduce` was told. Private to its two files.
#pragma once

#include <cstdint>
#include <string>

#include "reproduce/plan.h"

namespace sadam::cli {

struct ReproduceArguments {
  std::string table;
  reproduce::Request request;
  std::int64_t epochs = 0;
  bool no_controls = false;
  bool plan_only = false;
  bool show = false;
  bool quiet = false;
  bool csv = false;
  bool json = false;
  bool markdown = false;

  /// `request`, with what the flags say.
  reproduce::Request full_request() const {
    auto full = request;
    full.controls = !no_controls;
    if (epochs > 0) full.epochs = epochs;
    return full;
  }
};

/// `sadam reproduce curves`.
void reproduce_curves(const ReproduceArguments& arguments);

}  // namespace sadam::cli
