// main() of tests on several ranks: all ranks run the same tests in step.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "runtime/rank/rank_env.hpp"

namespace {

/// Rank 0 reports as usual; the others report only failures.
class RankListener : public testing::EmptyTestEventListener {
 public:
  explicit RankListener(int rank) : rank_(rank) {}

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    if (rank_ > 0) {
      fmt::print(stderr, "rank {}: {}:{}: {}\n", rank_,
                 result.file_name() == nullptr ? "unknown file" : result.file_name(),
                 result.line_number(), result.summary());
    }
    if (!result.fatally_failed()) return;
    // A failed assertion ends the test early on this rank; the others would wait in a collective
    // forever.
    std::fflush(nullptr);
    ::_exit(1);
  }

 private:
  int rank_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto env = dllaunch::read_rank_env(dllaunch::process_environment());
  if (!env) {
    fmt::print(stderr, "{}\n", env.error().what);
    return 1;
  }
  // Open for the whole run: MPI cannot be started twice in a process.
  auto ranks = dllaunch::open_communicator("mpi", *env);
  if (!ranks) {
    fmt::print(stderr, "{}\n", ranks.error().what);
    return 1;
  }
  dllaunch::Communicator& communicator = **ranks;

  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (env->rank > 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new RankListener(env->rank));

  std::int64_t failed = RUN_ALL_TESTS();
  communicator.wait(
      communicator.all_reduce(&failed, 1, dllaunch::DType::i64, dllaunch::ReduceOp::max));
  return failed == 0 ? 0 : 1;
}
