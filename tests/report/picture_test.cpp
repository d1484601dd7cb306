#include "report/picture.h"

#include <gtest/gtest.h>

#include <limits>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/xml.h"

namespace sadam::report {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

struct ChartPoint {
  double x = 0;
  double y = 0;
  double reach = kNotANumber;
};

PictureCurve curve_through(const std::vector<ChartPoint>& points, Stroke stroke = Stroke::solid) {
  PictureCurve curve{{}, {0, stroke}, Ink::line, "method", Marks::at_points};
  for (const auto& [x, y, reach] : points) {
    curve.points.push_back({x, y});
    curve.reach.push_back(reach);
  }
  return curve;
}

PicturePanel panel_with(std::vector<PictureCurve> curves, const std::string& title = "panel") {
  PicturePanel panel;
  panel.titles = {title, "epoch", "loss"};
  panel.curves = std::move(curves);
  return panel;
}

Picture chart_of(std::vector<PicturePanel> panels, std::size_t across = 1) {
  Picture picture;
  picture.title = "chart";
  picture.rows = rows_of_charts(std::move(panels), across);
  return picture;
}

Picture chart_with(std::vector<PictureCurve> curves) { return chart_of({panel_with(std::move(curves))}); }

// The `d` of the first path whose class starts so.
std::string path_of(const std::string& svg, const std::string& css) {
  const auto start = svg.find("<path class=\"" + css);
  if (start == std::string::npos) return "";
  const auto from = svg.find(" d=\"", start) + 4;
  return svg.substr(from, svg.find('"', from) - from);
}

// The x and y of every absolute M and L.
std::vector<std::pair<double, double>> pixels_of(const std::string& path) {
  static const std::regex place("[ML]([0-9.-]+) ([0-9.-]+)");
  std::vector<std::pair<double, double>> pixels;
  for (std::sregex_iterator it(path.begin(), path.end(), place), end; it != end; ++it)
    pixels.emplace_back(std::stod((*it)[1]), std::stod((*it)[2]));
  return pixels;
}

TEST(Chart, IsWellFormedWhateverTheTextsAre) {
  const std::string nasty = "a<b & \"c\" 'd' > ]]> \x01\x1b[0m \xff\xc3 é ×";
  auto chart =
      chart_with({curve_through({{1, 2, 0.1}, {2, 3, 0.1}}), curve_through({{1, 1}}, Stroke::dashed)});
  chart.title = chart.subtitle = nasty;
  chart.legend = {{{nasty, {0, Stroke::solid}}}};
  auto& panel = chart.rows.front().panels.front();
  panel.titles = {nasty, nasty, nasty};
  panel.curves[0].name = nasty;
  const auto svg = to_svg(chart);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find("a&lt;b &amp; &quot;c&quot; 'd' &gt; ]]&gt; ??[0m ?? é ×"), std::string::npos) << svg;
}

TEST(Chart, HasAFrameForEveryPanelAndACurveForEverySeries) {
  const auto panel = panel_with({curve_through({{1, 2}, {2, 3}}), curve_through({{1, 4}, {2, 5}}),
                                 curve_through({{1, 4}, {2, 5}}, Stroke::dotted)});
  const auto svg = to_svg(chart_of({5, panel}, 3));
  EXPECT_EQ(count_of(svg, "class=\"frame\""), 5U);
  EXPECT_EQ(count_of(svg, "class=\"line c0\""), 10U);
  EXPECT_EQ(count_of(svg, "class=\"line dotted c0\""), 5U);
  EXPECT_EQ(count_of(svg, "class=\"dots c0\""), 10U);
  EXPECT_EQ(count_of(svg, "class=\"band"), 0U);
  EXPECT_EQ(xml_fault(svg), "");
}

TEST(Chart, KnowsALightAndADarkPage) {
  const auto svg = to_svg(chart_with({}));
  EXPECT_EQ(count_of(svg, "prefers-color-scheme: dark"), 1U);
  for (const auto* colour : {".c0 {", ".c5 {", ".page {", ".plain {", ".grid {", ".frame {"})
    EXPECT_EQ(count_of(svg, colour), 2U) << colour;
}

