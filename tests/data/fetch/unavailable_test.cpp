#include <gtest/gtest.h>
#include <sadam/error.h>

#include "data/fetch/fetch.h"

namespace sadam::data {
namespace {

TEST(FetchUnavailable, SaysHowToGetItByHand) {
  const auto& entry = catalogue_entry("cifar100");
  try {
    fetch(entry, {.root = "no-such-folder"});
    FAIL() << "nothing was refused";
  } catch (const Error& error) {
    const std::string sentence = error.what();
    EXPECT_NE(sentence.find(entry.url), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("no-such-folder/cifar-100-binary"), std::string::npos) << sentence;
  }
}

}  // namespace
}  // namespace sadam::data
