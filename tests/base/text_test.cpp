#include "base/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace sadam::base {
namespace {

const std::vector<std::string> options{"probes", "lr", "l1", "momentum", "beta1", "beta2", "weight_decay"};

TEST(Nearest, FindsWhatWasMeant) {
  EXPECT_EQ("probes", nearest("probs", options));
  EXPECT_EQ("probes", nearest("porbes", options));  // a swap is one edit
  EXPECT_EQ("probes", nearest("PROBES", options));
  EXPECT_EQ("momentum", nearest("momemtum", options));
  EXPECT_EQ("weight_decay", nearest("weightdecay", options));
  EXPECT_EQ("weight_decay", nearest("weight-dekay", options));
}

TEST(Nearest, ASwapCountsAsOneEdit) {
  // Two replacements would be too many for two letters.
  EXPECT_EQ("lr", nearest("rl", std::vector<std::string>{"lr", "weight_decay"}));
}

TEST(Nearest, TheNearestWinsAndOfEquallyNearTheFirst) {
  EXPECT_EQ("beta2", nearest("betta2", options));
  EXPECT_EQ("beta1", nearest("beta3", options));
}

TEST(Nearest, AShortFormIsNearWhereFewerEditsFindNothing) {
  const std::vector<std::string> commands{"train", "eval", "export", "reproduce", "data", "data.name"};
  EXPECT_EQ("eval", nearest("Evaluate", commands));
  EXPECT_EQ("reproduce", nearest("repro", commands));
  EXPECT_EQ("weight_decay", nearest("weight", options));
  EXPECT_EQ("table12", nearest("table12x4y5z6", std::vector<std::string>{"table1", "table12"}));
  EXPECT_EQ("beta1", nearest("beta", std::vector<std::string>{"beta_of_adam", "beta1"}));
  // Two letters say too little, and what follows a full stop is a name of its own.
  EXPECT_EQ("", nearest("re", commands));
  EXPECT_EQ("", nearest("data.test_images", std::vector<std::string>{"data"}));
  EXPECT_EQ("", nearest("optimizer", std::vector<std::string>{"optimizer.probes"}));
}

TEST(Nearest, NothingIsSuggestedWhereNothingIsNear) {
  EXPECT_EQ("", nearest("dropout", options));
  EXPECT_EQ("", nearest("x", std::vector<std::string>{"y"}));
  EXPECT_EQ("", nearest("", options));
  EXPECT_EQ("", nearest("probes", {}));
  EXPECT_EQ("", nearest("", std::vector<std::string>{""}));
  EXPECT_EQ("", nearest(std::string(1000000, 'p'), options));
}

TEST(Suggestion, IsTheNameOrElseAllOfThem) {
  const std::vector<std::string> names{"adamw", "prox_sgd", "sadam"};
  EXPECT_EQ("; did you mean 'sadam'?", suggestion("sadm", names));
  EXPECT_EQ("; valid are: adamw, prox_sgd, sadam.", suggestion("lion", names));
  EXPECT_EQ(".", suggestion("lion", {}));
}

TEST(Suggestion, IsNoGuessBetweenNamesThatAreEquallyNear) {
  EXPECT_EQ("; valid are: adamw, prox_sgd, sadam.",
            suggestion("adam", std::vector<std::string>{"adamw", "prox_sgd", "sadam"}));
  // Many names would bury the two.
  EXPECT_EQ("; did you mean 'beta1' or 'beta2'?", suggestion("beta3", options));
  EXPECT_EQ("; did you mean 'beta2'?", suggestion("betta2", options));
}

TEST(Alternatives, HaveAnOrBeforeTheLast) {
  EXPECT_EQ(alternatives(std::vector<std::string>{}), "");
  EXPECT_EQ(alternatives(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(alternatives(std::vector<std::string>{"a", "b"}), "a or b");
  EXPECT_EQ(alternatives(std::vector<std::string>{"a", "b", "c"}), "a, b or c");
}

TEST(InQuotes, IsPrintableAndNotTooLong) {
  EXPECT_EQ("'conv1'", in_quotes("conv1"));
  EXPECT_EQ("'\\x1b[2J\\xc3'", in_quotes("\x1b[2J\xc3"));
  EXPECT_EQ("'" + std::string(100, 'a') + "...'", in_quotes(std::string(1000, 'a')));
}

}  // namespace
}  // namespace sadam::base
