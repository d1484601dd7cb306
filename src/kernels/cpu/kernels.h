// The CPU's kernels by name, for the table in table.cpp; all others take them from there.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace sadam::kernels {

template <class T>
void perturb(const Perturb<T>& launch);
template <class T>
void dot(const Dot<T>& launch);
template <class T>
void adam_update(const AdamUpdate<T>& launch);
template <class T>
void adam_probe(const AdamProbe<T>& launch);
template <class T>
void prox_sgd_update(const ProxSgdUpdate<T>& launch);
template <class T>
void count_non_finite(const CountNonFinite<T>& launch);
void inverse_lengths(const InverseLengths& launch);
void copy(const Copy& launch);
void set_rules(const SetRules& launch);
void start_step(const StartStep& launch);
void finish_step(const FinishStep& launch);

}  // namespace sadam::kernels
