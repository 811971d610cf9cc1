// Batch normalisation over all ranks: several ranks must equal one with all their images.
#include "trainer/session/sync_batch_norm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "runtime/activity/observed_communicator.hpp"
#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/operation_cases.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

constexpr int share = 3;  // images per rank at most

std::vector<OperationCase> cases_with_norms() {
  std::vector<OperationCase> found;
  for (OperationCase& one : operation_cases()) {
    if (check_batch_norm(one.graph())) found.push_back(std::move(one));
  }
  return found;
}

std::vector<double> buffers_of(Compiled& compiled, const Graph& graph) {
  std::vector<double> all;
  for (std::size_t i = 0; i < graph.buffers.size(); ++i) {
    const auto buffer = compiled->buffer(static_cast<int>(i));
    all.insert(all.end(), buffer.begin(), buffer.end());
  }
  return all;
}

/// Returns the images of each rank in order: full shares, then a partial one, then none.
std::vector<int> deal(int ranks, int step) {
  std::vector<int> counts(static_cast<std::size_t>(ranks), share);
  if (step == 1) counts.back() = 1;
  if (step == 2 && ranks > 1) counts.front() = 0;
  return counts;
}

struct Passed {
  double loss = 0;
  Tensors gradients;
  std::vector<double> buffers;
};

/// Runs three steps on one rank with all images.
std::vector<Passed> alone(const Graph& graph, int ranks) {
  Compiled one(backend_named("reference"), graph,
               {.batch = ranks * share, .precision = Precision::fp64});
  one.set_weights(random_weights(graph));
  std::vector<Passed> passed;
  for (int step = 0; step < 3; ++step) {
    int count = 0;
    for (const int of_rank : deal(ranks, step)) count += of_rank;
    const Images images(graph, ranks * share, static_cast<unsigned>(step));
    Passed now;
    now.loss = one->forward(images.batch(count), Phase::train).loss_sum;
    one->backward(0.5, false, [](int) {});
    now.gradients = one.gradients();
    now.buffers = buffers_of(one, graph);
    passed.push_back(std::move(now));
  }
  return passed;
}

class OnEveryBackend : public testing::TestWithParam<BackendEntry> {
 protected:
  std::unique_ptr<Communicator> ranks_ = all_ranks();

  bool exact() const { return GetParam().name == "reference"; }
  double tolerance() const { return exact() ? 1e-11 : 1e-4; }

  CompileOptions options(bool sync = true) const {
    CompileOptions options{
        .batch = share, .precision = exact() ? Precision::fp64 : Precision::fp32, .threads = 1};
    if (sync) options.sum_over_ranks = sum_over_ranks(*ranks_, nullptr);
    return options;
  }

  /// Returns this rank's images of a step.
  Batch own_batch(const Graph& graph, const Images& images, const std::vector<int>& counts) const {
    const auto rank = static_cast<std::size_t>(ranks_->rank());
    std::size_t first = 0;
    for (std::size_t i = 0; i < rank; ++i) first += static_cast<std::size_t>(counts[i]);
    const auto pixels = static_cast<std::size_t>(elements_of(graph.input_shape()));
    return {.images = std::span(images.pixels).subspan(first * pixels),
            .labels = std::span(images.labels).subspan(first),
            .count = counts[rank]};
  }

  std::vector<double> summed(std::vector<double> values) const {
    ranks_->wait(ranks_->all_reduce(values.data(), values.size(), DType::f64, ReduceOp::sum));
    return values;
  }

