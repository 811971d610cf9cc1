#include "trainer/split/split_executable.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <type_traits>

#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/usable_backends.hpp"

namespace dllaunch {
namespace {

using testing::UnorderedElementsAreArray;

constexpr int most_images = 3;

/// Two dense layers to split with one between them, and statistics.
Graph network() {
  GraphBuilder net("m", {2, 5, 5});
  net.add("conv", Conv2d{.channels = 3, .kernel = 3, .bias = false});
  net.add("bn", BatchNorm{});
  net.add("flatten", Flatten{});
  net.add("fc1", Dense{.units = 7});
  net.add("relu1", Relu{});
  net.add("fc2", Dense{.units = 6});
  net.add("fc3", Dense{.units = 5});
  return *std::move(net).finish();
}

/// The executable of a backend with memory and weights of its own.
template <typename Real>
struct SplitOf {
  Graph graph;
  std::unique_ptr<Communicator> communicator = all_ranks();
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Executable> executable;
  std::vector<std::vector<Real>> weights;
  std::vector<std::vector<Real>> gradients;

  SplitOf(const BackendEntry& entry, Graph whole, const std::vector<std::string>& layers)
      : graph(std::move(whole)), backend(*entry.open()) {
    constexpr bool exact = std::is_same_v<Real, double>;
    const auto parts = split_network(graph, layers, communicator->rank(), communicator->size());
    executable = or_throw(compile_split(*backend, graph, *parts,
                                        {.batch = most_images,
                                         .precision = exact ? Precision::fp64 : Precision::fp32,
                                         .threads = 1},
                                        {.communicator = communicator.get()}));
    std::vector<void*> w;
    std::vector<void*> g;
    for (const ParameterSlot& slot : executable->slots()) {
      constexpr std::size_t line = 16;
      weights.emplace_back(slot.elements + line);
      gradients.emplace_back(slot.elements + line);
      w.push_back(aligned(weights.back()));
      g.push_back(aligned(gradients.back()));
    }
    executable->attach(w, g);
    const Tensors values = random_weights(graph);
    for (int i = 0; i < std::ssize(executable->slots()); ++i) {
      const std::vector<Real> plain = rows_of(i, values);
      executable->from_plain(i, plain.data(), aligned(weights[static_cast<std::size_t>(i)]));
    }
  }

  static Real* aligned(std::vector<Real>& memory) {
    void* at = memory.data();
    std::size_t space = memory.size() * sizeof(Real);
    return static_cast<Real*>(std::align(64, sizeof(Real), at, space));
  }

  const ParameterSlot& slot(int i) const {
    return executable->slots()[static_cast<std::size_t>(i)];
  }

  /// A slot's values of whole parameters, with its padding.
  std::vector<Real> rows_of(int i, const Tensors& whole) const {
    const auto& all = whole[static_cast<std::size_t>(slot(i).parameter)];
    if (!slot(i).rows) return {all.begin(), all.end()};
    const SlotRows rows = *slot(i).rows;
    const std::ptrdiff_t row = std::ssize(all) / rows.all;
    std::vector<Real> plain(all.begin() + row * rows.first,
                            all.begin() + row * (rows.first + rows.count));
    plain.resize(static_cast<std::size_t>(elements_of(slot(i).shape)));
    return plain;
  }

