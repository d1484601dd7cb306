// How ρ slows a step down.
#pragma once

#include <string>

namespace sadam {

/// The form of the brake α(λ, ρ), by which the step (not the stored learning rate) is multiplied.
enum class Brake {
  exponential,  ///< e^{−λρ}: Algorithm 1 of the paper
  proximal,  ///< 1/(1 + λρ): the proximal step that Appendix D compares it with; brakes less for large λρ
};

/// α for one ρ. With 0 ≤ ρ < 1 the exponential form lies in (e^{−λ}, 1].
double brake(Brake form, double damping, double lgi);

/// The name used in files and messages: "exponential", "proximal".
std::string to_string(Brake form);

}  // namespace sadam
