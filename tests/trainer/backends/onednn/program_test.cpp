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
  const memory plain = program.allocate(plain_layout({1, 20, 2, 3}));
  EXPECT_EQ(program.in_layout(steps, "x", plain, plain.get_desc()), plain);
  EXPECT_TRUE(steps.empty());

  const memory copy = program.in_layout(steps, "x", plain, blocked);
  EXPECT_EQ(copy.get_desc(), blocked);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].name, "x reorder");

  auto* values = static_cast<float*>(plain.get_data_handle());
  for (int i = 0; i < 120; ++i) values[i] = static_cast<float>(i);
  program.allocate_scratchpad();
  dnnl::stream stream(program.engine());
  steps[0].primitive.execute(stream, steps[0].arguments);
  stream.wait();
  // Channel 1 of the first pixel lies beside channel 0 of it.
  EXPECT_EQ(static_cast<float*>(copy.get_data_handle())[1], 6.F);
}

TEST(OneDnnProgram, SharesOneScratchpad) {
  Program program = empty_program();
  std::vector<Step> steps;
  const memory plain = program.allocate(plain_layout({1, 20, 2, 3}));
  program.in_layout(steps, "a", plain, blocked);
  program.in_layout(steps, "b", plain, blocked);
  program.allocate_scratchpad();
  EXPECT_EQ(steps[0].arguments.at(DNNL_ARG_SCRATCHPAD).get_data_handle(),
            steps[1].arguments.at(DNNL_ARG_SCRATCHPAD).get_data_handle());
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