  std::vector<Real> gradient(int i) {
    std::vector<Real> plain(static_cast<std::size_t>(elements_of(slot(i).shape)));
    executable->to_plain(i, aligned(gradients[static_cast<std::size_t>(i)]), plain.data());
    return plain;
  }
};

struct Split : SplitOf<float> {
  explicit Split(const BackendEntry& entry) : SplitOf(entry, network(), {"fc1", "fc3"}) {}
};

class SplitOnBackend : public testing::TestWithParam<BackendEntry> {};

/// Every rank's images are of another seed; the last has one less.
int count_on(int rank, int ranks) {
  return rank + 1 == ranks ? most_images - 1 : most_images;
}

template <typename Real>
void expect_gradients_of_the_whole(SplitOf<Real>& split, double tolerance) {
  const int rank = split.communicator->rank();
  const int ranks = split.communicator->size();
  Compiled whole(backend_named("reference"), split.graph,
                 {.batch = most_images, .precision = Precision::fp64});
  whole.set_weights(random_weights(split.graph));
  Tensors expected(split.graph.parameters.size());
  Tensors own;
  for (int other = 0; other < ranks; ++other) {
    const Images images(split.graph, most_images, static_cast<unsigned>(other));
    whole->forward(images.batch(count_on(other, ranks)), Phase::train);
    whole->backward(0.25, false, [](int) {});
    const Tensors gradients = whole.gradients();
    if (other == rank) own = gradients;
    for (std::size_t p = 0; p < gradients.size(); ++p) {
      expected[p].resize(gradients[p].size());
      for (std::size_t i = 0; i < gradients[p].size(); ++i) expected[p][i] += gradients[p][i];
    }
  }

  const Images images(split.graph, most_images, static_cast<unsigned>(rank));
  split.executable->forward(images.batch(count_on(rank, ranks)), Phase::train);
  std::vector<int> reported;
  split.executable->backward(0.25, false, [&](int slot) {
    if (slot != no_slot) reported.push_back(slot);
  });
  std::vector<int> all(split.executable->slots().size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_THAT(reported, UnorderedElementsAreArray(all));
  for (const int slot : all) {
    // What is split is summed over the samples of all ranks.
    const auto theirs = split.rows_of(slot, split.slot(slot).rows ? expected : own);
    const auto ours = split.gradient(slot);
    EXPECT_LT(relative_error({ours.begin(), ours.end()}, {theirs.begin(), theirs.end()}), tolerance)
        << split.slot(slot).name;
  }
}

TEST_P(SplitOnBackend, GradientsAreThoseOfTheWholeNetwork) {
  Split split(GetParam());
  expect_gradients_of_the_whole(split, 1e-5);
}

TEST(SplitInDouble, NothingIsRounded) {
  SplitOf<double> split(backend_named("reference"), network(), {"fc1", "fc3"});
  expect_gradients_of_the_whole(split, 1e-12);
}

TEST(SplitInDouble, TheFirstLayerMayBeSplit) {
  GraphBuilder net("m", {6});
  net.add("fc1", Dense{.units = 7});
  net.add("fc2", Dense{.units = 5});
  SplitOf<double> split(backend_named("reference"), *std::move(net).finish(), {"fc1"});
  expect_gradients_of_the_whole(split, 1e-12);
}

TEST_P(SplitOnBackend, ARankMayHaveNoImages) {
  Split split(GetParam());
  const bool empty = split.communicator->rank() > 0;
  const Images images(split.graph, most_images);
  for (const Phase phase : {Phase::train, Phase::evaluate}) {
    const Batch now = empty ? Batch{} : images.batch();
    const ForwardResult result = split.executable->forward(now, phase);
    EXPECT_EQ(result.loss_sum > 0, !empty);
    EXPECT_EQ(split.executable->logits().size(), empty ? 0u : most_images * 5u);
    if (phase == Phase::train) split.executable->backward(1, false, [](int) {});
  }
  EXPECT_EQ(split.executable->buffer(2)[0], empty ? 0 : 1);
}

TEST_P(SplitOnBackend, SlotsOfSplitLayersComeLast) {
  Split split(GetParam());
  const auto& slots = split.executable->slots();
  ASSERT_EQ(slots.size(), split.graph.parameters.size());
  const int ranks = split.communicator->size();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(slots[i].rows.has_value(), i + 4 >= slots.size());
    const auto parameter = static_cast<std::size_t>(slots[i].parameter);
    EXPECT_EQ(slots[i].name, split.graph.parameters[parameter].name);
    EXPECT_EQ(whole_shape(slots[i]), split.graph.parameters[parameter].shape);
  }
  EXPECT_EQ(slots.back().name, "fc1.bias");
  EXPECT_EQ(slots.back().shape, Shape{(7 + ranks - 1) / ranks});
}

TEST_P(SplitOnBackend, NamesTheFirstLayerThatIsNotFinite) {
  Split split(GetParam());
  const bool last = split.communicator->rank() + 1 == split.communicator->size();
  for (int i = 0; last && i < std::ssize(split.executable->slots()); ++i) {
    if (split.slot(i).name != "fc1.weight") continue;
    const std::vector<float> bad(static_cast<std::size_t>(elements_of(split.slot(i).shape)),
                                 std::numeric_limits<float>::infinity());
    split.executable->from_plain(i, bad.data(),
                                 Split::aligned(split.weights[static_cast<std::size_t>(i)]));
  }
  const Images images(split.graph, most_images);
  const auto result = split.executable->forward(images.batch(), Phase::train);
  EXPECT_TRUE(!last || !std::isfinite(result.loss_sum));
  // Others may see it in what they get from that rank.
  if (std::isfinite(result.loss_sum)) return;
  EXPECT_THAT(split.executable->first_non_finite(images.batch()), testing::AnyOf("fc1", "relu1"));
}

INSTANTIATE_TEST_SUITE_P(Backends, SplitOnBackend, testing::ValuesIn(usable_backends()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace dllaunch
