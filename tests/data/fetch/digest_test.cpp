#include "data/fetch/fetch.h"

#include <gtest/gtest.h>

#include "data/fetch/support.h"

namespace sadam::data {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST(Digest, MatchesKnownAnswers) {
  const TemporaryFolder folder;
  write_text(folder / "abc", "abc");  // RFC 1321 and FIPS 180-4
  EXPECT_EQ(digest_of(folder / "abc", Hash::md5, {}), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(digest_of(folder / "abc", Hash::sha256, {}),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(says(refusal([&] { digest_of(folder / "none", Hash::md5, {}); }), "none"));
}

}  // namespace
}  // namespace sadam::data
