// Cost of an optimiser step on one thread, compared with copying as much memory.
//
//   bench_optimizers [MILLIONS OF WEIGHTS]
//
// One line per optimiser: nanoseconds per weight in fp32, the best of 15 steps, and the bytes read
// and written (weights, gradients, states) per second.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "trainer/optimizers/optimizer.hpp"

namespace {

using namespace dllaunch;

template <typename Work>
double best_seconds(Work work) {
  double best = 1e9;
  for (int round = 0; round < 15; ++round) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  return best;
}

void report(std::string_view name, double seconds, std::size_t count, std::size_t bytes) {
  const auto weights = static_cast<double>(count);
  fmt::print("{:15} {:5.2f} ns a weight, {:5.1f} GB/s\n", name, seconds / weights * 1e9,
             weights * static_cast<double>(bytes) / seconds / 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 8) * 1'000'000;
  std::vector<float> weights(count, 0.5F);
  std::vector<float> gradients(count, 0.1F);
  std::vector<std::vector<float>> states(3, std::vector<float>(count));
  const double copying =
      best_seconds([&] { std::memcpy(weights.data(), gradients.data(), count * sizeof(float)); });
  report("memcpy", copying, count, 2 * sizeof(float));
  for (const auto& entry : optimizers()) {
    OptimizerOptions options = entry.defaults;
    options.momentum = 0.9;
    const std::size_t kept = entry.states(options).size();
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < kept; ++i) pointers.push_back(states[i].data());
    StepInfo now{.lr = 1e-6, .step = 0, .epoch = 5};
    const double seconds = best_seconds([&] {
      now.step += 1;
      ParameterUpdate slot{.elements = count,
                           .weights = weights.data(),
                           .gradients = gradients.data(),
                           .states = pointers};
      if (entry.measure != nullptr) {
        const SquareSums sums = entry.measure(DType::f32, options, now, slot);
        slot.weight_norm = std::sqrt(sums.weights);
        slot.gradient_norm = std::sqrt(sums.gradients);
      }
      entry.update(DType::f32, options, now, slot);
    });
    report(entry.name, seconds, count, (3 + 2 * kept) * sizeof(float));
  }
}
