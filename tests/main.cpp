// main() of every test program that uses libtorch. Each test starts from the same random generator, so that it gives
// the same result alone and after others.
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace {

class SeedsEachTest : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { torch::manual_seed(1); }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new SeedsEachTest);  // NOLINT: GoogleTest takes ownership
  return RUN_ALL_TESTS();
}
