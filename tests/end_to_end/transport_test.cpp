// The built-in trainer without MPI: its ranks meet and reduce over TCP, with the same weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "launcher/os/posix_system.hpp"
#include "tests/end_to_end/launched.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Each rank computes alone, so that nothing but the transport differs.
constexpr const char* tiny_job = R"(name: tiny
resources: {ranks_per_node: 3, device: cpu}
environment: {variables: {OMP_NUM_THREADS: "1"}}
train:
  model: lenet
  dataset: {kind: synthetic, images: 256, classes: 10, channels: 1, image_size: 28}
  batch_size: 16
  epochs: 1
)";

class TransportOfTrainer : public testing::Test {
 protected:
  void SetUp() override {
    if (!PosixSystem(Console{}).find_program("mpirun")) GTEST_SKIP() << "no mpirun on this machine";
  }

  /// Trains, and returns the weights.
  std::string train_over(const std::string& transport) {
    Workplace work(work_.path() + "/" + transport);
    work.environment = {{"DLLAUNCH_TRANSPORT", transport}};
    const auto ended =
        work.run({"run", work.file("tiny.yaml", tiny_job), "--local", "--run-dir", work.run_dir()});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return weights_in(work);
  }
  static std::string weights_in(const Workplace& work) {
    for (const auto& each : fs::directory_iterator(work.run_dir() + "/checkpoints")) {
      const auto path = each.path() / "model.safetensors";
      if (fs::exists(path)) return work.text_of(fs::relative(path, work.path()));
    }
    return "";
  }

  Workplace work_;
};

TEST_F(TransportOfTrainer, TheWeightsAreThoseOfMpi) {
  const auto by_mpi = train_over("mpi");
  EXPECT_GT(by_mpi.size(), 10'000u);
  EXPECT_EQ(train_over("tcp"), by_mpi);
}

// Ranks that know their number, as `srun --mpi=none` starts them, and no MPI at all.
TEST_F(TransportOfTrainer, RanksWithoutMpiMeetByThemselves) {
  const auto by_mpi = train_over("mpi");
  const auto mpi_dir = work_.path() + "/mpi/run";
  Workplace work(work_.path() + "/none");
  fs::create_directories(work.run_dir() + "/out");
  fs::copy_file(mpi_dir + "/plan.json", work.run_dir() + "/plan.json");
  auto config = work_.text_of("mpi/run/train.json");
  for (auto at = config.find(mpi_dir); at != std::string::npos; at = config.find(mpi_dir)) {
    config.replace(at, mpi_dir.size(), work.run_dir());
  }
  const auto file = work.file("run/train.json", config);
  std::vector<std::unique_ptr<Workplace>> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    const auto number = std::to_string(rank);
    ranks.push_back(std::make_unique<Workplace>(work.path()));
    ranks.back()->environment = {{"SLURM_JOB_ID", std::to_string(getpid())},
                                 {"SLURM_STEP_ID", "0"},
                                 {"SLURM_PROCID", number},
                                 {"SLURM_LOCALID", number},
                                 {"SLURM_STEP_NUM_TASKS", "3"},
                                 {"SLURM_STEP_TASKS_PER_NODE", "3"},
                                 {"SLURM_NODEID", "0"},
                                 {"SLURM_STEP_NUM_NODES", "1"},
                                 {"OMP_NUM_THREADS", "1"}};
    ranks.back()->start({"exec", "--run-dir", work.run_dir(), "--no-log", "--",
                         DLLAUNCH_BIN_DIR "/dltrain", "--config", file});
  }
  for (auto& rank : ranks) {
    const auto ended = rank->wait();
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
  }
  EXPECT_EQ(weights_in(work), by_mpi);
}

TEST_F(TransportOfTrainer, AWrongNameIsRefused) {
  Workplace work(work_.path() + "/wrong");
  work.environment = {{"DLLAUNCH_TRANSPORT", "udp"}};
  const auto ended =
      work.run({"run", work.file("tiny.yaml", tiny_job), "--local", "--run-dir", work.run_dir()});
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.out + ended.err, HasSubstr("DLLAUNCH_TRANSPORT is \"udp\""));
}

}  // namespace
}  // namespace dllaunch
