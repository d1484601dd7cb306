// AdamW, Prox-SGD and S-Adam on a function with a known minimum and on a small network.
#include <ATen/Parallel.h>
#include <sadam/version.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kinks.h"
#include "network.h"
#include "picture.h"
#include "table.h"

namespace {

constexpr auto help = R"(usage: demo [--quick] [--seed N] [--svg FILE]

Compares S-Adam with AdamW and Prox-SGD on a function with two kinks and on a
small ReLU network, and shows the brake it used.

  --quick      fewer seeds and steps
  --seed N     the first seed, a whole number from 0 (default 42)
  --svg FILE   also draws the paths on the function to FILE
  --help       shows this text
)";

struct Arguments {
  bool help = false;
  bool quick = false;
  std::uint64_t seed = 42;
  std::string svg;
};

/// Something wrong with the arguments, in one sentence.
struct BadArgument : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Room above for the seeds of the further runs.
std::uint64_t parse_seed(const std::string& text) {
  std::uint32_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size())
    throw BadArgument("--seed takes a whole number from 0 to 4294967295, not '" + text + "'.");
  return seed;
}

Arguments parse(const std::vector<std::string>& given) {
  Arguments arguments;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto& name = given[i];
    const auto value = [&] {
      if (i + 1 == given.size() || given[i + 1].empty())
        throw BadArgument(name + " needs a value; see --help.");
      return given[++i];
    };
    if (name == "--help" || name == "-h")
      arguments.help = true;
    else if (name == "--quick")
      arguments.quick = true;
    else if (name == "--seed")
      arguments.seed = parse_seed(value());
    else if (name == "--svg")
      arguments.svg = value();
    else
      throw BadArgument("unknown argument '" + name + "'; see --help.");
  }
  return arguments;
}

void save(const std::string& text, const std::string& file) {
  std::ofstream out(file);
  if (!(out << text << std::flush)) throw BadArgument("cannot write '" + file + "'.");
}

void run(const Arguments& arguments) {
  const auto began = std::chrono::steady_clock::now();
  at::set_num_threads(1);  // the problems are too small to share out
  std::cout << "sadam " SADAM_VERSION ": S-Adam, AdamW and Prox-SGD on two problems"
            << (arguments.quick ? " (a quick run)" : "") << "\n\n";

  const auto paths = demo::show_kinks(std::cout, arguments.seed, arguments.quick);
  if (!arguments.svg.empty()) {
    save(demo::picture(paths), arguments.svg);
    std::cout << demo::paragraph("The paths of seed " + std::to_string(arguments.seed) + " are drawn in " +
                                 arguments.svg + ".")
              << '\n';
  }
  demo::show_network(std::cout, arguments.seed, arguments.quick);

  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
  std::cout << "Done in " << demo::fixed(spent.count(), 0) << " s. Where to look next:\n"
            << "  README.md         use it in a program; what to expect of it\n"
            << "  docs/options.md   every option, and when not to use it\n"
            << "  examples/demo/    this program: other settings, other problems\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto arguments = parse({argv + 1, argv + argc});
    if (arguments.help)
      std::cout << help;
    else
      run(arguments);
    return 0;
  } catch (const BadArgument& error) {
    std::cerr << "demo: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "demo: " << error.what() << '\n';
    return 1;
  }
}
