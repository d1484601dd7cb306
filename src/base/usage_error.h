// What the person at the keyboard got wrong, as opposed to what failed; and what they stopped.
#pragma once

#include <sadam/error.h>

#include <string>

namespace sadam {

/// A command line or a recipe that asks for something that does not exist: a misspelt field, an unknown data
/// set, a value out of range. The program ends with status 2; every other Error ends it with status 1.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Thrown by long work that was asked to stop, once what it had is saved. The program says the words, if
/// there are any, and ends with status 130.
struct Interrupted {
  std::string words = {};
};

}  // namespace sadam
