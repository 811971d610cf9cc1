// NcclCommunicator over a fake NCCL, on ranks with fake GPUs under mpirun.
#include "runtime/communicators/nccl/nccl_communicator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tests/runtime/communicators/forwarding.hpp"
#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Counting final : public Forwarding {
 public:
  Counting(std::unique_ptr<Communicator> real, int& tests)
      : Forwarding(*real), owned_(std::move(real)), tests_(tests) {}
  bool test(Pending pending) override {
    ++tests_;
    return real_.test(pending);
  }

 private:
  std::unique_ptr<Communicator> owned_;
  int& tests_;
};

class NcclOfRanks : public testing::Test {
 protected:
  void SetUp() override { open(); }
  void TearDown() override {
    nccl.reset();
    EXPECT_THAT(host_collectives().complaints, IsEmpty());
    host_collectives() = {};
    ::unsetenv("DLLAUNCH_NCCL_BLOCKING");
  }
  void open() {
    nccl.reset();
    host_gpus().pci = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"};
    ::setenv("DLLAUNCH_GPUS", "", 1);
    host_collectives() = {};
    std::unique_ptr<Communicator> host = std::make_unique<Counting>(all_ranks(), host_tests);
    auto opened = NcclCommunicator::open(host, *read_rank_env(process_environment()));
    ASSERT_TRUE(opened) << opened.error().what;
    nccl = *std::move(opened);
    memory = nccl->allocate(64);
  }
  Pending sum() {
    return nccl->all_reduce(memory.data(), memory.size() / sizeof(float), DType::f32,
                            ReduceOp::sum);
  }

  int host_tests = 0;
  std::unique_ptr<Communicator> nccl;
  std::span<std::byte> memory;
};

/// Peers may read this rank's buffers until it has finished with them; NCCL may use the stream
/// until it is destroyed.
TEST_F(NcclOfRanks, EndsInTheOrderThatNcclNeeds) {
  host_collectives().background = 3;
  static_cast<void>(sum());
  nccl.reset();
  EXPECT_THAT(host_collectives().closing, ElementsAre("deregister", "finalize", "destroy", "free"));
}

TEST_F(NcclOfRanks, AFailedEndIsReportedAndAborted) {
  host_collectives().end = ncclUnhandledCudaError;
  testing::internal::CaptureStderr();
  nccl.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("warning: fake NCCL ended with an error: fake error"));
  EXPECT_THAT(host_collectives().closing, ElementsAre("deregister", "finalize", "abort", "free"));
}

/// A peer that waits in a collective of the host would never make its call of NCCL.
TEST_F(NcclOfRanks, ACallInTheBackgroundProgressesTheHostsCollectives) {
  host_collectives().background = 5;
  const int before = host_tests;
  const Pending pending = sum();
  EXPECT_EQ(host_tests, before + 5);
  nccl->wait(pending);
}

TEST_F(NcclOfRanks, CallsAreNotInTheBackgroundIfTheUserSaysSo) {
  ::setenv("DLLAUNCH_NCCL_BLOCKING", "1", 1);
  open();
  host_collectives().background = 5;
  const int before = host_tests;
  const Pending pending = sum();
  EXPECT_EQ(host_tests, before);
  nccl->wait(pending);
}

}  // namespace
}  // namespace dllaunch
