// `dllaunch bench` with the real mpirun, and in an allocation of a real Slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/json.hpp"
#include "tests/end_to_end/launched.hpp"
#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

void expect_rows(const Ended& ended, const std::string& communicator, int ranks) {
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto rows = Json::parse(ended.out, nullptr, false);
  ASSERT_TRUE(rows.is_array()) << ended.out;
  ASSERT_EQ(rows.size(), 5u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["backend"], communicator);
    EXPECT_EQ(rows[i]["ranks"], ranks);
    EXPECT_EQ(rows[i]["bytes"], 1024 << i);
    EXPECT_GT(rows[i]["us"].get<double>(), 0);
    const double algbw = rows[i]["algbw_gbs"].get<double>();
    const double busbw = rows[i]["busbw_gbs"].get<double>();
    EXPECT_NEAR(busbw, algbw * 2 * (ranks - 1) / ranks, 1e-5);
    EXPECT_EQ(rows[i]["correct"], true);
  }
}

std::vector<std::string> small(const std::string& communicator, const std::string& ranks) {
  return {"bench",        "allreduce",   "--ranks", ranks,         "--communicator",
          communicator,   "--min-bytes", "1024",    "--max-bytes", "16384",
          "--iterations", "3",           "--json"};
}

TEST(Bench, MeasuresEveryCommunicatorHere) {
  Workplace work;
  for (const std::string communicator : {"hierarchical", "mpi", "ring", "parameter-server"}) {
    expect_rows(work.run(small(communicator, "3")), communicator, 3);
  }
  expect_rows(work.run(small("auto", "1")), "solo", 1);
}

TEST(Bench, IsATableForPeople) {
  Workplace work;
  const auto ended = work.run({"bench", "allreduce", "--max-bytes", "8"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("all-reduce: hierarchical, 2 ranks"));
  EXPECT_THAT(ended.out, HasSubstr("correct"));
}

TEST(Bench, RefusesWhatItCannotMeasure) {
  Workplace work;
  EXPECT_EQ(work.run({"bench", "allgather"}).exit_code, 2);
  const auto unknown = work.run({"bench", "allreduce", "--communicator", "gloo"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.err,
            "dllaunch: unknown communicator 'gloo'\n"
            "  try: use one of: auto, solo, hierarchical, mpi, nccl, ring, parameter-server\n");
  const auto odd = work.run({"bench", "allreduce", "--min-bytes", "3"});
  EXPECT_EQ(odd.exit_code, 2);
  EXPECT_EQ(odd.err,
            "dllaunch: --min-bytes is 3, but must be a multiple of 4: an fp32 value has 4 bytes\n");
  EXPECT_EQ(work.run({"bench", "allreduce", "--max-bytes", "2"}).exit_code, 2);
  EXPECT_EQ(work.run({"bench", "allreduce", "--communicator", "solo"}).exit_code, 2);
}

TEST(Bench, MeasuresTheRanksOfAnAllocation) {
  const TestCluster cluster({"--nodes", "2", "--cpus", "2"});
  if (cluster.cannot_run_here()) GTEST_SKIP() << cluster.why_not();
  ASSERT_TRUE(cluster.up()) << cluster.why_not();
  Workplace work(cluster.share());
  work.before = cluster.login();
  for (const std::string word : {"salloc", "-N", "2", "--ntasks-per-node", "2", "--quiet"}) {
    work.before.push_back(word);
  }
  auto argv = small("hierarchical", "4");
  argv.erase(argv.begin() + 2, argv.begin() + 4);  // --ranks 4: the allocation knows
  expect_rows(work.run(argv), "hierarchical", 4);
}

}  // namespace
}  // namespace dllaunch