// Above its own frame, and below what stands above that.
TEST(Chart, ATitleThatIsTooWideForItsPanelHasSeveralLines) {
  const auto chart = [](const std::string& title) {
    const auto curve = curve_through({{1, 2}, {2, 3}});
    return to_svg(chart_of({panel_with({curve}), panel_with({curve}, title)}, 2));
  };
  const auto height_of = [](const std::string& svg) {
    std::smatch found;
    EXPECT_TRUE(std::regex_search(svg, found, std::regex("viewBox=\"0 0 [0-9.]+ ([0-9.]+)\"")));
    return std::stod(found[1]);
  };
  const std::string title = "built-in data (100 classes, so chance is 1 %), 2 bits: training loss";
  const auto svg = chart(title);
  EXPECT_EQ(svg.find(title), std::string::npos);
  EXPECT_NE(svg.find(">built-in data (100 classes, so chance is 1 %), 2"), std::string::npos) << svg;
  EXPECT_NEAR(height_of(svg), height_of(chart("panel")) + kTitleLine, 0.1);
}

TEST(Chart, TheSameChartGivesTheSameBytes) {
  const auto chart = chart_with({curve_through({{1, 2, 0.5}, {2, 1.0 / 3, 0.25}})});
  EXPECT_EQ(to_svg(chart), to_svg(chart));
}

TEST(Chart, PointsStandWhereTheNumbersOnTheAxesSay) {
  const auto svg = to_svg(chart_with({curve_through({{1, 0}, {2, 10}, {3, 4}})}));
  const auto pixels = pixels_of(path_of(svg, "line"));
  ASSERT_EQ(pixels.size(), 3U);
  // Numbers are centred under their place, and stand four pixels lower than their line.
  std::smatch ten;
  ASSERT_TRUE(std::regex_search(svg, ten, std::regex(R"x(y="([0-9.]+)" class="" text-anchor="end">10<)x")));
  EXPECT_NEAR(std::stod(ten[1]) - 4, pixels[1].second, 0.11);
  std::smatch three;
  ASSERT_TRUE(std::regex_search(
      svg, three, std::regex(R"x(x="([0-9.]+)" y="[0-9.]+" class="" text-anchor="middle">3<)x")));
  EXPECT_NEAR(std::stod(three[1]), pixels[2].first, 0.11);
  EXPECT_LT(pixels[1].second, pixels[2].second);
  EXPECT_LT(pixels[2].second, pixels[0].second);
}

TEST(Chart, TheBandIsOneDeviationAboveAndBelow) {
  const auto svg = to_svg(chart_with({curve_through({{1, 5, 1.0}, {2, 5, 2.0}}), curve_through({{1, 0}})}));
  const auto line = pixels_of(path_of(svg, "line"));
  const auto band = pixels_of(path_of(svg, "band c0"));
  ASSERT_EQ(line.size(), 2U);
  ASSERT_EQ(band.size(), 4U);  // above from left to right, below from right to left
  EXPECT_EQ(band[0].first, line[0].first);
  EXPECT_EQ(band[1].first, line[1].first);
  EXPECT_EQ(band[2].first, line[1].first);
  const double unit = line[0].second - band[0].second;
  EXPECT_GT(unit, 0);
  EXPECT_NEAR(line[1].second - band[1].second, 2 * unit, 0.21);
  EXPECT_NEAR(band[2].second - line[1].second, 2 * unit, 0.21);
  EXPECT_NEAR(band[3].second - line[0].second, unit, 0.21);
}

TEST(Chart, ThinLinesLieBelowThickOnes) {
  const auto svg = to_svg(chart_with(
      {curve_through({{1, 5}, {2, 5}}), curve_through({{1, 5, 1.0}, {2, 5, 2.0}}, Stroke::dashed)}));
  EXPECT_LT(svg.find("class=\"line dashed c0\""), svg.find("class=\"line c0\""));
}

TEST(Chart, AValueThatIsNotFiniteInterruptsTheCurve) {
  const auto svg = to_svg(chart_with({curve_through({{1, 5, 1.0},
                                                     {2, 4, 1.0},
                                                     {3, kNotANumber, kNotANumber},
                                                     {4, 3, 1.0},
                                                     {5, 2, 1.0},
                                                     {6, std::numeric_limits<double>::infinity()},
                                                     {7, std::numeric_limits<double>::max()}})}));
  EXPECT_EQ(count_of(path_of(svg, "line"), "M"), 2U);
  EXPECT_EQ(count_of(path_of(svg, "dots"), "M"), 4U);
  EXPECT_EQ(count_of(svg, "class=\"band"), 2U);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Chart, ASinglePointIsADotAlsoOfAThinLine) {
  const auto svg = to_svg(chart_with({curve_through({{1, 5, 1.0}}, Stroke::dashed)}));
  EXPECT_EQ(count_of(path_of(svg, "dots"), "M"), 1U);
  EXPECT_EQ(path_of(svg, "line"), "");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Chart, NothingToDrawIsStillAPicture) {
  for (const auto& svg : {to_svg({}), to_svg(chart_with({})), to_svg(chart_with({curve_through({})}))}) {
    EXPECT_EQ(xml_fault(svg), "");
    EXPECT_EQ(svg.find("nan"), std::string::npos);
  }
}

