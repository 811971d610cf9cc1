// Compares training with parameters in device memory with the same on the host: every optimiser,
// frozen parameters, checkpoints.
#include "trainer/backends/gpu/update/gpu_arenas.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/communicators/opening/communicators.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/operation_cases.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/models/models.hpp"
#include "trainer/parameters/parameter_arenas.hpp"

namespace dllaunch::gpu {
namespace {

Graph small_graph() {
  for (const OperationCase& one : operation_cases()) {
    if (one.name == "block_with_projection") return one.graph();
  }
  return {};
}

/// An executable and arenas of a run with one rank.
struct SmallRun {
  SmallRun(Graph of, std::string_view optimizer, bool on_device)
      : SmallRun(std::move(of), optimizer, ArenaOptions{.on_device = on_device}) {}
  SmallRun(Graph of, std::string_view optimizer, const ArenaOptions& placed)
      : graph(std::move(of)) {
    executable = *(*backend)->compile(graph, {.batch = 4});
    const OptimizerEntry& entry = *find_optimizer(optimizer);
    OptimizerOptions options = entry.defaults;
    options.weight_decay = 0.01;
    options.momentum = 0.9;
    arenas = std::make_unique<ParameterArenas>(*executable, *communicator, entry, options, placed);
    arenas->freeze(graph);
    arenas->initialise(graph, 7);
    arenas->begin_average();
  }
  double step(const Images& images, int number) {
    const double loss = executable->forward(images.batch(), Phase::train).loss_sum;
    executable->backward(0.25, /*accumulate=*/false, [](int) {});
    arenas->update({.lr = 0.01, .step = number, .epoch = 0.0, .previous_lr = 0.01});
    return loss;
  }

