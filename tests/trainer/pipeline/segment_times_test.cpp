#include "trainer/pipeline/segment_times.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "tests/support/thread_ranks.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "trainer/graph/stages.hpp"

namespace dllaunch {
namespace {

using testing::Each;
using testing::Gt;

/// Compiles with `reference`.
Result<std::unique_ptr<Executable>> compile(const Graph& graph, const CompileOptions& options) {
  static const auto backend = *backend_named("reference").open();
  return backend->compile(graph, options);
}

CompileSegment for_batches(int batch, Precision precision = Precision::fp32) {
  return
      [=](const Graph& graph) { return compile(graph, {.batch = batch, .precision = precision}); };
}

std::vector<Graph> segments_of(const Graph& graph) {
  return cut_graph(graph, cut_points(graph));
}

TEST(SegmentTimes, OfEveryKindOfNetwork) {
  for (const char* model : {"lenet", "gpt2-tiny", "vit-tiny"}) {
    SCOPED_TRACE(model);
    for (const Graph& segment : segments_of(graph_of(model))) {
      const auto seconds = time_segment(segment, for_batches(2), 2);
      ASSERT_TRUE(seconds) << seconds.error().what;
      EXPECT_GT(*seconds, 0);
    }
  }
}

TEST(SegmentTimes, OfALossWithTargets) {
  Graph graph = graph_of("mlp");
  for (const char* loss : {"sigmoid_cross_entropy", "mean_squared_error"}) {
    graph.loss.name = loss;
    EXPECT_TRUE(time_segment(graph, for_batches(2), 2)) << loss;
  }
  EXPECT_TRUE(time_segment(graph, for_batches(2, Precision::fp64), 2));
}

TEST(SegmentTimes, AreTheSameOnEveryRank) {
  const auto segments = segments_of(graph_of("gpt2-tiny"));
  std::mutex mutex;
  std::vector<std::vector<double>> tables;
  int compiled = 0;
  run_as_threads(3, [&](std::unique_ptr<Communicator> world) {
    int mine = 0;
    const auto counted = [&](const Graph& graph) {
      ++mine;
      return compile(graph, {.batch = 1});
    };
    const auto seconds = time_segments(segments, counted, 1, *world);
    const std::lock_guard lock(mutex);
    compiled += mine;
    ASSERT_TRUE(seconds) << seconds.error().what;
    tables.push_back(*seconds);
  });
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_THAT(tables[0], Each(Gt(0)));
  EXPECT_THAT(tables, Each(tables[0]));
  EXPECT_EQ(compiled, 5);  // of 7 segments, two repeat others
  EXPECT_EQ(tables[0][1], tables[0][3]);
}

TEST(SegmentTimes, FailTogether) {
  const auto segments = segments_of(graph_of("lenet"));
  std::mutex mutex;
  std::vector<std::string> said(3, "?");
  run_as_threads(3, [&](std::unique_ptr<Communicator> world) {
    const auto failing = [&](const Graph& graph) -> Result<std::unique_ptr<Executable>> {
      if (world->rank() == 0) return compile(graph, {.batch = 1});
      return Error{ErrorKind::unavailable, "no such device", "get one"};
    };
    const auto seconds = time_segments(segments, failing, 1, *world);
    const std::lock_guard lock(mutex);
    ASSERT_FALSE(seconds);
    EXPECT_EQ(seconds.error().kind, ErrorKind::unavailable);
    said[static_cast<std::size_t>(world->rank())] = seconds.error().what;
  });
  EXPECT_EQ(said, (std::vector<std::string>{"", "no such device", ""}));
}

}  // namespace
}  // namespace dllaunch
