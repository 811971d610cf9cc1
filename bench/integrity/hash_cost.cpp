// What runtime.integrity costs a step of `cnn` with SGD and momentum, on one rank with one thread:
//
//   bench_integrity [BATCH=32]          medians of wall clock; steps and hashes take turns
//   valgrind --tool=callgrind --collect-atstart=no --toggle-collect=FUNCTION bench_integrity 32
//   once
//
// FUNCTION is bench_step, bench_digest (at each comparison) or bench_prints (in each step, with two
// replicas); `once` calls each once, after two steps that are not counted.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/communicators/opening/communicators.hpp"
#include "trainer/backends/table/backends.hpp"
#include "trainer/models/models.hpp"
#include "trainer/optimizers/optimizer.hpp"
#include "trainer/parameters/parameter_arenas.hpp"

using namespace dllaunch;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int comparison_every = 50;  // steps

template <typename T>
T value_or_stop(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "bench_integrity: {}\n", result.error().what);
  std::exit(1);
}

struct Bench {
  Executable& executable;
  ParameterArenas& arenas;
  Batch batch;
  std::int64_t steps = 0;
  std::uint64_t hashes = 0;
};

}  // namespace

// Names that callgrind finds.
extern "C" {
[[gnu::noipa]] void bench_step(void* state) {
  auto& bench = *static_cast<Bench*>(state);
  bench.executable.forward(bench.batch, Phase::train);
  bench.executable.backward(1.0 / bench.batch.count, /*accumulate=*/false, [](int) {});
  bench.arenas.update({.lr = 0.01, .step = ++bench.steps});
}
[[gnu::noipa]] void bench_digest(void* state) {
  auto& bench = *static_cast<Bench*>(state);
  bench.hashes += bench.arenas.digest(/*with_gradients=*/true).weights;
}
[[gnu::noipa]] void bench_prints(void* state) {
  auto& bench = *static_cast<Bench*>(state);
  for (int slot = 0; slot < std::ssize(bench.executable.slots()); ++slot) {
    bench.hashes += bench.arenas.quick_hash_of_gradient(slot);
  }
}
}

namespace {

double milliseconds_of(void (*work)(void*), Bench& bench) {
  const auto before = Clock::now();
  work(&bench);
  return std::chrono::duration<double, std::milli>(Clock::now() - before).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

void measure(Bench& bench) {
  constexpr int rounds = 200;
  std::vector<double> step_ms;
  std::vector<double> digest_ms;
  std::vector<double> prints_ms;
  for (int round = 0; round < rounds; ++round) {
    step_ms.push_back(milliseconds_of(bench_step, bench));
    prints_ms.push_back(milliseconds_of(bench_prints, bench));
    digest_ms.push_back(milliseconds_of(bench_digest, bench));
  }
  const double step = median(step_ms);
  const double digest = median(digest_ms) / comparison_every;
  const double prints = median(prints_ms);
  fmt::print(
      "step {:.2f} ms; comparison {:.3f} ms, every {} steps {:.2f} %; prints {:.3f} ms, "
      "{:.2f} %\n",
      step, digest * comparison_every, comparison_every, 100 * digest / step, prints,
      100 * prints / step);
}

}  // namespace

int main(int argc, char** argv) {
  const int batch = argc > 1 ? std::atoi(argv[1]) : 32;
  const bool once = argc > 2 && std::string_view(argv[2]) == "once";
  const auto cnn = std::ranges::find(models(), "cnn", &ModelEntry::name);
  const Graph graph = value_or_stop(cnn->build({1, 28, 28}, 10));
  const auto fastest = std::ranges::find_if(backends(), [](const BackendEntry& each) {
    return each.name == "onednn" || each.name == "reference";  // hashes are computed on CPUs
  });
  auto backend = value_or_stop(fastest->open());
  auto executable = value_or_stop(backend->compile(graph, {.batch = batch, .threads = 1}));
  auto communicator = value_or_stop(open_communicator("solo", RankEnv{}));
  ParameterArenas arenas(*executable, *communicator, *find_optimizer("sgd"),
                         {.lr = 0.01, .momentum = 0.9});
  arenas.initialise(graph, 1);
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> images(static_cast<std::size_t>(batch) * 28 * 28);
  for (float& pixel : images) pixel = normal(random);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(batch));
  for (auto& label : labels) label = static_cast<std::int32_t>(random() % 10);
  Bench bench{.executable = *executable,
              .arenas = arenas,
              .batch = {.images = images, .labels = labels, .count = batch}};
  for (int i = 0; i < 2; ++i) bench_step(&bench);
  if (!once) {
    measure(bench);
    return 0;
  }
  bench_step(&bench);
  bench_digest(&bench);
  bench_prints(&bench);
  return 0;
}
