#include "trainer/pipeline/settle_cut.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "tests/support/thread_ranks.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "trainer/graph/stages.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

Result<Cut> cut(const Graph& graph, int stages, const std::vector<std::string>& after) {
  return estimate_cut(graph, {.stages = stages, .after = after, .micro_batches = 8});
}

Result<std::unique_ptr<Executable>> compile(const Graph& segment) {
  static const auto backend = *backend_named("reference").open();
  return backend->compile(segment, {.batch = 1});
}

TEST(EstimateCut, TakesTheUsersCut) {
  const Graph graph = *find_model("resnet50")->build({3, 64, 64}, 10);
  const auto by_block = cut(graph, 3, {"layer1", "layer3.0"});
  ASSERT_TRUE(by_block) << by_block.error().what;
  ASSERT_THAT(by_block->stages, SizeIs(3));
  EXPECT_THAT(by_block->stages[0].last, StartsWith("layer1.2."));
  EXPECT_THAT(by_block->stages[1].first, StartsWith("layer2.0."));
  EXPECT_THAT(by_block->stages[2].first, StartsWith("layer3.1."));
  const auto by_node = cut(graph, 3, {by_block->stages[0].last, by_block->stages[1].last});
  ASSERT_TRUE(by_node);
  EXPECT_EQ(by_node->after, by_block->after);
  std::int64_t parameters = 0;
  for (const auto& stage : by_block->stages) parameters += stage.parameters;
  EXPECT_EQ(parameters, graph.parameter_count());
}

TEST(EstimateCut, SaysWhereItCanBeCut) {
  const Graph graph = *find_model("resnet50")->build({3, 64, 64}, 10);
  const auto inside = cut(graph, 2, {"layer2.1.conv2"});
  ASSERT_FALSE(inside);
  EXPECT_EQ(inside.error().kind, ErrorKind::bad_request);
  EXPECT_THAT(inside.error().what,
              StartsWith("runtime.pipeline.cut: there is no cut after layer2.1.conv2"));
  EXPECT_THAT(inside.error().hint, StartsWith("cut after layer2.0."));
  EXPECT_THAT(inside.error().hint, HasSubstr(" or layer2.1."));
  const auto unknown = cut(graph, 2, {"layer9"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().what, "runtime.pipeline.cut: model resnet50 has no layer layer9");
  EXPECT_THAT(unknown.error().hint, HasSubstr("layer3.5."));
  const auto twice = cut(graph, 3, {"layer2", "layer2"});
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().what, HasSubstr("layer2 does not come after"));
  EXPECT_FALSE(cut(graph, 3, {"layer3", "layer2"}));
  EXPECT_FALSE(cut(graph, 2, {"fc"}));  // nothing follows it
}

TEST(EstimateCut, BalancesResNet50) {
  const Graph graph = *find_model("resnet50")->build({3, 224, 224}, 1000);
  const auto halves = estimate_cut(graph, {.stages = 2, .micro_batches = 8, .sizes = {.batch = 4}});
  ASSERT_TRUE(halves);
  EXPECT_FALSE(halves->measured);
  EXPECT_LT(halves->idle, 1.5 / 9);  // even ones: 1/9
  EXPECT_EQ(halves->stages[0].cost.in_flight, 2);
}

TEST(EstimateCut, HoldsASharedWeightOncePerStage) {
  const Graph graph = graph_of("gpt2-tiny");
  const auto whole = cut(graph, 1, {});
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->stages[0].cost.held_bytes, graph.parameter_count() * 8);
  EXPECT_EQ(whole->idle, 0);
  const auto two = cut(graph, 2, {});
  ASSERT_TRUE(two);
  const auto tied = elements_of(graph.parameters[0].shape);  // wte
  EXPECT_EQ(two->stages[0].parameters + two->stages[1].parameters, graph.parameter_count() + tied);
}

