// Duration of place_ranks() on a machine from a file, median of many runs.
//
//   placement_bench TOPOLOGY [RANKS=0] [N=1001]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "topology/discovery/topology_format.hpp"
#include "topology/placement/placement.hpp"

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  using namespace dllaunch;
  if (argc < 2) {
    std::fprintf(stderr, "usage: placement_bench TOPOLOGY [RANKS] [N]\n");
    return 2;
  }
  const auto node = load_topology(argv[1]);
  if (!node) {
    std::fprintf(stderr, "%s\n", node.error().what.c_str());
    return 2;
  }
  const PlacementRequest request{.ranks = argc > 2 ? std::atoi(argv[2]) : 0};
  std::vector<double> us(static_cast<std::size_t>(argc > 3 ? std::atoi(argv[3]) : 1001));
  std::size_t ranks = 0;
  for (auto& one : us) {
    const auto begin = Clock::now();
    const auto placement = place_ranks(*node, request);
    one = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    if (!placement) {
      std::fprintf(stderr, "%s\n", placement.error().what.c_str());
      return 1;
    }
    ranks = placement->ranks.size();
  }
  std::sort(us.begin(), us.end());
  std::printf("place_ranks: %zu ranks on %d CPUs: median %.1f us, slowest of %zu %.1f us\n", ranks,
              node->cpus().size(), us[us.size() / 2], us.size(), us.back());
  return 0;
}
