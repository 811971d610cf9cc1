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

/// Before anything is measured, since NCCL allocates its buffers when it connects.
TEST_F(BatchSizeOnGpus, NcclIsConnectedFirst) {
  host_collectives().calls.clear();
  ASSERT_GT(find(std::int64_t{1} << 30), 0);
  ASSERT_FALSE(host_collectives().calls.empty());
  EXPECT_EQ(host_collectives().calls.front().kind, host_all_reduce);
}

}  // namespace
}  // namespace dllaunch
