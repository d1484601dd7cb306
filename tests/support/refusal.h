// The sentence with which something is refused.
#pragma once

#include <gtest/gtest.h>
#include <sadam/error.h>

#include <string>

namespace sadam::testing {

/// What the exception says that `attempt` throws; a failure and nothing if it throws none. One of another
/// kind escapes.
template <class Exception = Error, class Attempt>
std::string refusal(Attempt&& attempt) {
  try {
    attempt();
  } catch (const Exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

inline ::testing::AssertionResult says(const std::string& sentence, const std::string& part) {
  if (sentence.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "it says: " << sentence;
}

}  // namespace sadam::testing