TEST(Chart, ALongLegendIsBrokenAndStaysOnThePage) {
  auto chart = chart_with({});
  chart.legend = {{}, std::vector<LegendKey>(12, {"a method with a long name", {}})};
  const auto svg = to_svg(chart);
  std::size_t keys = 0;
  std::set<std::string> heights;
  const std::regex swatch(R"(class="line plain" d="M([0-9.]+) ([0-9.]+)h26")");
  for (std::sregex_iterator it(svg.begin(), svg.end(), swatch), end; it != end; ++it, ++keys) {
    EXPECT_LT(std::stod((*it)[1]), 960 - 160);
    heights.insert((*it)[2]);
  }
  EXPECT_EQ(keys, 12U);
  EXPECT_EQ(heights.size(), 3U);
}

TEST(ChartAxis, TicksAreRoundNumbersWithinTheRange) {
  using Ticks = std::vector<double>;
  EXPECT_EQ(axis_ticks(0.8, 10.2, 10, true), (Ticks{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(axis_ticks(0.6, 20.4, 10, true), (Ticks{2, 4, 6, 8, 10, 12, 14, 16, 18, 20}));
  EXPECT_EQ(axis_ticks(0.5, 1.5, 10, true), (Ticks{1}));
  EXPECT_EQ(axis_ticks(0, 20, 5, false), (Ticks{0, 5, 10, 15, 20}));
  EXPECT_EQ(axis_ticks(-3, 3, 3, false), (Ticks{-2, 0, 2}));
  const auto small = axis_ticks(3.44, 4.64, 5, false);
  ASSERT_EQ(small.size(), 6U);
  EXPECT_NEAR(small[0], 3.6, 1e-12);
  EXPECT_NEAR(small[5], 4.6, 1e-12);
  for (const double high : {1e-300, 1e-9, 0.37, 1.0, 123.0, 1e15, 1e300}) {
    const auto ticks = axis_ticks(0, high, 5, false);
    EXPECT_GE(ticks.size(), 3U) << high;
    EXPECT_LE(ticks.size(), 10U) << high;
  }
}

TEST(ChartAxis, ThereAreNoTicksWhereThereIsNoRange) {
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(axis_ticks(1, 1, 5, false).empty());
  EXPECT_TRUE(axis_ticks(2, 1, 5, false).empty());
  EXPECT_TRUE(axis_ticks(kNotANumber, 1, 5, false).empty());
  EXPECT_TRUE(axis_ticks(-kInfinity, kInfinity, 5, true).empty());
  EXPECT_TRUE(axis_ticks(0, 1, 0, false).empty());
}

TEST(ChartAxis, LabelsHaveTheDigitsThatTellNeighboursApart) {
  EXPECT_EQ(tick_label(4, 1), "4");
  EXPECT_EQ(tick_label(4, 0.2), "4.0");
  EXPECT_EQ(tick_label(0.25, 0.05), "0.25");
  EXPECT_EQ(tick_label(-2, 1), "−2");
  EXPECT_EQ(tick_label(-1e-17, 0.1), "0");
  EXPECT_EQ(tick_label(2e6, 1e6), "2e+06");
}

TEST(ChartAxis, AQuantityThatIsNeverNegativeHasNoNegativeAxis) {
  const auto axis_of = [](const std::vector<ChartPoint>& points) {
    return chart_with({curve_through(points)}).rows[0].panels[0].y;
  };
  EXPECT_EQ(axis_of({{1, 2, 5.0}, {2, 12, 1.0}}).low, 0);
  EXPECT_GT(axis_of({{1, 2, 5.0}, {2, 12, 1.0}}).high, 13);
  EXPECT_GT(axis_of({{1, 3.5, 0.1}, {2, 4.5, 0.1}}).low, 3);  // zero is far
  EXPECT_LT(axis_of({{1, -2}, {2, 4.5}}).low, -2);
}

TEST(ChartAxis, EqualValuesStillHaveARangeAroundThem) {
  for (const double value : {0.0, 3.5, -7.0, 1e200}) {
    const auto panel = chart_with({curve_through({{value, value}})}).rows[0].panels[0];
    for (const auto range : {panel.x, panel.y}) {
      EXPECT_LE(range.low, value);
      EXPECT_LT(value, range.high);
      EXPECT_LT(range.low, range.high);
    }
  }
}

}  // namespace
}  // namespace sadam::report
