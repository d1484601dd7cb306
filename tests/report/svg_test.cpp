#include "report/svg.h"

#include <gtest/gtest.h>
#include <sadam/error.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <regex>
#include <set>
#include <string>

#include "report/picture.h"
#include "support/temporary_folder.h"
#include "support/xml.h"

namespace sadam::report {
namespace {

// ---- the palette, as readers see it ---------------------------------------------------------------------

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

Triple linear_of(std::string_view hex) {
  Triple rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(std::string(hex.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    rgb[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return rgb;
}

// How a reader sees it who lacks red, green or blue cones: Machado, Oliveira and Fernandes (2009),
// severity 1.
constexpr Matrix kAllCones = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix kNoRed = {
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kNoGreen = {
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix kNoBlue = {
    {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};

Triple times(const Matrix& matrix, const Triple& v) {
  Triple out{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) out[i] += matrix[i][j] * v[j];
  return out;
}

Triple lab_of(const Triple& linear) {
  constexpr Matrix kXyz = {{{0.4124564, 0.3575761, 0.1804375},
                            {0.2126729, 0.7151522, 0.0721750},
                            {0.0193339, 0.1191920, 0.9503041}}};
  const auto xyz = times(kXyz, linear);
  const auto f = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116; };
  const double x = f(xyz[0] / 0.95047);
  const double y = f(xyz[1]);
  const double z = f(xyz[2] / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

Triple seen(std::string_view hex, const Matrix& eyes) {
  auto linear = times(eyes, linear_of(hex));
  for (auto& each : linear) each = std::clamp(each, 0.0, 1.0);
  return lab_of(linear);
}

// CIEDE2000.
double difference(const Triple& first, const Triple& second) {
  constexpr double kDegree = std::numbers::pi / 180;
  const auto seventh = [](double c) {
    return std::sqrt(std::pow(c, 7) / (std::pow(c, 7) + std::pow(25.0, 7)));
  };
  const double grey =
      1 + 0.5 * (1 - seventh((std::hypot(first[1], first[2]) + std::hypot(second[1], second[2])) / 2));
  const double a1 = grey * first[1];
  const double a2 = grey * second[1];
  const double c1 = std::hypot(a1, first[2]);
  const double c2 = std::hypot(a2, second[2]);
  const auto hue = [&](double a, double b) { return std::fmod(std::atan2(b, a) / kDegree + 360, 360); };
  const double h1 = hue(a1, first[2]);
  const double h2 = hue(a2, second[2]);
  double turn = c1 * c2 == 0 ? 0 : h2 - h1;
  if (turn > 180) turn -= 360;
  if (turn < -180) turn += 360;
  const double chroma = (c1 + c2) / 2;
  const double light = (first[0] + second[0]) / 2;
  const double middle = c1 * c2 == 0 ? h1 + h2 : h1 + turn / 2;
  const auto wave = [&](double factor, double shift) {
    return std::cos((factor * middle + shift) * kDegree);
  };
  const double t = 1 - 0.17 * wave(1, -30) + 0.24 * wave(2, 0) + 0.32 * wave(3, 6) - 0.2 * wave(4, -63);
  const double sl = 1 + 0.015 * std::pow(light - 50, 2) / std::sqrt(20 + std::pow(light - 50, 2));
  const double dl = (second[0] - first[0]) / sl;
  const double dc = (c2 - c1) / (1 + 0.045 * chroma);
  const double dh = 2 * std::sqrt(c1 * c2) * std::sin(turn / 2 * kDegree) / (1 + 0.015 * chroma * t);
  const double angle = std::fmod(middle + 360, 360);
  const double rotation =
      -std::sin(60 * kDegree * std::exp(-std::pow((angle - 275) / 25, 2))) * 2 * seventh(chroma);
  return std::sqrt(dl * dl + dc * dc + dh * dh + rotation * dc * dh);
}

TEST(Palette, IsMeasuredWithThePublishedFormula) {
  // From the test data of Sharma, Wu and Dalal (2005).
  EXPECT_NEAR(difference({50, 2.6772, -79.7751}, {50, 0, -82.7485}), 2.0425, 1e-4);
  EXPECT_NEAR(difference({50, -1.3802, -84.2814}, {50, 0, -82.7485}), 1.0, 1e-4);
  EXPECT_NEAR(difference({50, 2.5, 0}, {73, 25, -18}), 27.1492, 1e-4);
  EXPECT_NEAR(difference({60.2574, -34.0099, 36.2677}, {60.4626, -34.1751, 39.4387}), 1.2644, 1e-4);
}

TEST(Palette, ColourBlindReadersCanTellAnyTwoApart) {
  struct Eyes {
    const char* name;
    Matrix matrix;
    double least;
  };
  for (const auto& eyes : {Eyes{"all cones", kAllCones, 17},
                           {"no red", kNoRed, 17},
                           {"no green", kNoGreen, 17},
                           {"no blue", kNoBlue, 12}})
    for (const bool dark : {false, true})
      for (std::size_t i = 0; i < kPalette.size(); ++i)
        for (std::size_t j = 0; j <= i; ++j) {
          const auto side = [&](std::size_t k) { return dark ? kPalette[k].dark : kPalette[k].light; };
          // The last comparison is with the text.
          const auto other = j < i ? side(j) : std::string_view(dark ? "#d8dee4" : "#333333");
          EXPECT_GT(difference(seen(side(i), eyes.matrix), seen(other, eyes.matrix)), eyes.least)
              << eyes.name << ": " << side(i) << " and " << other;
        }
}

TEST(Palette, StandsOutFromThePage) {
  const auto luminance = [](std::string_view hex) {
    const auto [r, g, b] = linear_of(hex);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  for (const auto& colour : kPalette) {
    EXPECT_GT(1.05 / (luminance(colour.light) + 0.05), 2.7) << colour.light;
    EXPECT_GT((luminance(colour.dark) + 0.05) / (luminance("#0d1117") + 0.05), 3.9) << colour.dark;
  }
}

TEST(Palette, EveryColourHasAMarkerOfItsOwn) {
  std::set<std::string_view> markers;
  for (std::size_t i = 0; i < kPalette.size(); ++i) markers.insert(marker({i}));
  EXPECT_EQ(markers.size(), kPalette.size());
}

// ---- pictures -------------------------------------------------------------------------------------------

Picture small_picture() {
  PicturePanel panel;
  panel.titles = {"panel", "x", "y"};
  panel.x = {0, 10};
  panel.y = {-1, 1};
  panel.curves.push_back({{{0, 0}, {5, 0.5}, {10, -0.5}}, {1}, Ink::line, "path", Marks::at_end});
  panel.curves.push_back({{{2, 0}, {3, 0}, {3, 0.5}, {2, 0}}, {}, Ink::area, "set"});
  panel.blobs.push_back({{{1, 0}, {2, 0}, {3, 0}}, {0, 0.5, 1}, {2}, "brake"});
  panel.marks.push_back({{5, 0}, "minimum", PictureMark::Side::left, PictureMark::Shape::ring});
  Picture picture;
  picture.title = "picture";
  picture.legend = {{{"path", {1}}, {"set", {}, Ink::area}}};
  picture.rows = {{200, {panel, panel}}};
  picture.caption = {"A caption."};
  return picture;
}

TEST(Picture, IsWellFormedWhateverTheTextsAre) {
  const std::string nasty = "a<b & \"c\" 'd' > ]]> \x01\x1b[0m \xff\xc3 é ×";
  auto picture = small_picture();
  picture.title = picture.subtitle = picture.legend[0][0].text = nasty;
  picture.caption = {nasty, nasty};
  auto& panel = picture.rows[0].panels[0];
  panel.titles = {nasty, nasty, nasty};
  panel.curves[0].name = panel.blobs[0].name = panel.marks[0].text = nasty;
  const auto svg = to_svg(picture);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find("a&lt;b &amp; &quot;c&quot;"), std::string::npos);
}

TEST(Picture, FollowsItsReaderOrIsForOnePage) {
  const auto both = to_svg(small_picture());
  EXPECT_EQ(count_of(both, "prefers-color-scheme: dark"), 1U);
  EXPECT_EQ(count_of(both, kPalette[0].light.data()), 1U);
  EXPECT_EQ(count_of(both, kPalette[0].dark.data()), 1U);
  for (const bool dark : {false, true}) {
    const auto one = to_svg(small_picture(), dark ? PageColours::dark : PageColours::light);
    EXPECT_EQ(count_of(one, "prefers-color-scheme"), 0U);
    EXPECT_EQ(count_of(one, kPalette[0].light.data()), dark ? 0U : 1U);
    EXPECT_EQ(count_of(one, kPalette[0].dark.data()), dark ? 1U : 0U);
  }
}

TEST(Picture, WhatIsNotFiniteInterruptsACurveAndWhatIsFarStaysSvg) {
  auto picture = small_picture();
  auto& curve = picture.rows[0].panels[0].curves[0];
  curve.points = {{0, 0}, {1, 0.1}, {NAN, 0}, {2, 0}, {1e300, -1e300}, {3, INFINITY}, {4, 0}};
  const auto svg = to_svg(picture);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(svg.find("e+"), std::string::npos);
  const auto at = svg.find("line c1\" d=\"M", svg.find("<svg x="));
  const auto path = svg.substr(at, svg.find('>', at) - at);
  EXPECT_EQ(count_of(path, "M"), 2U) << path;
}

TEST(Picture, KeepsTheBendsOfACurveAndDropsWhatNobodySees) {
  auto picture = small_picture();
  auto& curve = picture.rows[0].panels[0].curves[0];
  curve.points.clear();
  for (int i = 0; i <= 1000; ++i) curve.points.push_back({i / 100.0, i <= 500 ? 0 : (i - 500) / 1000.0});
  const auto svg = to_svg(picture);
  const auto at = svg.find("line c1\" d=\"M", svg.find("<svg x="));
  const auto path = svg.substr(at, svg.find('>', at) - at);
  EXPECT_EQ(count_of(path, "L"), 2U) << path;
}

TEST(Picture, WordsBesideAPointStayWithinTheFrame) {
  auto picture = small_picture();
  auto& marks = picture.rows[0].panels[0].marks;
  marks.clear();
  const std::string words = "words that are quite long";
  for (const double x : {0.05, 5.0, 9.95})
    for (const auto side : {PictureMark::Side::right, PictureMark::Side::left, PictureMark::Side::above})
      marks.push_back({{x, 0}, words, side, PictureMark::Shape::disc});
  const auto svg = to_svg(picture);
  const std::regex text(R"x(<text x="([0-9.]+)" y="[0-9.]+" class="halo" text-anchor="([a-z]+)">words)x");
  const double left = 58;
  const double right = left + frame_width(0.5);
  std::size_t seen_words = 0;
  for (std::sregex_iterator it(svg.begin(), svg.end(), text), end; it != end; ++it, ++seen_words) {
    const double part = (*it)[2] == "start" ? 0 : (*it)[2] == "end" ? 1 : 0.5;
    const double from = std::stod((*it)[1]) - part * text_width(words);
    EXPECT_GE(from, left);
    EXPECT_LE(from + text_width(words), right);
  }
  EXPECT_EQ(seen_words, 9U);
}

TEST(Picture, AxesOfPowersSayThem) {
  auto picture = small_picture();
  auto& panel = picture.rows[0].panels[0];
  panel.log_y = true;
  panel.y = {1e-9, 20};
  const auto svg = to_svg(picture);
  EXPECT_NE(svg.find(">10⁻⁹<"), std::string::npos);
  EXPECT_NE(svg.find(">10⁻¹<"), std::string::npos);
  Frame frame;
  frame.height = 100;
  frame.log_y = true;
  frame.y = {1e-4, 1};
  EXPECT_NEAR(frame.to_y(1e-2), 50, 1e-9);
}

TEST(Picture, EqualScalesWidenOnlyOneRange) {
  AxisRange x{0, 4};
  AxisRange y{-1, 1};
  equalise(x, y, 400, 400);
  EXPECT_EQ(x.high - x.low, 4);
  EXPECT_EQ(y.high - y.low, 4);
  EXPECT_EQ(y.low + y.high, 0);
}

TEST(PictureFile, ItsNameSaysWhatItIs) {
  const TemporaryFolder folder;
  for (const auto* name : {"a.jpg", "a", "a.svg.gz"}) EXPECT_THROW(check_picture_file(name), Error) << name;
  const auto path = folder.path() / "a.svg";
  write_picture(path, small_picture());
  EXPECT_EQ(text_of_file(path), to_svg(small_picture()));
  try {
    check_picture_file("a.png");
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("librsvg2-dev"), std::string::npos);
    GTEST_SKIP() << error.what();
  }
  write_picture(folder.path() / "a.png", small_picture(), true);
  EXPECT_EQ(text_of_file(folder.path() / "a.png").substr(1, 3), "PNG");
  write_picture(folder.path() / "a.pdf", small_picture());
  EXPECT_EQ(text_of_file(folder.path() / "a.pdf").substr(0, 5), "%PDF-");
}

// (The test runs in the root of the source.)
TEST(DocumentedPictures, FollowTheirReaderIntoTheDarkAndWriteExponentsAsSuch) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("docs/images")) {
    if (entry.path().extension() != ".svg") continue;
    const auto svg = text_of_file(entry.path());
    EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos) << entry.path();
    EXPECT_EQ(svg.find("e^"), std::string::npos) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 8U);
}

}  // namespace
}  // namespace sadam::report
