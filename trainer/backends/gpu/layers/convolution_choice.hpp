// Of the ways in which a library can compute a convolution, the one that was the fastest here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "runtime/rank/rank_env.hpp"
#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::gpu {

/// Most that a way may ask for, and how many are tried out, the likeliest first.
constexpr std::size_t most_workspace = std::size_t{1} << 30;
constexpr std::size_t most_candidates = 8;

/// What was the fastest is kept, by GPU model, library version and shape, where measured_file()
/// says; nothing is measured again where that is known.
struct PlanChoice {
  EnvLookup lookup;
  std::string gpu;  // model
};

/// The name by which the library knows the way that was taken under this key.
std::optional<std::int64_t> known_way(const PlanChoice& choice, const std::string& key);
/// A cache that cannot be written costs the next start its trials and nothing else.
void keep_way(const PlanChoice& choice, const std::string& key, std::int64_t way);

/// Arrays of a trial.
struct ConvolutionMemory {
  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
  void* workspace = nullptr;
};

struct Fastest {
  std::size_t way = 0;
  bool settled = false;  // false: there was no room to try them, another start may choose otherwise
};

/// Has the default stream compute the convolution in way i; false: the library did not.
using TryWay = std::function<bool(std::size_t i, const ConvolutionMemory& memory)>;

/// The fastest on zeros, in memory of its own: workspaces[i] is what way i asks for. Ways that fail
/// are out; nullopt: all did. The first where there is no room to try, or no other.
std::optional<Fastest> fastest_way(const ConvolutionShape& shape,
                                   std::span<const std::size_t> workspaces, const TryWay& try_way);

}  // namespace dllaunch::gpu
