// Autotuning of convolutions: picks the library's fastest algorithm on this GPU by measurement.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "runtime/rank/rank_env.hpp"
#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::gpu {

/// Limits of a candidate's workspace in bytes, and of the candidates that are timed, the library's
/// preferred ones first.
constexpr std::size_t max_workspace = std::size_t{1} << 30;
constexpr std::size_t max_candidates = 8;

/// Results on disk (measured_file()), by GPU model, library version and shape. A cached shape is
/// not measured again.
struct AutotuneCache {
  EnvLookup lookup;
  std::string gpu;  // model
};

/// Returns the library's id of the algorithm cached under this key.
std::optional<std::int64_t> cached_algorithm(const AutotuneCache& cache, const std::string& key);
/// Ignores write errors: the next start measures again.
void cache_algorithm(const AutotuneCache& cache, const std::string& key, std::int64_t index);

/// Device arrays of one trial.
struct ConvolutionMemory {
  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
  void* workspace = nullptr;
};

struct Fastest {
  std::size_t index = 0;   // of the candidate
  bool cacheable = false;  // false: chosen without measuring, for lack of memory
};

/// Runs the convolution with candidate i on the default stream. Returns whether the library did.
using TryAlgorithm = std::function<bool(std::size_t i, const ConvolutionMemory& memory)>;

/// Returns the candidate that is fastest on zeros, or nullopt if all fail. workspaces[i] is the
/// size in bytes that candidate i needs. Allocates the arrays itself; returns the first candidate
/// unmeasured if there is no memory for them or no other candidate.
std::optional<Fastest> fastest_algorithm(const ConvolutionShape& shape,
                                         std::span<const std::size_t> workspaces,
                                         const TryAlgorithm& try_algorithm);

}  // namespace dllaunch::gpu
