#include "data/synthetic.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "data/random.h"

namespace sadam::data {
namespace {

constexpr int kSide = 32;
constexpr std::size_t kPlane = kSide * kSide;
/// Lengths inside a picture are in sixteenths of a pixel.
constexpr int kPixel = 16;

/// How much pictures of one class differ: chosen, with AdamW alone, so that the 2-bit QATNet gets some
/// classes right and many wrong, and unlearns at a constant learning rate.
constexpr int kMinRadius = 6 * kPixel;
constexpr int kMaxRadius = 13 * kPixel;
constexpr int kReach = 7 * kPixel;  ///< from the middle of the picture to that of the thing, in x and in y
constexpr int kTurn = 12;           ///< 64 tan(angle/2) of the largest turn, 21 degrees
constexpr int kOthers = 3;          ///< things that do not count, at most
constexpr int kTint = 60;           ///< of a colour, in each channel
constexpr int kShade = 30;          ///< of a colour, in all channels
constexpr int kNoise = 50;          ///< largest noise of a pixel
constexpr int kInContext = 40;      ///< per cent of pictures with the background of their look

using Colour = std::array<int, 3>;
constexpr std::uint32_t kColourCount = 10;
constexpr std::array<Colour, kColourCount> kColours = {{{230, 40, 40},
                                                        {40, 200, 60},
                                                        {50, 70, 230},
                                                        {235, 215, 50},
                                                        {200, 50, 210},
                                                        {50, 210, 220},
                                                        {240, 130, 40},
                                                        {235, 235, 235},
                                                        {25, 25, 30},
                                                        {128, 120, 110}}};

constexpr std::uint32_t kShapes = 10;
bool inside(std::uint32_t shape, int u, int v, int r) {
  const int across = std::abs(u);
  const int along = std::abs(v);
  const int far = std::max(across, along);
  const int square = u * u + v * v;
  switch (shape) {
    case 0:  // disc
      return square < r * r;
    case 1:  // square
      return far < r * 7 / 8;
    case 2:  // triangle
      return v < r * 3 / 4 && 2 * across < v + r;
    case 3:  // cross
      return far < r && std::min(across, along) < r / 3;
    case 4:  // ring
      return square < r * r && 4 * square > r * r;
    case 5:  // lying bar
      return across < r && along < r / 2;
    case 6:  // standing bar
      return across < r / 2 && along < r;
    case 7:  // diamond
      return across + along < r;
    case 8:  // four blocks
      return far < r && std::min(across, along) > r / 3;
    default:  // T, upside down
      return far < r && (v > r / 2 || across < r / 3);
  }
}

constexpr std::uint32_t kPatterns = 5;
/// Which of its two colours a thing has at a point.
bool first_colour(std::uint32_t pattern, int u, int v, int stripe) {
  // The offset, a multiple of two stripes, keeps the numerator positive: division rounds towards zero.
  const auto odd = [stripe](int x) { return (x + 64 * stripe) / stripe % 2 != 0; };
  switch (pattern) {
    case 0:
      return odd(u);
    case 1:
      return odd(v);
    case 2:
      return odd((u + v) * 3 / 4);
    case 3:
      return odd((u - v) * 3 / 4);
    default:
      return odd(u) != odd(v);
  }
}

/// What makes a thing what it is.
struct Look {
  std::uint32_t shape, pattern, first, second;
};

/// Look n = 10·shape + kind of a hundred. Each shape, pattern and colour belongs to many looks, and every
/// kind has every shape and every first colour once: it takes two of them to tell a look, or a kind.
Look look_of(std::uint32_t n) {
  const auto shape = n / 10;
  const auto kind = n % 10;
  const auto first = (kind + 3 * shape) % kColourCount;
  return {shape, (kind + shape) % kPatterns, first, (first + 1 + (kind + 2 * shape) % 9) % kColourCount};
}

/// From one colour to another, in one of four directions.
struct Backdrop {
  std::uint32_t from, to, direction;
};

/// Where look n is often found.
Backdrop backdrop_of(std::uint32_t n) { return {7 * n % 10, (7 * n / 10 + n) % 10, 3 * n % 4}; }

/// A rotation, in 256ths.
struct Turn {
  int cosine, sine;

