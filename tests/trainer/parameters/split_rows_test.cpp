#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "trainer/parameters/parameter_arenas.hpp"
#include "trainer/split/split_executable.hpp"

namespace dllaunch {
namespace {

/// lenet with every dense layer split: fc3 has 10 units, unevenly.
struct Arenas {
  Graph graph = graph_of("lenet");
  std::unique_ptr<Communicator> communicator = all_ranks();
  std::unique_ptr<Backend> backend = *backend_named("reference").open();
  std::unique_ptr<Executable> executable;
  std::unique_ptr<ParameterArenas> arenas;

  explicit Arenas(const char* optimizer, bool split = true) {
    const std::vector<std::string> layers{"fc1", "fc2", "fc3"};
    const auto parts = split_network(graph, layers, communicator->rank(), communicator->size());
    executable = or_throw(split ? compile_split(*backend, graph, *parts, {.batch = 2},
                                                {.communicator = communicator.get()})
                                : backend->compile(graph, {.batch = 2}));
    arenas = std::make_unique<ParameterArenas>(*executable, *communicator,
                                               *find_optimizer(optimizer), options_);
  }

 private:
  OptimizerOptions options_{.lr = 0.1, .momentum = 0.9};
};

void expect_equal(std::vector<Tensor> a, std::vector<Tensor> b) {
  ASSERT_EQ(a.size(), b.size());
  std::ranges::sort(a, {}, &Tensor::name);
  std::ranges::sort(b, {}, &Tensor::name);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].shape, b[i].shape) << a[i].name;
    EXPECT_EQ(a[i].data, b[i].data) << a[i].name;
  }
}

TEST(SplitRows, StartFromTheWeightsOfTheWholeNetwork) {
  Arenas split("sgd");
  Arenas whole("sgd", false);
  EXPECT_TRUE(split.arenas->split());
  EXPECT_FALSE(whole.arenas->split());
  for (Arenas* each : {&split, &whole}) each->arenas->initialise(each->graph, 7);
  const auto joined = split.arenas->join(split.arenas->weights());
  if (split.communicator->rank() > 0) {
    EXPECT_TRUE(joined.empty());
    return;
  }
  expect_equal(joined, whole.arenas->weights());
}

TEST(SplitRows, AreDealtToTheRanksAndJoinedAgain) {
  Arenas from("adamw", false);
  from.arenas->initialise(from.graph, 8);
  auto states = from.arenas->states();
  for (std::size_t t = 0; t < states.size(); ++t) {
    for (std::size_t i = 0; i < states[t].data.size(); ++i) {
      states[t].data[i] = static_cast<std::byte>((i * 7 + t) % 64);
    }
  }
  Arenas split("adamw");
  split.arenas->initialise(split.graph, 7);
  const bool root = split.communicator->rank() == 0;
  if (root) {
    ASSERT_TRUE(split.arenas->load_weights(from.arenas->weights()));
    ASSERT_TRUE(split.arenas->load_states(states));
  }
  split.arenas->broadcast();
  const auto weights = split.arenas->join(split.arenas->weights());
  const auto joined = split.arenas->join(split.arenas->states());
  // Dealt nothing, each rank keeps its rows.
  split.arenas->broadcast();
  const auto kept = split.arenas->join(split.arenas->weights());
  if (!root) return;
  expect_equal(weights, from.arenas->weights());
  expect_equal(joined, states);
  expect_equal(kept, weights);
}

TEST(SplitRows, AreNotReduced) {
  Arenas split("sgd");
  const auto& slots = split.executable->slots();
  for (const double bytes : {1e3, 1e9}) {
    for (const Bucket& bucket : split.arenas->plan(bytes)) {
      EXPECT_FALSE(slots[static_cast<std::size_t>(bucket.last_slot)].rows);
    }
  }
}

/// All gradients are 2: the norm is that of the whole network, on every rank.
TEST(SplitRows, CountOnceInTheNorm) {
  Arenas split("sgd");
  for (int i = 0; i < std::ssize(split.executable->slots()); ++i) {
    const ParameterSlot& slot = split.executable->slots()[static_cast<std::size_t>(i)];
    const std::int64_t valid = slot.rows
                                   ? elements_of(slot.shape) / slot.shape.front() * slot.rows->count
                                   : elements_of(slot.shape);
    std::vector<float> plain(static_cast<std::size_t>(elements_of(slot.shape)));
    std::fill_n(plain.begin(), valid, 2.F);
    split.executable->from_plain(i, plain.data(),
                                 split.arenas->layout().at(split.arenas->gradients(), i));
  }
  EXPECT_NEAR(split.arenas->gradient_norm(),
              2 * std::sqrt(static_cast<double>(split.graph.parameter_count())), 1e-9);
}

}  // namespace
}  // namespace dllaunch
