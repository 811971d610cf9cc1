#include "topology/node/gpu_order.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

namespace dllaunch {
namespace {

std::size_t vendor_rank(const Gpu& gpu) {
  constexpr std::array<std::string_view, 4> vendors{"nvidia", "amd", "intel", "other"};
  return static_cast<std::size_t>(std::ranges::find(vendors, gpu.vendor) - vendors.begin());
}

}  // namespace

void number_and_sort(std::vector<Gpu>& gpus) {
  for (auto& gpu : gpus) {
    if (gpu.index != unnumbered_gpu) continue;
    IdSet used;
    for (const auto& other : gpus)
      if (other.vendor == gpu.vendor && other.index != unnumbered_gpu) used.insert(other.index);
    gpu.index = 0;
    while (used.contains(gpu.index)) ++gpu.index;
  }
  std::ranges::stable_sort(gpus, [](const Gpu& a, const Gpu& b) {
    return std::tuple(vendor_rank(a), a.index) < std::tuple(vendor_rank(b), b.index);
  });
}

}  // namespace dllaunch
