#include "fuzz/seeds.h"

#include <string_view>

#include "base/file.h"
#include "data/jpeg_writer.h"
#include "data/png_writer.h"

namespace sadam::data::fuzz {

void make_seeds(const std::filesystem::path& folder) {
  for (const char* name : {"fuzz_cifar", "fuzz_jpeg", "fuzz_png", "fuzz_annotations"})
    std::filesystem::create_directories(folder / name);

  // Two records of CIFAR-10 and of CIFAR-100, all of class 0.
  base::write_file_atomically(folder / "fuzz_cifar/ten", std::vector<std::byte>(2 * 3073));
  base::write_file_atomically(folder / "fuzz_cifar/hundred", std::vector<std::byte>(2 * 3074));

  using samples::Ink;
  using samples::Scans;
  int number = 0;
  for (const auto ink : {Ink::grey, Ink::rgb, Ink::cmyk, Ink::ycck})
    for (const auto scans : {Scans::one, Scans::progressive, Scans::one_per_coefficient})
      base::write_file_atomically(
          folder / "fuzz_jpeg" / std::to_string(number++),
          samples::write_jpeg({.width = 9, .height = 17, .ink = ink, .scans = scans, .quality = 60}));

  using samples::PngKind;
  number = 0;
  for (const auto kind : {PngKind::grey, PngKind::rgb, PngKind::palette, PngKind::rgb_alpha})
    for (const bool interlaced : {false, true})
      base::write_file_atomically(
          folder / "fuzz_png" / std::to_string(number++),
          samples::write_png({.width = 9, .height = 5, .kind = kind, .interlaced = interlaced}));
  // Behind signature and header, a text that claims two gigabytes.
  auto greedy = samples::write_png({.width = 9, .height = 5, .kind = PngKind::grey});
  greedy.resize(8 + 25);
  for (const char letter : std::string_view("yyyyzTXtyy")) greedy.push_back(static_cast<std::byte>(letter));
  base::write_file_atomically(folder / "fuzz_png" / "greedy", greedy);

  const auto write_text = [&](const char* name, std::string_view text) {
    base::write_file_atomically(folder / "fuzz_annotations" / name, text);
  };
  write_text("classes", "n02124075\nn04067472\n");
  write_text("annotations", "val_0.JPEG\tn02124075\t0\t32\t44\t62\nval_1.JPEG\tn04067472\t52\t55\t57\t59\n");
}

}  // namespace sadam::data::fuzz
