// The kernels: every loop over the parameters that the library makes, one pass over memory each, on the CPU
// and on GPUs.
//
// A launch takes one struct, the same for both. Kernels see pointers and element counts, never tensors or
// modules, and split their work by position alone: no result depends on the number of threads, and the same
// launch gives the same bits on every run. The math of one element lives in the headers beside this one
// (philox.h, normal.h, direction.h, adamw.h, ascent.h, …) and is one text for both; the files in cpu/ and
// cuda/ only loop.
//
// What a kernel computes for later ones (lengths, coefficients, whether a step is skipped) is passed by
// address and stays where it was computed: on a GPU nothing has to visit the host, and a captured graph finds
// the numbers of the step that it is launched for.
//
// T is float or double throughout.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/math.h"
#include "kernels/step_numbers.h"

struct CUstream_st;  // what cudaStream_t points to

namespace sadam::kernels {

using Stream = CUstream_st*;

/// Where a launch runs: on so many threads of the CPU, or on a stream of a GPU.
struct Place {
  int threads = 1;
  Stream stream = nullptr;
};

/// What a direction is drawn from before it is scaled to length one.
enum class Distribution {
  normal,      ///< independent N(0, 1): scaled by 1/‖z‖, uniform on the sphere
  rademacher,  ///< independent ±1: scaled by 1/√d
};

/// Names one direction. Element e of it is a pure function of this and e (Philox4x32-10, counter based).
struct DirectionKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t probe = 0;  ///< below 65 536
};

/// The same, with the number of the step read where and when the kernel runs.
struct DirectionOfStep {
  std::uint64_t seed = 0;
  const std::int64_t* step = nullptr;
  std::uint32_t probe = 0;

  SADAM_HD DirectionKey key() const { return {seed, static_cast<std::uint64_t>(*step), probe}; }
};

/// Elements [first, first + count) of a normal direction, whose length is wanted.
struct LengthSegment {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  double* inverse = nullptr;  ///< 1/(‖z‖ + added), 0 where that divides by zero; written
};

/// 1/‖z‖ of each segment by itself.
struct InverseLengths {
  DirectionOfStep direction;
  std::vector<LengthSegment> segments;
  double added = 0;
  double* scratch = nullptr;  ///< as many numbers as Kernels::lengths_scratch says
  Place place;
};

/// A run of elements, contiguous in memory, whose first one has the global index `first` (below 2⁴⁸).
template <class T>
struct PerturbSegment {
  T* out = nullptr;         ///< w, written
  const T* base = nullptr;  ///< w₀; may be `out`
  std::int64_t count = 0;
  std::uint64_t first = 0;
  const double* inverse_length = nullptr;  ///< null: 1
};

/// out = base + scale · inverse_length · z, with z generated in registers.
template <class T>
struct Perturb {
  DirectionOfStep direction;
  Distribution distribution = Distribution::normal;
  double scale = 0;  ///< δ
  std::vector<PerturbSegment<T>> segments;
  Place place;
};

template <class T>
struct DotSegment {
  const T* gradient = nullptr;
  std::int64_t count = 0;
  std::uint64_t first = 0;
  const double* inverse_length = nullptr;  ///< null: 1
};

/// *out += Σ gradient · scale · inverse_length · z, accumulated in double.
template <class T>
struct Dot {
  DirectionOfStep direction;
  Distribution distribution = Distribution::normal;
  double scale = 1;
  std::vector<DotSegment<T>> segments;
  double* out = nullptr;
  double* scratch = nullptr;  ///< as many numbers as Kernels::dot_scratch says
  Place place;
};

template <class T>
struct AdamSegment {
  T* w = nullptr;
  T* m = nullptr;
  T* v = nullptr;
  const T* gradient = nullptr;
  std::int64_t count = 0;
  const AdamCoefficients* coefficients = nullptr;
};

/// The fused AdamW update: reads g, m, v, w once, writes m, v, w once; unless *skip is not 0.
template <class T>
struct AdamUpdate {
  std::vector<AdamSegment<T>> segments;
  const std::int64_t* skip = nullptr;  ///< null: never
  Place place;
};

template <class T>
struct AdamProbeSegment {
  T* out = nullptr;         ///< w, written
  const T* base = nullptr;  ///< w₀
  const T* m = nullptr;
  const T* v = nullptr;
  const T* gradient = nullptr;
  std::int64_t count = 0;
  const AdamCoefficients* coefficients = nullptr;  ///< decay is not used
};

/// out = base + Δ with Δ = −step_size·m'/r, the step Adam is about to take; *slope += ⟨g, Δ⟩, accumulated in
/// double. Neither m nor v is changed.
template <class T>
struct AdamProbe {
  std::vector<AdamProbeSegment<T>> segments;
  double* slope = nullptr;
  double* scratch = nullptr;  ///< as many numbers as Kernels::adam_probe_scratch says
  Place place;
};

template <class T>
struct AscentSegment {
  T* out = nullptr;         ///< w, written
  const T* base = nullptr;  ///< w₀
  const T* gradient = nullptr;
  std::int64_t count = 0;
};

