// The names of the option families, written once.
#pragma once

#include <sadam/bias_correction.h>
#include <sadam/brake.h>
#include <sadam/directions.h>
#include <sadam/statistic.h>

#include "step/names.h"

namespace sadam {

inline constexpr Names<Brake, 2> kBrakeNames{
    {{Brake::exponential, "exponential"}, {Brake::proximal, "proximal"}}};

inline constexpr Names<Statistic, 3> kStatisticNames{{{Statistic::variance, "variance"},
                                                      {Statistic::unbiased_variance, "unbiased_variance"},
                                                      {Statistic::residual, "residual"}}};

inline constexpr Names<Directions, 4> kDirectionsNames{{{Directions::sphere, "sphere"},
                                                        {Directions::per_tensor, "per_tensor"},
                                                        {Directions::rademacher, "rademacher"},
                                                        {Directions::step, "step"}}};

inline constexpr Names<ProbeNoise, 2> kProbeNoiseNames{
    {{ProbeNoise::shared, "shared"}, {ProbeNoise::fresh, "fresh"}}};

inline constexpr Names<BiasCorrection, 3> kBiasCorrectionNames{{{BiasCorrection::adamw, "adamw"},
                                                                {BiasCorrection::reference, "reference"},
                                                                {BiasCorrection::none, "none"}}};

// The table of a family, by one of its values.
constexpr const auto& names_of(Brake) { return kBrakeNames; }
constexpr const auto& names_of(Statistic) { return kStatisticNames; }
constexpr const auto& names_of(Directions) { return kDirectionsNames; }
constexpr const auto& names_of(ProbeNoise) { return kProbeNoiseNames; }
constexpr const auto& names_of(BiasCorrection) { return kBiasCorrectionNames; }

}  // namespace sadam
