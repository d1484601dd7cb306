#include "page/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/refusal.h"

namespace sadam::page {
namespace {

constexpr std::string_view kPage =
    R"(<!doctype html><head><meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-x='"></head>
<script type="application/json" id="sadam-data">null</script>
<script>"<script type=\"application/json\">null</script>)";

TEST(PageWith, PutsTheDataWhereThePageLooksForIt) {
  const auto page = page_with(kPage, R"({"a":1})");
  EXPECT_NE(page.find(R"(id="sadam-data">{"a":1}</script>)"), std::string::npos) << page;
  EXPECT_EQ(page.size(), kPage.size() + 3);
}

TEST(PageWith, NothingInTheDataEndsTheScriptAndAllOfItComesBack) {
  const nlohmann::json data = {{"name", "</script><script>alert(1)</script><!--"},
                               {"lines", "\u2028 \u2029 \xe2\x80\xaa ü"}};
  const auto page = page_with(kPage, data.dump());
  constexpr std::string_view kBefore = R"(id="sadam-data">)";
  const auto first = page.find(kBefore) + kBefore.size();
  const auto text = page.substr(first, page.find("</script>", first) - first);
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(text), data);
}

TEST(PageWith, RefusesAPageWithoutAPlaceForData) {
  EXPECT_TRUE(sadam::testing::says(sadam::testing::refusal([] { page_with("<html>", "null"); }),
                                   "has no place for data"));
}

TEST(PolicyOf, IsThePagesOwnOrAllowsNothing) {
  EXPECT_EQ(policy_of(kPage), "default-src 'none'; script-src 'sha256-x='");
  EXPECT_EQ(policy_of("<html>"), "default-src 'none'");
}

TEST(BuiltInPage, IsWholeAndAllowsNothingFromElsewhere) {
  const auto page = built_in_page();
  if (page.empty()) GTEST_SKIP() << "the page was not built";
  EXPECT_NE(page_with(page, "{}").find(R"(id="sadam-data">{}</script>)"), std::string::npos);
  const auto policy = policy_of(page);
  EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'sha256-")) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos) << policy;
  EXPECT_EQ(policy.find("http"), std::string::npos) << policy;
  EXPECT_TRUE(page.ends_with("</html>\n")) << page.substr(page.size() - 40);
}

}  // namespace
}  // namespace sadam::page
