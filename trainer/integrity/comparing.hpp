// How often ranks compare what they hold: one answer for all of them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dllaunch {

struct Comparing {
  std::int64_t every = 0;  // steps from one comparison to the next; 0: never
  bool prints = false;     // each rank keeps a print of its gradients of every step
  bool on_device = false;  // weights are in a GPU's memory

  bool operator==(const Comparing&) const = default;
};

/// What all ranks do, from what each would do. CPUs and GPUs round differently, so ranks on both
/// are not replicas bit for bit, and never compare. `ranks`: at least one.
Comparing common(std::span<const Comparing> ranks);

/// Of all ranks together; 1.4 MB as text.
inline constexpr std::size_t most_prints = std::size_t{1} << 16;
/// So many steps of `ranks` have prints; then a comparison is due.
constexpr std::size_t most_printed_steps(std::size_t ranks) {
  return ranks >= most_prints ? 1 : most_prints / ranks;
}

}  // namespace dllaunch