  Graph graph;
  Result<std::unique_ptr<Backend>> backend = backend_named("host_gpu").open();
  std::unique_ptr<Communicator> communicator = *open_communicator("solo", RankEnv{});
  std::unique_ptr<Executable> executable;
  std::unique_ptr<ParameterArenas> arenas;
};

std::vector<float> floats(const Tensor& tensor) {
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

void expect_near(const std::vector<Tensor>& seen, const std::vector<Tensor>& wanted) {
  ASSERT_EQ(seen.size(), wanted.size());
  for (std::size_t t = 0; t < wanted.size(); ++t) {
    ASSERT_EQ(seen[t].name, wanted[t].name);
    const auto a = floats(seen[t]);
    const auto b = floats(wanted[t]);
    for (std::size_t i = 0; i < b.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], 1e-4 * std::max(1.F, std::abs(b[i]))) << wanted[t].name << ' ' << i;
    }
  }
}

TEST(GpuArenas, TrainAsArenasOnTheHostDo) {
  for (const OptimizerEntry& optimizer : optimizers()) {
    SCOPED_TRACE(optimizer.name);
    SmallRun there(small_graph(), optimizer.name, /*on_device=*/true);
    SmallRun here(small_graph(), optimizer.name, /*on_device=*/false);
    ASSERT_TRUE(there.arenas->on_device());
    ASSERT_FALSE(here.arenas->on_device());
    EXPECT_TRUE(gpu_owns(there.arenas->gradients().data()));
    EXPECT_FALSE(gpu_owns(here.arenas->gradients().data()));
    const Images images(there.graph, 4);
    for (int step = 1; step <= 4; ++step) {
      const double wanted = here.step(images, step);
      EXPECT_NEAR(there.step(images, step), wanted, 1e-4 * wanted) << step;
    }
    expect_near(there.arenas->weights(), here.arenas->weights());
    expect_near(there.arenas->states(), here.arenas->states());
  }
}

TEST(GpuArenas, ClipAverageAndSpareVectorsAsArenasOnTheHostDo) {
  for (const std::string_view optimizer : {"sgd", "adamw", "lamb"}) {
    SCOPED_TRACE(optimizer);
    Graph graph = small_graph();
    graph.parameters[1].frozen = true;
    ArenaOptions how{.on_device = false, .clip_norm = 1e-3, .average_decay = 0.75};
    how.decay_vectors = false;
    SmallRun here(graph, optimizer, how);
    how.on_device = true;
    SmallRun there(graph, optimizer, how);
    const Images images(graph, 4);
    for (int step = 1; step <= 4; ++step) {
      const double wanted = here.step(images, step);
      EXPECT_NEAR(there.step(images, step), wanted, 1e-4 * wanted) << step;
      const double norm = here.arenas->gradient_norm();
      EXPECT_NEAR(there.arenas->gradient_norm(), norm, 1e-4 * norm);
      if (optimizer == "lamb") continue;  // which has replaced its gradients
      EXPECT_LE(norm, 1e-3 * (1 + 1e-5));
      if (step == 1) {
        EXPECT_NEAR(norm, 1e-3, 1e-6);
      }
    }
    expect_near(there.arenas->weights(), here.arenas->weights());
    expect_near(there.arenas->states(), here.arenas->states());
    const auto weights = there.arenas->weights();
    there.arenas->exchange_average();
    here.arenas->exchange_average();
    expect_near(there.arenas->weights(), here.arenas->weights());
    const auto loss = [&](SmallRun& run) {
      return run.executable->forward(images.batch(), Phase::evaluate).loss_sum;
    };
    EXPECT_NEAR(loss(there), loss(here), 1e-4 * loss(here)) << "computes with the average";
    there.arenas->exchange_average();
    EXPECT_EQ(floats(there.arenas->weights()[0]), floats(weights[0]));
  }
}

/// By the fake device's clock, which only the test advances.
TEST(GpuArenas, StepsAreTimed) {
  SmallRun run(small_graph(), "sgd", /*on_device=*/true);
  const Images images(run.graph, 4);
  const auto pass = [](float ms) { host_gpus().clock_ms += ms; };
  static_cast<void>(run.executable->take_step_times());
  for (int number = 1; number <= 6; ++number) {
    for (const bool second : {false, true}) {
      run.executable->forward(images.batch(), Phase::train);
      pass(2);
      run.executable->backward(0.25, second, [&](int) { pass(1); });
    }
    pass(3);  // for the other ranks
    run.arenas->update({.lr = 0.01, .step = number, .epoch = 0.0, .previous_lr = 0.01});
    pass(5);  // for images
  }
  const StepTimes times = run.executable->take_step_times();
  int calls = 0;
  run.executable->forward(images.batch(), Phase::train);
  run.executable->backward(0.25, false, [&](int) { ++calls; });
  EXPECT_EQ(times.steps, 6);
  EXPECT_NEAR(times.busy_s, 6 * (2 * (2 + calls) + 3) * 1e-3, 1e-9);
  EXPECT_NEAR(times.exposed_s, 6 * 3 * 1e-3, 1e-9);
  EXPECT_EQ(times.gaps, 5);
  EXPECT_NEAR(times.idle_s, 5 * 5 * 1e-3, 1e-9);
}

/// Bit for bit, whatever the optimiser does with zero gradients: weight decay is on.
TEST(GpuArenas, FrozenParametersStay) {
  for (const std::string_view optimizer : {"sgd", "adamw", "lars", "lamb"}) {
    SCOPED_TRACE(optimizer);
    Graph graph = small_graph();
    for (std::size_t p = 0; p < graph.parameters.size(); p += 2) graph.parameters[p].frozen = true;
    SmallRun run(graph, optimizer, /*on_device=*/true);
    const auto before = run.arenas->weights();
    const Images images(run.graph, 4);
    for (int step = 1; step <= 2; ++step) run.step(images, step);
    const auto after = run.arenas->weights();
    for (std::size_t slot = 0; slot < before.size(); ++slot) {
      EXPECT_EQ(after[slot].data == before[slot].data, run.arenas->frozen(static_cast<int>(slot)))
          << before[slot].name;
    }
  }
}

/// A resumed run continues bit for bit.
TEST(GpuArenas, GoOnFromWhatWasSaved) {
  SmallRun run(small_graph(), "adam", /*on_device=*/true);
  const Images images(run.graph, 4);
  run.step(images, 1);
  const auto weights = run.arenas->weights();
  const auto states = run.arenas->states();
  SmallRun again(small_graph(), "adam", /*on_device=*/true);
  ASSERT_TRUE(again.arenas->load_weights(weights));
  ASSERT_TRUE(again.arenas->load_states(states));
  EXPECT_EQ(again.step(images, 2), run.step(images, 2));
  const auto wanted = run.arenas->weights();
  const auto seen = again.arenas->weights();
  for (std::size_t t = 0; t < wanted.size(); ++t) EXPECT_EQ(seen[t].data, wanted[t].data);
}

TEST(GpuArenas, StepsAllocateNothing) {
  SmallRun run(small_graph(), "lamb", /*on_device=*/true);
  const Images images(run.graph, 4);
  run.step(images, 1);
  const std::size_t before = host_gpus().allocations;
  for (int step = 2; step <= 4; ++step) run.step(images, step);
  EXPECT_EQ(host_gpus().allocations, before);
}

TEST(GpuArenas, GiveAllTheirMemoryBack) {
  const std::size_t before = host_gpus().in_use[0];
  { const SmallRun run(small_graph(), "lars", /*on_device=*/true); }
  EXPECT_EQ(host_gpus().in_use[0], before);
}

TEST(GpuArenas, SayWhatTheGpuLacks) {
  const std::size_t all = host_gpus().bytes_each;
  host_gpus().bytes_each = host_gpus().in_use[0] + (std::size_t{3} << 20);
  std::string said;
  try {
    StepClock clock;
    GpuArenas arenas(nullptr, clock);
    static_cast<void>(arenas.allocate(std::size_t{8} << 20));
  } catch (const std::bad_alloc& refused) {
    said = refused.what();
  }
  host_gpus().bytes_each = all;
  EXPECT_EQ(said, "a parameter arena needs 8 MiB of GPU memory, 3 MiB are free");
}

/// If a batch fits only without the parameters, the error suggests one that fits with them.
TEST(GpuArenas, SayWhichBatchWouldLeaveThemRoom) {
  constexpr int batch = 64;
  const Graph graph = *find_model("lenet")->build({1, 28, 28}, 10);
  const auto backend = *backend_named("host_gpu").open();
  const auto solo = *open_communicator("solo", RankEnv{});
  const std::size_t all = host_gpus().bytes_each;
  const std::size_t before = host_gpus().in_use[0];
  for (const std::string_view name : {"sgd", "adam", "lars"}) {
    SCOPED_TRACE(name);
    const OptimizerEntry& optimizer = *find_optimizer(name);
    const auto refusal_of = [&](int images) -> std::string {
      const auto executable = *backend->compile(graph, {.batch = images});
      if (images == batch) {  // memory for the batch and one and a half arenas
        const auto arena = static_cast<std::size_t>(graph.parameter_count()) * sizeof(float);
        host_gpus().bytes_each = host_gpus().in_use[0] + arena * 3 / 2;
      }
      try {
        const ParameterArenas arenas(*executable, *solo, optimizer, optimizer.defaults);
        return {};
      } catch (const std::bad_alloc& refused) {
        return refused.what();
      }
    };
    const std::string said = refusal_of(batch);
    EXPECT_THAT(said, testing::HasSubstr(" beside batches of 64 images; about "));
    const auto at = said.find("about ");
    const int fits = at == std::string::npos ? 0 : std::stoi(said.substr(at + 6));
    EXPECT_GT(fits, batch / 4);
    EXPECT_LT(fits, batch);
    EXPECT_EQ(refusal_of(fits * 9 / 10), "");
    host_gpus().bytes_each = all;
    EXPECT_EQ(host_gpus().in_use[0], before) << "all is given back";
  }
}

}  // namespace
}  // namespace dllaunch::gpu