  void expect_as_alone(const OperationCase& one, bool reduce_meanwhile) {
    SCOPED_TRACE(one.name);
    const Graph graph = one.graph();
    const int size = ranks_->size();
    const auto expected = alone(graph, size);
    Compiled compiled(GetParam(), graph, options());
    compiled.set_weights(random_weights(graph));
    for (int step = 0; step < 3; ++step) {
      const Passed& whole = expected[static_cast<std::size_t>(step)];
      const Images images(graph, size * share, static_cast<unsigned>(step));
      const Batch batch = own_batch(graph, images, deal(size, step));
      const double loss = compiled->forward(batch, Phase::train).loss_sum;
      std::deque<std::vector<double>> others;
      std::vector<Pending> pending;
      compiled->backward(0.5, false, [&](int slot) {
        // Like the gradient reducer: started at the same slots on every rank, waited for much
        // later.
        if (reduce_meanwhile && slot != no_slot && slot % 2 == 0) {
          auto& other = others.emplace_back(100'000);
          pending.push_back(
              ranks_->all_reduce(other.data(), other.size(), DType::f64, ReduceOp::sum));
        }
        ranks_->test({});
      });
      for (const Pending each : pending) ranks_->wait(each);
      EXPECT_NEAR(summed({loss})[0], whole.loss, tolerance() * whole.loss);
      Tensors gradients = compiled.gradients();
      for (auto& gradient : gradients) gradient = summed(std::move(gradient));
      expect_close(graph, gradients, whole.gradients, tolerance());
      EXPECT_LT(relative_error(buffers_of(compiled, graph), whole.buffers), tolerance());
    }
  }
};

TEST_P(OnEveryBackend, SeveralRanksEqualOneWithAllTheirImages) {
  for (const OperationCase& one : cases_with_norms()) expect_as_alone(one, false);
}

TEST_P(OnEveryBackend, OtherCollectivesMayRunAtTheSameTime) {
  for (const OperationCase& one : cases_with_norms()) expect_as_alone(one, true);
}

/// Shows that the tests above would fail without the sums.
TEST_P(OnEveryBackend, WithoutTheSumsEachRankHasItsOwnStatistics) {
  if (ranks_->size() == 1) GTEST_SKIP() << "one rank is all ranks";
  const Graph graph = cases_with_norms().front().graph();
  const auto expected = alone(graph, ranks_->size());
  Compiled compiled(GetParam(), graph, options(/*sync=*/false));
  compiled.set_weights(random_weights(graph));
  const Images images(graph, ranks_->size() * share, 0);
  const Batch batch = own_batch(graph, images, deal(ranks_->size(), 0));
  const double loss = summed({compiled->forward(batch, Phase::train).loss_sum})[0];
  EXPECT_GT(std::abs(loss - expected[0].loss), 1e-3 * expected[0].loss);
}

/// Only ranks with a non-finite loss search for the layer, so the search must not be collective.
TEST_P(OnEveryBackend, FindingTheNonFiniteLayerNeedsOneRankOnly) {
  const Graph graph = cases_with_norms().front().graph();
  Compiled compiled(GetParam(), graph, options());
  compiled.set_weights(random_weights(graph));
  Images images(graph, share);
  if (ranks_->rank() == 0) images.pixels.front() = std::numeric_limits<float>::quiet_NaN();
  compiled->forward(images.batch(), Phase::train);
  const double steps = buffers_of(compiled, graph).back();  // num_batches_tracked
  if (ranks_->rank() == 0) {
    EXPECT_EQ(compiled->first_non_finite(images.batch()), "input");
  } else if (ranks_->rank() == 1) {
    EXPECT_EQ(compiled->first_non_finite(images.batch()), "node2") << "its mean comes from rank 0";
  }
  EXPECT_EQ(summed({1})[0], ranks_->size()) << "ranks are still in step";
  EXPECT_EQ(buffers_of(compiled, graph).back(), steps);
}

INSTANTIATE_TEST_SUITE_P(Backends, OnEveryBackend, testing::ValuesIn(usable_backends()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(SyncBatchNorm, OneRankHasNothingToSum) {
  const auto ranks = all_ranks();
  EXPECT_EQ(static_cast<bool>(sum_over_ranks(*ranks, nullptr)), ranks->size() > 1);
}

TEST(SyncBatchNorm, WaitingCountsAsReductionTime) {
  Activity activity;
  ObservedCommunicator ranks(all_ranks(), activity);
  const auto sum = sum_over_ranks(ranks, &activity);
  activity.enter(RankPhase::forward);
  activity.take_seconds();
  std::vector<double> values(1000, 1.0);
  if (sum) sum(values);
  EXPECT_EQ(values.back(), ranks.size());
  EXPECT_EQ(activity.phase(), RankPhase::forward);
  const auto seconds = activity.take_seconds();
  EXPECT_EQ(seconds[static_cast<std::size_t>(RankPhase::reduce)] > 0, ranks.size() > 1);
}

TEST(SyncBatchNorm, RejectsAModelWithoutNormalisation) {
  const auto found = check_batch_norm(graph_of("cnn"));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().what, "sync_batch_norm: model cnn has no batch normalisation");
}

}  // namespace
}  // namespace dllaunch