  /// By the angle with 64 tan(angle/2) = t: exact enough, and no trigonometry, whose last bit differs between
  /// libraries.
  static Turn from(int t) {
    const int scale = 4096 + t * t;
    return {256 * (4096 - t * t) / scale, 256 * 128 * t / scale};
  }
};

/// Red, green and blue planes; values may leave [0, 255] until the picture is finished.
using Canvas = std::array<std::array<int, kPlane>, 3>;

Colour tinted(std::uint32_t colour, Random& random) {
  const int shade = random.between(-kShade, kShade);
  auto result = kColours[colour];
  for (auto& channel : result) channel += shade + random.between(-kTint, kTint);
  return result;
}

void paint_backdrop(Canvas& canvas, const Backdrop& backdrop, Random& random) {
  const auto from = tinted(backdrop.from, random);
  const auto to = tinted(backdrop.to, random);
  const int shift = random.between(-8, 8);
  std::array<Colour, kSide> ramp;
  for (int i = 0; i < kSide; ++i) {
    const int t = std::clamp(i + shift, 0, kSide);
    for (std::size_t c = 0; c < 3; ++c)
      ramp[static_cast<std::size_t>(i)][c] = (from[c] * (kSide - t) + to[c] * t) / kSide;
  }
  // Twice the place on the ramp is right·x + down·y + start.
  struct Direction {
    int right, down, start;
  };
  constexpr std::array<Direction, 4> kDirections = {{{2, 0, 0}, {0, 2, 0}, {1, 1, 0}, {1, -1, kSide - 1}}};
  const auto [right, down, start] = kDirections[backdrop.direction];
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      const auto& colour = ramp[static_cast<std::size_t>((right * x + down * y + start) / 2)];
      for (std::size_t c = 0; c < 3; ++c) canvas[c][static_cast<std::size_t>(y * kSide + x)] = colour[c];
    }
}

struct Place {
  int x, y, radius;
};

void paint_thing(Canvas& canvas, const Look& look, const Place& place, Random& random) {
  const auto first = tinted(look.first, random);
  const auto second = tinted(look.second, random);
  const auto turn = Turn::from(random.between(-kTurn, kTurn));
  const int stripe = random.between(2 * kPixel, 4 * kPixel);
  const int phase = random.between(0, 2 * stripe);
  const int reach = place.radius * 3 / 2;  // a turned square included
  const auto begin = [&](int middle) { return std::max(0, (middle - reach) / kPixel); };
  const auto end = [&](int middle) { return std::min(kSide, (middle + reach) / kPixel + 1); };
  for (int y = begin(place.y); y < end(place.y); ++y)
    for (int x = begin(place.x); x < end(place.x); ++x) {
      const int dx = x * kPixel + kPixel / 2 - place.x;
      const int dy = y * kPixel + kPixel / 2 - place.y;
      const int u = (turn.cosine * dx + turn.sine * dy) / 256;
      const int v = (turn.cosine * dy - turn.sine * dx) / 256;
      if (!inside(look.shape, u, v, place.radius)) continue;
      const auto& colour = first_colour(look.pattern, u + phase, v + phase, stripe) ? first : second;
      for (std::size_t c = 0; c < 3; ++c) canvas[c][static_cast<std::size_t>(y * kSide + x)] = colour[c];
    }
}

/// Things that any class may have around.
void paint_others(Canvas& canvas, Random& random) {
  for (auto left = random.between(0, kOthers); left > 0; --left) {
    Look look;
    look.shape = random.below(kShapes);
    look.pattern = random.below(kPatterns);
    look.first = random.below(kColourCount);
    look.second = random.below(kColourCount);
    Place place;
    place.x = random.between(0, kSide * kPixel);
    place.y = random.between(0, kSide * kPixel);
    place.radius = random.between(3 * kPixel, 6 * kPixel);
    paint_thing(canvas, look, place, random);
  }
}

/// A picture of look n. (Every draw is a statement of its own: within an expression the compiler chooses the
/// order.)
void paint(Canvas& canvas, std::uint32_t n, Random& random) {
  Backdrop backdrop;
  backdrop.from = random.below(kColourCount);
  backdrop.to = random.below(kColourCount);
  backdrop.direction = random.below(4);
  if (random.between(1, 100) <= kInContext) backdrop = backdrop_of(n);
  paint_backdrop(canvas, backdrop, random);
  paint_others(canvas, random);
  Place place;
  place.x = kSide * kPixel / 2 + random.between(-kReach, kReach);
  place.y = kSide * kPixel / 2 + random.between(-kReach, kReach);
  place.radius = random.between(kMinRadius, kMaxRadius);
  paint_thing(canvas, look_of(n), place, random);
}

/// Contrast, light and noise, then bytes.
void expose(const Canvas& canvas, Random& random, std::uint8_t* out) {
  const int contrast = random.between(150, 310);  // in 256ths
  const int light = random.between(-25, 25);
  for (const auto& plane : canvas) {
    std::array<int, kPlane> noise;  // the sum of two bytes: a triangle over ±255
    for (std::size_t i = 0; i < kPlane; i += 2) {
      const auto bits = random.bits();
      noise[i] = static_cast<int>((bits & 255) + (bits >> 8 & 255)) - 255;
      noise[i + 1] = static_cast<int>((bits >> 16 & 255) + (bits >> 24)) - 255;
    }
    for (std::size_t i = 0; i < kPlane; ++i) {
      const int value = 128 + light + (plane[i] - 128) * contrast / 256 + noise[i] * kNoise / 256;
      *out++ = static_cast<std::uint8_t>(std::clamp(value, 0, 255));
    }
  }
}

}  // namespace

Images make_synthetic(const SyntheticOptions& options) {
  if (options.classes != 10 && options.classes != 100)
    throw Error(
        fmt::format("a synthetic set of {} classes was asked for: it has 10 or 100.", options.classes));
  Images images;
  images.count = options.count;
  images.height = kSide;
  images.width = kSide;
  images.classes = options.classes;
  images.pixels.resize(images.count * images.bytes_per_image());
  images.labels.resize(images.count);
  Canvas canvas;
  for (std::size_t i = 0; i < images.count; ++i) {
    Random random(options.seed, options.test ? Purpose::test_picture : Purpose::train_picture, i);
    const auto label = static_cast<std::uint32_t>(i % static_cast<std::size_t>(options.classes));
    // A hundred classes are the looks; ten are the kinds, each with its ten looks equally often.
    const auto look = options.classes == 100 ? label : 10 * random.below(kShapes) + label;
    paint(canvas, look, random);
    expose(canvas, random, images.pixels.data() + i * images.bytes_per_image());
    images.labels[i] = label;
  }
  return images;
}

}  // namespace sadam::data
