#include "trainer/backends/onednn/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

Program empty_program() {
  return {dnnl::engine(dnnl::engine::kind::cpu, 0), 2};
}

const memory::desc blocked({1, 20, 2, 3}, memory::data_type::f32, memory::format_tag::nChw16c);

TEST(OneDnnProgram, ReordersOnlyWhereLayoutsDiffer) {
  Program program = empty_program();
  std::vector<Step> steps;
  const memory plain = program.allocate_persistent(plain_layout({1, 20, 2, 3}));
  EXPECT_EQ(program.reorder_to(steps, "x", plain, plain.get_desc()), plain);
  EXPECT_TRUE(steps.empty());

  const memory copy = program.reorder_to(steps, "x", plain, blocked);
  EXPECT_EQ(copy.get_desc(), blocked);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].name, "x reorder");

  auto* values = static_cast<float*>(plain.get_data_handle());
  for (int i = 0; i < 120; ++i) values[i] = static_cast<float>(i);
  program.allocate_planned();
  dnnl::stream stream(program.engine());
  steps[0].run(stream);
  stream.wait();
  // Channels 0 and 1 of the first pixel are adjacent.
  EXPECT_EQ(static_cast<float*>(copy.get_data_handle())[1], 6.F);
}

TEST(OneDnnProgram, MemoriesThatAreNotInUseTogetherShareAPlace) {
  Program program = empty_program();
  std::vector<Step> steps;
  const memory::desc layout = plain_layout({1, 16, 4, 4});
  std::vector<memory> chain = {program.allocate_persistent(layout)};
  for (int i = 0; i < 10; ++i) {
    chain.push_back(program.allocate(layout));
    program.add_loop(steps, "next", "own", {chain[chain.size() - 2], chain.back()}, [] {});
  }
  program.allocate_planned();
  EXPECT_EQ(program.planned_bytes(), 2 * layout.get_size()) << "one is read, one is written";
  EXPECT_NE(chain[1].get_data_handle(), chain[2].get_data_handle());
  EXPECT_EQ(chain[1].get_data_handle(), chain[3].get_data_handle());
}

TEST(OneDnnProgram, ASumLeavesWhatIsSharedAsItIs) {
  Program program = empty_program();
  std::vector<Step> steps;
  const memory::desc layout = plain_layout({3});
  const memory a = program.allocate_persistent(layout);
  const memory b = program.allocate_persistent(layout);
  auto* const x = static_cast<float*>(a.get_data_handle());
  auto* const y = static_cast<float*>(b.get_data_handle());
  std::fill_n(x, 3, 1.F);
  std::fill_n(y, 3, 2.F);
  EXPECT_EQ(program.sum(steps, "one", {a}), a);
  EXPECT_TRUE(steps.empty());
  program.mark_shared(a);
  const memory first = program.sum(steps, "sum", {a, b});
  const memory second = program.sum(steps, "sum", {b, a});
  EXPECT_NE(first, a);
  EXPECT_EQ(second, b) << "in place: it has no other reader";
  program.allocate_planned();
  dnnl::stream stream(program.engine());
  for (const Step& step : steps) step.run(stream);
  EXPECT_EQ(x[0], 1.F);
  EXPECT_EQ(static_cast<float*>(first.get_data_handle())[2], 3.F);
  EXPECT_EQ(y[2], 3.F);
}

TEST(OneDnnProgram, ComputesOnceMoreWhatIsOffered) {
  Program program = empty_program();
  std::vector<Step> steps;
  const memory::desc layout = plain_layout({3});
  const memory kept = program.allocate(layout);
  EXPECT_EQ(program.recompute(steps, kept), kept);
  EXPECT_TRUE(steps.empty());

  const memory y = program.allocate(layout);
  const memory made = program.allocate(layout);
  program.offer_recompute(y, [&](std::vector<Step>& more) {
    program.add_loop(more, "y recompute", "own", {made}, [] {});
    return made;
  });
  EXPECT_EQ(program.recompute(steps, y), made);
  EXPECT_EQ(program.recompute(steps, y), made);
  EXPECT_EQ(steps.size(), 1U) << "the second call reuses it";
}

TEST(OneDnnProgram, BindsParametersWithoutMemory) {
  Program program = empty_program();
  program.bind_parameter(1, plain_layout({20}), plain_layout({20}));
  EXPECT_EQ(program.parameters()[1].weight.get_data_handle(), nullptr);
  EXPECT_EQ(program.parameters()[1].gradient.get_desc(), plain_layout({20}));
}

TEST(OneDnnProgram, DescribesLayouts) {
  EXPECT_EQ(describe(plain_layout({2, 3, 4})), "strides 12,4,1");
  EXPECT_EQ(describe(blocked), "strides 192,96,48,16 blocks 16b");
}

TEST(OneDnnProgram, PlainIsOneDnnsOwnPlain) {
  EXPECT_EQ(plain_layout({2, 3, 4, 5}),
            memory::desc({2, 3, 4, 5}, memory::data_type::f32, memory::format_tag::nchw));
}

}  // namespace
}  // namespace dllaunch::onednn
