// What the person at the keyboard got wrong, as opposed to what failed.
#pragma once

#include <sadam/error.h>

namespace sadam {

/// A command line or a recipe that asks for something that does not exist: a misspelt field, an unknown data
/// set, a value out of range. The program ends with status 2; every other Error ends it with status 1.
class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace sadam
