// What is specific to MPI; communicators_test.cpp checks the interface.
#include "runtime/communicators/mpi/mpi.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/communicators/mpi/mpi_module.hpp"

namespace dllaunch {
namespace {

RankEnv here() {
  return *read_rank_env(process_environment());
}

TEST(Mpi, RefusesRanksThatCannotFindEachOther) {
  const auto opened = open_mpi({.world_size = 4, .launcher = "slurm", .mpi = false});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(opened.error().what, "4 ranks were started by slurm without MPI support");
  EXPECT_EQ(opened.error().hint, "use srun --mpi=pmix, or mpirun");
}

TEST(Mpi, RefusesAnEnvironmentThatMpiDoesNotConfirm) {
  RankEnv env = here();
  const int ranks = env.world_size;
  env.world_size += 3;
  env.launcher = "another launcher";
  env.mpi = true;
  const auto opened = open_mpi(env);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::bad_request);
  EXPECT_EQ(opened.error().what,
            fmt::format("this is rank {} of {} to another launcher, but rank {} of {} to {}",
                        env.rank, ranks + 3, env.rank, ranks, library_name(mpi().library())));
  EXPECT_NE(opened.error().hint.find("dllaunch build-mpi-module"), std::string::npos);
}

TEST(Mpi, KeepsTwoCommunicatorsApart) {
  auto first = *open_mpi(here());
  auto second = *open_mpi(here());
  const int ranks = first->size();
  std::vector<std::int64_t> a(1000, 1);
  std::vector<std::int64_t> b(1000, 100);
  // Ranks may start the two in either order.
  const bool swapped = first->rank() % 2 == 1;
  Pending of_b;
  if (swapped) of_b = second->all_reduce(b.data(), b.size(), DType::i64, ReduceOp::sum);
  const Pending of_a = first->all_reduce(a.data(), a.size(), DType::i64, ReduceOp::sum);
  if (!swapped) of_b = second->all_reduce(b.data(), b.size(), DType::i64, ReduceOp::sum);
  first->wait(of_a);
  second->wait(of_b);
  EXPECT_EQ(a, std::vector<std::int64_t>(1000, ranks));
  EXPECT_EQ(b, std::vector<std::int64_t>(1000, 100 * ranks));
}

TEST(Mpi, FinishesOperationsThatWereNotWaitedFor) {
  std::vector<double> x(100000, 1);
  {
    auto communicator = *open_mpi(here());
    communicator->all_reduce(x.data(), x.size(), DType::f64, ReduceOp::sum);
  }
  EXPECT_EQ(x, std::vector<double>(100000, here().world_size));
}

TEST(Mpi, SplitsLargeCountsAnywhere) {
  for (const std::size_t most : {1u, 2u, 3u, 64u, 999u, 1000u, 1001u}) {
    auto communicator = *open_mpi_in_chunks(here(), most);
    const int ranks = communicator->size();
    std::vector<std::int64_t> x(1000, communicator->rank());
    communicator->wait(communicator->all_reduce(x.data(), x.size(), DType::i64, ReduceOp::sum));
    ASSERT_EQ(x, std::vector<std::int64_t>(1000, ranks * (ranks - 1) / 2)) << "pieces of " << most;
  }
}

}  // namespace
}  // namespace dllaunch