TEST(SettleCut, IsTheSameOnEveryRank) {
  const Graph graph = graph_of("lenet");
  std::mutex mutex;
  std::vector<Cut> cuts;
  run_as_threads(2, [&](std::unique_ptr<Communicator> world) {
    const auto settled = settle_cut(graph, {.stages = 2, .micro_batches = 4}, compile, *world);
    const std::lock_guard lock(mutex);
    ASSERT_TRUE(settled) << settled.error().what;
    cuts.push_back(*settled);
  });
  ASSERT_THAT(cuts, SizeIs(2));
  EXPECT_TRUE(cuts[0].measured);
  EXPECT_THAT(cuts[0].after, SizeIs(1));
  EXPECT_EQ(cuts[0].after, cuts[1].after);
  EXPECT_EQ(cuts[0].step_seconds, cuts[1].step_seconds);
  EXPECT_GE(cuts[0].idle, 1.0 / 5 - 1e-9);
}

TEST(SettleCut, TheSmallestRankLimitsTheMemory) {
  const Graph graph = graph_of("lenet");
  std::mutex mutex;
  std::vector<std::string> said(2);
  run_as_threads(2, [&](std::unique_ptr<Communicator> world) {
    CutOptions options{.stages = 2, .micro_batches = 4};
    options.memory_bytes = world->rank() == 0 ? std::int64_t{1} << 40 : 1000;
    const auto settled = settle_cut(graph, options, compile, *world);
    const std::lock_guard lock(mutex);
    ASSERT_FALSE(settled);
    EXPECT_EQ(settled.error().kind, ErrorKind::unsatisfiable);
    said[static_cast<std::size_t>(world->rank())] = settled.error().what;
  });
  EXPECT_THAT(said[0], StartsWith("no cut into 2 stages fits"));
  EXPECT_EQ(said[1], "");
}

TEST(SettleCut, MeasuresNothingForAGivenCut) {
  const Graph graph = graph_of("lenet");
  run_as_threads(1, [&](std::unique_ptr<Communicator> world) {
    const std::string name = graph.nodes[static_cast<std::size_t>(cut_points(graph)[0])].name;
    const auto settled =
        settle_cut(graph, {.stages = 2, .after = {name}, .micro_batches = 4}, compile, *world);
    ASSERT_TRUE(settled) << settled.error().what;
    EXPECT_FALSE(settled->measured);
    EXPECT_EQ(settled->after, std::vector<int>{cut_points(graph)[0]});
  });
}

TEST(CutLines, SayWhatEachRankHolds) {
  const Cut cut{.after = {3},
                .stages = {{.first = "conv1",
                            .last = "pool1",
                            .parameters = 1'500'000,
                            .cost = {.seconds = 0.004,
                                     .held_bytes = 24 << 20,
                                     .activation_bytes = 3 << 20,
                                     .in_flight = 2}},
                           {.first = "fc1",
                            .last = "fc3",
                            .parameters = 500'000,
                            .cost = {.seconds = 0.003,
                                     .held_bytes = 8 << 20,
                                     .activation_bytes = 1 << 20,
                                     .in_flight = 1}}},
                .measured = true,
                .micro_batches = 3,
                .step_seconds = 0.015,
                .idle = 0.3};
  EXPECT_THAT(cut_lines(cut),
              ElementsAre("stage 1: conv1 to pool1, 1.50 M parameters, 24.0 MiB of weights, "
                          "gradients and states, 6.0 MiB of activations for 2 micro-batches in "
                          "flight, 4.0 ms a micro-batch",
                          "stage 2: fc1 to fc3, 0.50 M parameters, 8.0 MiB of weights, gradients "
                          "and states, 1.0 MiB of activations for 1 micro-batch in flight, 3.0 ms "
                          "a micro-batch",
                          "2 stages and 3 micro-batches a step: ranks wait 30 % of it; more "
                          "train.accumulate makes it less"));
}

}  // namespace
}  // namespace dllaunch
