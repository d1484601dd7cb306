// main() of every test program that uses libtorch. Each test starts from the same random generator, so that
// it gives the same result alone and after others.
#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace {

class SeedsEachTest : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { at::manual_seed(1); }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(
      new SeedsEachTest);  // NOLINT: GoogleTest takes ownership
  return RUN_ALL_TESTS();
}
