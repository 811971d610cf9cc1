#include "trainer/pipeline/segment_costs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/trainer/backends/compiled.hpp"
#include "trainer/graph/stages.hpp"

namespace dllaunch {
namespace {

using testing::DoubleNear;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<Graph> segments_of(const Graph& graph) {
  return cut_graph(graph, cut_points(graph));
}

Graph two_dense(int batch_norms = 0) {
  GraphBuilder builder("two", {8});
  builder.add("fc1", Dense{.units = 16, .bias = false});
  for (int i = 0; i < batch_norms; ++i) builder.add("bn" + std::to_string(i), BatchNorm{});
  builder.add("fc2", Dense{.units = 4, .bias = false});
  return *std::move(builder).finish();
}

TEST(SegmentCosts, CountWeightsGradientsAndStates) {
  const auto cost = estimate_segment(two_dense(), {.batch = 2, .states = 2});
  EXPECT_EQ(cost.held_bytes, (8 * 16 + 16 * 4) * 4 * (1 + 1 + 2));
  EXPECT_EQ(cost.crossing_bytes, 0);
  const auto shared = estimate_segment(two_dense(), {.batch = 2, .states = 0.5});
  EXPECT_EQ(shared.held_bytes, (8 * 16 + 16 * 4) * 10);
}

TEST(SegmentCosts, CountActivationsOfEachSample) {
  const auto one = estimate_segment(two_dense(), {.batch = 1});
  EXPECT_EQ(one.activation_bytes, 4 * (8 + 16 + 4 + 2 * 16));
  EXPECT_EQ(estimate_segment(two_dense(), {.batch = 3}).activation_bytes, 3 * one.activation_bytes);
  EXPECT_EQ(estimate_segment(two_dense(), {.precision = Precision::bf16}).activation_bytes,
            one.activation_bytes / 2);
}

/// A product of matrices that memory does not hold up: 2 operations per weight and sample, and
/// twice as many backward.
TEST(SegmentCosts, TakeAsLongAsTheirProducts) {
  GraphBuilder builder("large", {1024});
  builder.add("fc", Dense{.units = 1024, .bias = false});
  Graph graph = *std::move(builder).finish();
  const double forward = 2.0 * 1024 * 1024 * 256 / 1e11;
  // The images need no gradient.
  EXPECT_THAT(estimate_segment(graph, {.batch = 256}).seconds, DoubleNear(2 * forward, 1e-9));
  graph.joints.input = true;
  EXPECT_THAT(estimate_segment(graph, {.batch = 256}).seconds, DoubleNear(3 * forward, 1e-9));
  graph.parameters[0].frozen = true;
  EXPECT_THAT(estimate_segment(graph, {.batch = 256}).seconds, DoubleNear(2 * forward, 1e-9));
}

/// torchvision's ResNet-50 has 4.09e9 multiplications and additions an image forward; its backward
/// pass twice as many, but for the images' gradients.
TEST(SegmentCosts, KnowTheOperationsOfResNet50) {
  const Graph graph = *find_model("resnet50")->build({3, 224, 224}, 1000);
  double seconds = 0;
  for (const Graph& segment : segments_of(graph))
    seconds += estimate_segment(segment, {.batch = 8}).seconds / 8;
  EXPECT_GT(seconds, 3 * 2 * 4.0e9 / 1e11);
  EXPECT_LT(seconds, 2 * 3 * 2 * 4.1e9 / 1e11);
}

TEST(SegmentCosts, OfEveryModelAddUp) {
  for (const ModelEntry& model : models()) {
    SCOPED_TRACE(model.name);
    const Graph graph = graph_of(model);
    const auto segments = segments_of(graph);
    const TrainingSizes sizes{.batch = 4, .states = 1};
    std::int64_t held = 0;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const auto cost = estimate_segment(segments[s], sizes);
      EXPECT_GT(cost.seconds, 0);
      EXPECT_GT(cost.activation_bytes, 0);
      EXPECT_EQ(cost.crossing_bytes > 0, s + 1 < segments.size());
      held += cost.held_bytes;
    }
    for (const auto& shared : shared_bytes(segments, sizes)) {
      held -= static_cast<std::int64_t>(shared.segments.size() - 1) * shared.bytes;
    }
    EXPECT_EQ(held, graph.parameter_count() * 4 * 3);
  }
}

TEST(SharedBytes, AreThoseOfGpt2sEmbedding) {
  const Graph graph = graph_of("gpt2-tiny");
  const auto segments = segments_of(graph);
  const auto shared = shared_bytes(segments, {});
  ASSERT_THAT(shared, SizeIs(1));
  EXPECT_EQ(shared[0].segments.front(), 0);
  EXPECT_EQ(shared[0].segments.back(), static_cast<int>(segments.size()) - 1);
  EXPECT_THAT(shared_bytes(segments_of(graph_of("lenet")), {}), IsEmpty());
}

TEST(ShapeOf, IsThatOfEveryBlockOfGpt2) {
  std::multiset<std::string> shapes;
  const auto segments = segments_of(graph_of("gpt2-tiny"));
  for (const Graph& segment : segments) shapes.insert(shape_of(segment));
  const std::set<std::string> distinct(shapes.begin(), shapes.end());
  EXPECT_EQ(segments.size(), 7u);
  EXPECT_EQ(distinct.size(), 5u);  // two blocks of two segments each; the rest differs
}

TEST(ShapeOf, DiffersInWhatTakesTime) {
  const std::string plain = shape_of(two_dense());
  Graph frozen = two_dense();
  frozen.parameters[0].frozen = true;
  Graph joined = two_dense();
  joined.joints.input = true;
  Graph renamed = two_dense();
  renamed.nodes[1].name = "other";
  EXPECT_NE(shape_of(frozen), plain);
  EXPECT_NE(shape_of(joined), plain);
  EXPECT_NE(shape_of(two_dense(1)), plain);
  EXPECT_EQ(shape_of(renamed), plain);
}

}  // namespace
}  // namespace dllaunch
