#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "data/fetch/fetch.h"
#include "data/fetch/support.h"

namespace sadam::data {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

const std::vector<Member> two_files = {{"set/", ""}, {"set/a.bin", "first"}, {"./set/deep/b.bin", "second"}};

// Unpacks `bytes` to the folder "set"; afterwards the folder must hold the archive and, at most, "set".
std::string refusal_of(const std::string& bytes) {
  const TemporaryFolder folder;
  write_text(folder / "x", bytes);
  auto sentence = refusal([&] { unpack(folder / "x", folder / "set", {}); });
  EXPECT_EQ(folder.names(), (std::set<std::string>{"x"}));
  EXPECT_TRUE(says(sentence, (folder / "x").string()));
  return sentence;
}

TEST(Unpack, PutsTheFolderOfATarInPlace) {
  const TemporaryFolder folder;
  write_text(folder / "x.tgz", archive_of(two_files));
  unpack(folder / "x.tgz", folder / "set", {});
  EXPECT_EQ(text_of_file(folder / "set/a.bin"), "first");
  EXPECT_EQ(text_of_file(folder / "set/deep/b.bin"), "second");
  EXPECT_EQ(folder.names(), (std::set<std::string>{"set", "x.tgz"}));
}

TEST(Unpack, PutsTheFolderOfAZipInPlace) {
  const TemporaryFolder folder;
  write_text(folder / "x.zip", archive_of(two_files, Packed::zip));
  unpack(folder / "x.zip", folder / "set", {});
  EXPECT_EQ(text_of_file(folder / "set/a.bin"), "first");
  EXPECT_EQ(text_of_file(folder / "set/deep/b.bin"), "second");
}

TEST(Unpack, LeavesWhatElseIsInTheArchive) {
  const TemporaryFolder folder;
  write_text(folder / "x", archive_of({{"set/a", "a"}, {"other/b", "b"}, {"readme", "c"}}));
  unpack(folder / "x", folder / "set", {});
  EXPECT_EQ(folder.names(), (std::set<std::string>{"set", "x"}));
}

TEST(Unpack, FollowsAHardLinkWithinTheArchive) {
  const TemporaryFolder folder;
  write_text(folder / "x", archive_of({{"set/a", "same"}, {"set/b", "", "", "set/a"}}));
  unpack(folder / "x", folder / "set", {});
  EXPECT_EQ(text_of_file(folder / "set/b"), "same");
}

TEST(Unpack, RefusesNamesThatLeadOutside) {
  for (const auto packed : {Packed::tar_gz, Packed::zip})
    for (const std::string name : {"set/../../escaped", "../escaped", "/tmp/sadam-escaped", "set/.."}) {
      const auto sentence = refusal_of(archive_of({{"set/a", "a"}, {name, "b"}}, packed));
      EXPECT_TRUE(says(sentence, "leads out of its folder")) << name;
    }
  EXPECT_FALSE(fs::exists("/tmp/sadam-escaped"));
}

TEST(Unpack, RefusesLinksThatLeadOutside) {
  EXPECT_TRUE(
      says(refusal_of(archive_of({{"set/a", "a"}, {"set/l", "", "/etc"}})), "a link or special file"));
  EXPECT_TRUE(
      says(refusal_of(archive_of({{"set/l", "", "../.."}, {"set/l/b", "b"}})), "a link or special file"));
  EXPECT_TRUE(
      says(refusal_of(archive_of({{"set/a", "a"}, {"set/l", "", "", "../x"}})), "leads out of its folder"));
  EXPECT_TRUE(says(refusal_of(archive_of({{"set/a", "a"}, {"set/l", "", "", "/etc/passwd"}})), "leads out"));
}

TEST(Unpack, RefusesATruncatedArchive) {
  for (const auto packed : {Packed::tar_gz, Packed::zip}) {
    const auto whole = archive_of({{"set/a", noise(50'000)}, {"set/b", noise(50'000)}}, packed);
    for (const auto part : {whole.size() / 4, whole.size() / 2, whole.size() - 30})
      EXPECT_TRUE(says(refusal_of(whole.substr(0, part)), "cannot be unpacked"))
          << part << " of " << whole.size();
  }
}

TEST(Unpack, RefusesAFileWhoseBytesWereChanged) {
  auto bytes = archive_of({{"set/a", noise(50'000)}, {"set/b", "b"}}, Packed::zip);
  bytes[25'000] = static_cast<char>(bytes[25'000] ^ 1);
  EXPECT_TRUE(says(refusal_of(bytes), "cannot be unpacked"));
}

TEST(Unpack, RefusesWhatIsNoArchive) {
  EXPECT_TRUE(says(refusal_of("<html>not found</html>"), "cannot be unpacked"));
  EXPECT_TRUE(says(refusal_of(""), "fetch it again"));
}

TEST(Unpack, RefusesAnArchiveWithoutTheFolder) {
  EXPECT_TRUE(says(refusal_of(archive_of({{"other/a", "a"}})), "holds no folder 'set'"));
}

TEST(Unpack, StopsWhenAskedAndLeavesNothing) {
  const TemporaryFolder folder;
  write_text(folder / "x", archive_of({{"set/a", noise(1'000'000)}, {"set/b", "b"}}));
  int asked = 0;
  EXPECT_THROW(unpack(folder / "x", folder / "set", {.stop = [&] { return ++asked > 3; }}), Interrupted);
  EXPECT_EQ(folder.names(), (std::set<std::string>{"x"}));
}

TEST(Unpack, LeavesNothingVisibleWhenKilledAndRecoversAfterwards) {
  const TemporaryFolder folder;
  const std::string text = noise(1'000'000);
  write_text(folder / "x", archive_of({{"set/a", text}, {"set/b", "b"}}));
  Child child([&] {
    int calls = 0;
    const auto die = [&](std::uint64_t, std::uint64_t) {
      if (++calls == 3) raise(SIGKILL);
    };
    unpack(folder / "x", folder / "set", {.progress = die});
    return 0;
  });
  ASSERT_EQ(child.status(), -SIGKILL);
  // It died in the middle: something is there, under the hidden name alone.
  EXPECT_EQ(folder.names(), (std::set<std::string>{".set.unpacking", "x"}));
  EXPECT_TRUE(fs::exists(folder / ".set.unpacking/set/a"));

  write_text(folder / ".set.unpacking/set/left-over", "from the killed process");
  unpack(folder / "x", folder / "set", {});
  EXPECT_EQ(folder.names(), (std::set<std::string>{"set", "x"}));
  EXPECT_EQ(text_of_file(folder / "set/a"), text);
  EXPECT_FALSE(fs::exists(folder / "set/left-over"));
}

TEST(Unpack, SaysSoWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  write_text(folder / "x", archive_of({{"set/a", noise(200'000)}}));
  // A limit on the size of files makes write() fail as a full disk does.
  Child child([&] {
    sadam::testing::limit_file_size(100'000);
    const auto sentence = refusal([&] { unpack(folder / "x", folder / "set", {}); });
    return says(sentence, "cannot write") && says(sentence, "set/a: File too large") ? 0 : 1;
  });
  EXPECT_EQ(child.status(), 0);
  EXPECT_EQ(folder.names(), (std::set<std::string>{"x"}));
}

}  // namespace
}  // namespace sadam::data
