#include "trainer/commands/bench_command.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

std::string refusal(const std::vector<std::string>& words) {
  const auto command = parse_bench(words);
  return command ? "" : command.error().what;
}

TEST(BenchCommand, ReadsFiveArguments) {
  const auto command = parse_bench({"mpi", "8", "4096", "50", "json"});
  ASSERT_TRUE(command);
  EXPECT_EQ(command->communicator, "mpi");
  EXPECT_EQ(command->bench.min_bytes, 8u);
  EXPECT_EQ(command->bench.max_bytes, 4096u);
  EXPECT_EQ(command->bench.iterations, 50);
  EXPECT_TRUE(command->json);
}

TEST(BenchCommand, ReadsNumbersOfNodes) {
  const auto command = parse_bench({"auto", "4", "8", "1", "table", "4,8,64"});
  ASSERT_TRUE(command);
  EXPECT_EQ(command->project, (std::vector<int>{4, 8, 64}));
  for (const char* wrong : {"", "1", "4,", "4;8", "-2", "99999999"}) {
    EXPECT_FALSE(parse_bench({"auto", "4", "8", "1", "table", wrong})) << wrong;
  }
}

TEST(BenchCommand, NamesTheInvalidArgument) {
  EXPECT_EQ(refusal({"mpi", "8", "4096", "50"}),
            "expected COMMUNICATOR MIN_BYTES MAX_BYTES ITERATIONS table|json [NODES,...]");
  EXPECT_EQ(refusal({"mpi", "8", "4096", "50", "csv"}),
            "expected COMMUNICATOR MIN_BYTES MAX_BYTES ITERATIONS table|json [NODES,...]");
  EXPECT_EQ(refusal({"mpi", "3", "4096", "50", "json"}),
            "MIN_BYTES is \"3\", not a number from 4 to 1099511627776");
  EXPECT_EQ(refusal({"mpi", "4K", "4096", "50", "json"}),
            "MIN_BYTES is \"4K\", not a number from 4 to 1099511627776");
  EXPECT_EQ(refusal({"mpi", "8", "4", "50", "json"}),
            "MAX_BYTES is \"4\", not a number from 8 to 1099511627776");
  EXPECT_EQ(refusal({"mpi", "8", "16", "0", "json"}),
            "ITERATIONS is \"0\", not a number from 1 to 1000000");
  EXPECT_EQ(refusal({"mpi", "6", "16", "1", "json"}),
            "MIN_BYTES is 6, but must be a multiple of 4: an fp32 value has 4 bytes");
}

}  // namespace
}  // namespace dllaunch
