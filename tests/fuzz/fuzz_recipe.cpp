// A recipe, then --set after each zero byte. What resolves is written and read back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <sadam/error.h>
#include "train/recipe/source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace train = sadam::train;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto next = [&] {
    const auto part = input.substr(0, input.find('\0'));
    input.remove_prefix(part.size() == input.size() ? part.size() : part.size() + 1);
    return part;
  };
  train::Recipe recipe;
  try {
    train::RecipeSource source;
    source.add_text(next(), "recipe");
    while (!input.empty()) source.set(next());
    recipe = source.resolve();
  } catch (const sadam::Error&) {
    return 0;
  }
  train::RecipeSource again;
  again.add_text(train::to_toml(recipe), "written");
  if (again.resolve() != recipe) std::abort();
  return 0;
}
