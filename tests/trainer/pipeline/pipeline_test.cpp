#include "trainer/pipeline/pipeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/trainer/backends/compiled.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// GPT-2 with its first cut points, in as many stages.
std::vector<Graph> gpt2_in(int stages) {
  const Graph whole = graph_of("gpt2-tiny");
  auto points = cut_points(whole);
  points.resize(static_cast<std::size_t>(stages) - 1);
  return cut_graph(whole, points);
}

TEST(SharedWithOthers, NamesTheStagesThatHaveAParameter) {
  const auto stages = gpt2_in(3);
  const auto first = shared_with_others(stages, 0);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].name, "transformer.wte.weight");
  EXPECT_THAT(first[0].stages, ElementsAre(0, 2));
  EXPECT_THAT(shared_with_others(stages, 1), IsEmpty());
}

TEST(Pipeline, SumsGradientsOfSharedParameters) {
  auto peers = all_peers();
  const int ranks = peers->size();
  auto opened = Pipeline::open(std::move(peers), ranks, nullptr);
  ASSERT_TRUE(opened) << opened.error().what;
  Pipeline& pipeline = **opened;
  EXPECT_EQ(pipeline.replicas().size(), 1);
  EXPECT_EQ(pipeline.stages().peers->rank(), pipeline.place().stage);
  pipeline.connect(gpt2_in(ranks), {.batch = 2, .labels = 24});
  const StagePlace& place = pipeline.place();
  EXPECT_EQ(pipeline.counted_before().size(), place.is_last() ? 1u : 0u);

  Compiled compiled(backend_named("reference"), pipeline.graph(), {.batch = 2});
  std::vector<std::size_t> elements;
  for (const auto& slot : compiled->slots()) elements.push_back(slot.elements);
  const ArenaLayout layout = lay_out(DType::f32, elements);
  std::vector<float> gradients(layout.total, static_cast<float>(1 + place.stage));
  pipeline.sum_shared_gradients(*compiled, layout, std::as_writable_bytes(std::span(gradients)));
  for (std::size_t slot = 0; slot < elements.size(); ++slot) {
    const bool shared = compiled->slots()[slot].name == "transformer.wte.weight";
    const auto expected = static_cast<float>(shared ? 1 + ranks : 1 + place.stage);
    EXPECT_EQ(gradients[layout.offset[slot]], expected) << compiled->slots()[slot].name;
    EXPECT_EQ(gradients[layout.offset[slot] + elements[slot] - 1], expected);
  }
}

TEST(Pipeline, HandsStatisticsFromExecutableToExecutable) {
  auto opened = Pipeline::open(all_peers(), 1, nullptr);
  ASSERT_TRUE(opened) << opened.error().what;
  Pipeline& pipeline = **opened;
  GraphBuilder net("m", {1, 2, 2});
  net.add("bn", BatchNorm{});
  net.add("pool", GlobalAvgPool{});
  pipeline.connect({*std::move(net).finish()}, {.batch = 2});
  Compiled first(backend_named("reference"), pipeline.graph(), {.batch = 2});
  auto backend = backend_named("reference").open();
  pipeline.add(*(*backend)->compile(pipeline.graph(), {.batch = 2}));
  for (int micro_batch = 0; micro_batch < 3; ++micro_batch) {
    Executable& now = pipeline.executable_for({true, micro_batch}, *first);
    EXPECT_EQ(&now == &*first, micro_batch % 2 == 0);
    EXPECT_EQ(&now, &pipeline.executable_for({false, micro_batch}, *first));
    now.set_buffer(2, std::vector<double>{now.buffer(2)[0] + 1});
  }
  Executable& last = pipeline.executable_for({true, 3}, *first);
  last.set_buffer(2, std::vector<double>{last.buffer(2)[0] + 1});
  pipeline.end_step(*first);
  EXPECT_EQ(first->buffer(2)[0], 4);
}

}  // namespace
}  // namespace dllaunch
