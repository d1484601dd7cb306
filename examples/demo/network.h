// The second problem: a small ReLU network on generated data.
#pragma once

#include <cstdint>
#include <iosfwd>

namespace demo {

/// Trains every contestant with several seeds and prints the table.
void show_network(std::ostream& out, std::uint64_t seed, bool quick);

}  // namespace demo
