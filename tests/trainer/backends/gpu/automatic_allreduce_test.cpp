// `runtime.allreduce: auto` on ranks with fake GPUs under mpirun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/communicators/nccl/nccl_communicator.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/config/gpu_gradients.hpp"
#include "trainer/training/prepare.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

RankEnv this_rank() {
  return *read_rank_env(process_environment());
}

Result<std::unique_ptr<Communicator>> refuse(std::unique_ptr<Communicator>&, const RankEnv&) {
  return Error{ErrorKind::unavailable, "its library is missing", ""};
}

/// Each rank's fake GPU, as dltrain opens its communicator.
class AutomaticAllreduce : public testing::Test {
 protected:
  void open(bool on_gpu, decltype(&open_nccl_over) nccl) {
    host_gpus().pci = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"};
    ::setenv("DLLAUNCH_GPUS", gpus, 1);
    auto opened = open_automatic(this_rank(), on_gpu, no_nccl, nccl);
    ASSERT_TRUE(opened) << opened.error().what;
    communicator = *std::move(opened);
  }
  Result<Session> prepared(const TrainConfig& config) {
    return prepare({.config = config,
                    .run_dir = folder.path(),
                    .threads = 1,
                    .warn =
                        [this](std::string_view line) {
                          if (line.find("gradients") != line.npos) warnings.emplace_back(line);
                        },
                    .no_nccl = no_nccl},
                   *communicator);
  }

  const ScratchFolder folder;
  TrainConfig config = small_config("auto");
  const char* gpus = "";
  std::string no_nccl;
  std::unique_ptr<Communicator> communicator;
  std::vector<std::string> warnings;
};

TEST_F(AutomaticAllreduce, TakesNcclWhereGpusCompute) {
  open(reduces_on_gpu(config), NcclCommunicator::open);
  EXPECT_EQ(communicator->name(), "nccl");
  EXPECT_EQ(no_nccl, "");
  const auto session = prepared(config);
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_TRUE(session->arenas->on_device());
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(AutomaticAllreduce, WarnsOnceOfWhatTheHostCosts) {
  open(reduces_on_gpu(config), refuse);
  EXPECT_EQ(communicator->name(), "hierarchical");
  const auto session = prepared(config);
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_FALSE(session->arenas->on_device());
  if (this_rank().rank > 0) {
    EXPECT_THAT(warnings, IsEmpty());
    return;
  }
  const double mib =
      static_cast<double>(session->graph.parameter_count() * sizeof(float)) / (1 << 20);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr(fmt::format(
                            "its library is missing; every step copies {:.1f} MiB", mib))));
}

/// Ranks under MPS, or each on a MIG instance of one GPU.
TEST_F(AutomaticAllreduce, StaysOnTheHostWhereRanksShareAGpu) {
  gpus = "0000:03:00.0";
  open(reduces_on_gpu(config), NcclCommunicator::open);
  EXPECT_EQ(communicator->name(), "hierarchical");
  const auto session = prepared(config);
  ASSERT_TRUE(session) << session.error().what;
  if (this_rank().rank > 0) return;
  EXPECT_THAT(warnings, ElementsAre(testing::AllOf(
                            HasSubstr("fake NCCL: start: invalid usage; ranks 0 and 1 share GPU "
                                      "0000:03:00.0 of "),
                            HasSubstr("every step copies"))));
}

TEST_F(AutomaticAllreduce, NamesTheSettingThatNeedsTheHost) {
  config.runtime.gradient_lag = 1;
  open(reduces_on_gpu(config), NcclCommunicator::open);
  EXPECT_EQ(communicator->name(), "hierarchical");
  const auto session = prepared(config);
  ASSERT_TRUE(session) << session.error().what;
  if (this_rank().rank == 0) {
    EXPECT_THAT(warnings, ElementsAre(HasSubstr("runtime.gradient_lag needs gradients")));
  }
}

/// The driver is there but CPUs compute in the end: nccl's host side carries on.
TEST_F(AutomaticAllreduce, StaysOnTheHostIfCpusCompute) {
  config.backend = "reference";
  open(true, NcclCommunicator::open);
  EXPECT_EQ(communicator->memory(), MemorySpace::gpu);
  const auto session = prepared(config);
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_EQ(communicator->memory(), MemorySpace::host);
  EXPECT_THAT(communicator->name(), Not("nccl"));
  float* const gradient = reinterpret_cast<float*>(session->arenas->gradients().data());
  EXPECT_FALSE(gpu_owns(gradient));
  *gradient = 1;
  communicator->wait(communicator->all_reduce(gradient, 1, DType::f32, ReduceOp::sum));
  EXPECT_EQ(*gradient, static_cast<float>(communicator->size()));
  EXPECT_THAT(warnings, IsEmpty());
}

}  // namespace
}  // namespace dllaunch
