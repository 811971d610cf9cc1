// `batch_size: auto` on ranks with fake GPUs of little memory under mpirun.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/communicators/nccl/nccl_communicator.hpp"
#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/training/prepare.hpp"
#include "trainer/tuning/batch_size.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::HasSubstr;

class BatchSizeOnGpus : public testing::Test {
 protected:
  BatchSizeOnGpus() {
    host_gpus().pci = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"};
    ::setenv("DLLAUNCH_GPUS", "", 1);
    auto host = all_ranks();
    auto opened = NcclCommunicator::open(host, *read_rank_env(process_environment()));
    if (!opened) throw std::runtime_error(opened.error().what);
    communicator = *std::move(opened);
    auto prepared = prepare(
        {.config = small_config("auto"), .run_dir = folder.path(), .threads = 1}, *communicator);
    if (!prepared) throw std::runtime_error(prepared.error().what);
    session = *std::move(prepared);
  }
  ~BatchSizeOnGpus() override { host_gpus().bytes_each = all_bytes; }

  /// With `left` bytes of this rank's GPU free now.
  int find(std::int64_t left) {
    said.clear();
    PrepareOptions options;
    options.say = [&](std::string_view line) { said.emplace_back(line); };
    host_gpus().bytes_each =
        host_gpus().in_use[host_gpu_of_thread()] + static_cast<std::size_t>(left);
    auto found =
        find_batch_size(session, {.budget = std::int64_t{1} << 33}, *communicator, options);
    host_gpus().bytes_each = all_bytes;
    return found && *found ? **found : 0;
  }

  /// Returns the bytes that the trials take at most, up to the largest batch that an epoch allows.
  std::int64_t most_taken() {
    const std::size_t before = host_gpus().in_use[host_gpu_of_thread()];
    host_gpus().most_in_use = 0;
    EXPECT_GT(find(std::int64_t{1} << 30), 0);
    return static_cast<std::int64_t>(host_gpus().most_in_use - before);
  }
  /// Bytes of Adam's states.
  std::int64_t states() const {
    return 2 * session.graph.parameter_count() * std::int64_t{sizeof(float)};
  }

  static constexpr std::int64_t rounding = std::int64_t{16} << 10;  // of arrays' sizes
  const std::size_t all_bytes = host_gpus().bytes_each;
  const ScratchFolder folder;
  std::unique_ptr<Communicator> communicator;
  Session session;
  std::vector<std::string> said;
};

/// One rank's GPU has less free than the others'.
TEST_F(BatchSizeOnGpus, ABatchLeavesTheMarginOnEveryRank) {
  constexpr std::int64_t mib = std::int64_t{1} << 20;
  constexpr std::int64_t plenty = 1024 * mib;
  const int largest = find(plenty);
  ASSERT_GE(largest, 8);
  const std::int64_t margin = gpu_margin(/*gpus_reduce=*/true);
  const bool last = communicator->rank() == communicator->size() - 1;
  const int with_margin = find(last ? margin + 9 * mib / 4 : plenty);
  EXPECT_GT(with_margin, 0);
  EXPECT_LT(with_margin, largest);
  if (communicator->rank() > 0) return;
  EXPECT_THAT(said, Contains(HasSubstr(fmt::format(
                        "batch_size {}: {} would leave less than 320 MiB of GPU memory free",
                        with_margin, 2 * with_margin))));
}

/// A rank holds its own part of the optimiser's states only.
TEST_F(BatchSizeOnGpus, ShardsCountOnce) {
  session.config.optimizer = "adam";
  const std::int64_t whole = most_taken();
  session.config.shard = true;
  const std::int64_t of_others = states() * (communicator->size() - 1) / communicator->size();
  EXPECT_NEAR(static_cast<double>(whole - most_taken()), static_cast<double>(of_others), rounding);
}

TEST_F(BatchSizeOnGpus, StatesOnTheHostTakeNoGpuMemory) {
  session.config.optimizer = "adam";
  const std::int64_t on_gpu = most_taken();
  communicator->use_host_memory();
  constexpr std::int64_t connecting = std::int64_t{1} << 20;  // NCCL's first sum
  EXPECT_NEAR(static_cast<double>(on_gpu - connecting - most_taken()),
              static_cast<double>(states()), rounding);
}

/// Before anything is measured, since NCCL allocates its buffers when it connects.
TEST_F(BatchSizeOnGpus, NcclIsConnectedFirst) {
  host_collectives().calls.clear();
  ASSERT_GT(find(std::int64_t{1} << 30), 0);
  ASSERT_FALSE(host_collectives().calls.empty());
  EXPECT_EQ(host_collectives().calls.front().kind, host_all_reduce);
}

}  // namespace
}  // namespace dllaunch
