#include "launcher/daemon/usage.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "launcher/base/split.hpp"

namespace dllaunch {
namespace {

/// Returns the sum for "8", "a100:8" or "a100:4,v100:2"; 0: not a number.
int gpus_in(std::string_view value) {
  constexpr int most = 1'000'000;
  int gpus = 0;
  for (auto one : split_at(value, ',')) {
    one.remove_prefix(one.rfind(':') + 1);
    int count = 0;
    std::from_chars(one.data(), one.data() + one.size(), count);
    gpus = std::clamp(gpus + std::clamp(count, 0, most), 0, most);
  }
  return gpus;
}

}  // namespace

double gpu_hours(const RunOutline& plan, double nodes, double seconds) {
  int gpus = 0;
  for (const auto& [option, value] : plan.sbatch)
    if (option == "--gpus-per-node") gpus = gpus_in(value);
  return std::max(1, gpus) * nodes * std::max(0.0, seconds) / 3600;
}

}  // namespace dllaunch