/// Uphill, for SAM and ASAM. With t = 1 or, where it is adaptive, t = |w₀| + 0.01:
/// `ascent_length` adds Σ(t·g)², in double, to *squared_length; once that is complete, `ascend` makes
/// out = base + radius·t²·g/√(*squared_length), or out = base where that divides by zero.
template <class T>
struct Ascent {
  std::vector<AscentSegment<T>> segments;
  bool adaptive = false;
  double radius = 0;
  double* squared_length = nullptr;
  double* scratch = nullptr;  ///< of `ascent_length`, as many numbers as Kernels::ascent_scratch says
  Place place;
};

template <class T>
struct ProxSgdSegment {
  T* w = nullptr;
  T* buffer = nullptr;
  const T* gradient = nullptr;
  std::int64_t count = 0;
  const GroupRule* rule = nullptr;  ///< its lr, momentum and l1
};

/// buffer' = momentum·buffer + g,   w' = soft(w − lr·buffer', lr·l1),   soft(x, τ) = sign(x)·max(|x| − τ, 0);
/// unless *skip is not 0.
template <class T>
struct ProxSgdUpdate {
  std::vector<ProxSgdSegment<T>> segments;
  const std::int64_t* skip = nullptr;  ///< null: never
  Place place;
};

template <class T>
struct ConstSegment {
  const T* data = nullptr;
  std::int64_t count = 0;
};

/// *out += how many elements are NaN or infinite.
template <class T>
struct CountNonFinite {
  std::vector<ConstSegment<T>> segments;
  std::int64_t* out = nullptr;
  Place place;
};

struct CopySegment {
  void* to = nullptr;
  const void* from = nullptr;
  std::int64_t bytes = 0;
};

/// Copies many pieces, none of which overlaps another, if *only_if is not 0.
struct Copy {
  std::vector<CopySegment> segments;
  const std::int64_t* only_if = nullptr;  ///< null: always
  Place place;
};

/// rules[i] = values[i]: the host's copy may change at once.
struct SetRules {
  GroupRule* rules = nullptr;
  std::vector<GroupRule> values;
  Place place;
};

/// Before anything else in a step (see `begin_numbers`).
struct StartStep {
  StepState state;
  Place place;
};

/// After the probes of a round (see `finish_round`).
struct FinishStep {
  Round round;
  StepState state;
  Place place;
};

/// The kernels of a device by name, to be declared in a namespace of its own: the one list of them.
#define SADAM_DECLARE_KERNELS                             \
  template <class T>                                      \
  void perturb(const Perturb<T>& launch);                 \
  template <class T>                                      \
  void dot(const Dot<T>& launch);                         \
  template <class T>                                      \
  void adam_update(const AdamUpdate<T>& launch);          \
  template <class T>                                      \
  void adam_probe(const AdamProbe<T>& launch);            \
  template <class T>                                      \
  void ascent_length(const Ascent<T>& launch);            \
  template <class T>                                      \
  void ascend(const Ascent<T>& launch);                   \
  template <class T>                                      \
  void prox_sgd_update(const ProxSgdUpdate<T>& launch);   \
  template <class T>                                      \
  void count_non_finite(const CountNonFinite<T>& launch); \
  void inverse_lengths(const InverseLengths& launch);     \
  void copy(const Copy& launch);                          \
  void set_rules(const SetRules& launch);                 \
  void start_step(const StartStep& launch);               \
  void finish_step(const FinishStep& launch);

/// All kernels of a device, for one type of elements.
template <class T>
struct KernelsOf {
  void (*perturb)(const Perturb<T>&);
  void (*dot)(const Dot<T>&);
  std::int64_t (*dot_scratch)(const Dot<T>&);
  void (*adam_update)(const AdamUpdate<T>&);
  void (*adam_probe)(const AdamProbe<T>&);
  std::int64_t (*adam_probe_scratch)(const AdamProbe<T>&);
  void (*ascent_length)(const Ascent<T>&);
  std::int64_t (*ascent_scratch)(const Ascent<T>&);
  void (*ascend)(const Ascent<T>&);
  void (*prox_sgd_update)(const ProxSgdUpdate<T>&);
  void (*count_non_finite)(const CountNonFinite<T>&);
};

/// All kernels that a step is made of. Those of a GPU are enqueued and never waited for; a launch that the
/// driver refuses throws `sadam::Error`.
struct Kernels {
  KernelsOf<float> of_float;
  KernelsOf<double> of_double;
  void (*inverse_lengths)(const InverseLengths&);
  std::int64_t (*lengths_scratch)(const InverseLengths&);
  void (*copy)(const Copy&);
  void (*set_rules)(const SetRules&);
  void (*start_step)(const StartStep&);
  void (*finish_step)(const FinishStep&);

  template <class T>
  const KernelsOf<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float))
      return of_float;
    else
      return of_double;
  }
};

/// Those of the CPU: vectorised with Highway and dispatched at run time to the best instruction set of the
/// machine.
const Kernels& cpu_kernels();
/// Those of GPUs; only in builds with CUDA.
const Kernels& cuda_kernels();

/// Σ z² over the elements [first, first + count) of a normal direction. (A Rademacher one needs no pass: it
/// is `count`.)
struct SquaredNorm {
  DirectionKey key;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  int threads = 1;
};
double squared_norm(const SquaredNorm& launch);

}  // namespace sadam::kernels
