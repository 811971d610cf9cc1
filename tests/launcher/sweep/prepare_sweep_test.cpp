#include "launcher/sweep/prepare_sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/launcher/disk_system.hpp"
#include "tests/support/temporary_folder.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Prepares sweeps on a machine of four cores without Slurm.
class PrepareSweep : public testing::Test {
 protected:
  PrepareSweep() {
    system_.node = *synthetic_topology("cores:4");
    system_.programs = {"echo", "mpirun"};
    for (auto at = std::filesystem::current_path(); at != at.parent_path(); at = at.parent_path())
      system_.folders.insert(at.string());
    system_.folders.insert("/");
  }

  Result<PreparedSweep> prepare(const std::string& sweep, const std::string& job = training) {
    const auto file = folder_.path() + "/job.yaml";
    std::ofstream(file) << job << "sweep: {" << sweep << "}\n";
    return prepare_sweep(system_, {.job_file = file, .local = true, .dir = folder_.path() + "/s"});
  }
  std::string problem(const std::string& sweep, const std::string& job = training) {
    const auto prepared = prepare(sweep, job);
    return prepared ? "none" : prepared.error().what + " (" + prepared.error().hint + ")";
  }

  static constexpr const char* training =
      "name: a\nresources: {device: cpu, ranks_per_node: 1}\n"
      "train: {model: lenet, epochs: 9, batch_size: 8,\n"
      "        dataset: {kind: synthetic, images: 64, classes: 10, channels: 1, image_size: 28}}\n";
  static constexpr const char* command =
      "name: a\nresources: {device: cpu, ranks_per_node: 1}\nrun: [echo, '{lr}']\n";
  const std::string lr_ = "parameters: {train.optimizer.lr: {log: [0.001, 0.1]}}";
  const TemporaryFolder folder_;
  DiskSystem system_;
};

TEST_F(PrepareSweep, OnlyTheParametersAreRequired) {
  const auto prepared = prepare(lr_);
  ASSERT_TRUE(prepared) << prepared.error().what;
  EXPECT_EQ(prepared->sweep.most_trials, 32);
  EXPECT_EQ(prepared->slots.size(), 1U);
  EXPECT_EQ(prepared->sweep.metric, "val_accuracy");
  EXPECT_TRUE(prepared->sweep.rungs.empty());
}

TEST_F(PrepareSweep, AshaHasRungsUpToTheJobsEpochs) {
  const auto prepared = prepare(lr_ + ", scheduler: asha");
  ASSERT_TRUE(prepared) << prepared.error().what;
  EXPECT_THAT(prepared->sweep.rungs, ElementsAre(1, 2, 5, 9));
  EXPECT_THAT(problem(lr_ + ", scheduler: asha, min_epochs: 9"), HasSubstr("stops trials early"));
  EXPECT_TRUE(prepare(lr_ + ", metric: val_loss")->sweep.minimize);
  EXPECT_FALSE(prepare(lr_ + ", metric: val_loss, direction: maximize")->sweep.minimize);
}

TEST_F(PrepareSweep, ConcurrentTrialsGetPartsOfTheMachine) {
  const auto prepared = prepare(lr_ + ", concurrent: 2");
  ASSERT_TRUE(prepared) << prepared.error().what;
  ASSERT_EQ(prepared->slots.size(), 2U);
  EXPECT_FALSE(prepared->slots[0].cpus.intersects(prepared->slots[1].cpus));
  EXPECT_EQ(prepared->slots[0].cpus.size(), 2);
  EXPECT_THAT(problem(lr_ + ", concurrent: 5"), HasSubstr("this machine has 4 cores"));
}

TEST_F(PrepareSweep, AsManyTrialsAsThereAreGpusForRunAtATime) {
  system_.node = *synthetic_topology("cores:8 gpus:4");
  const std::string on_gpus =
      "name: a\nresources: {ranks_per_node: 1, gpus_per_node: 1}\nrun: [echo, '{lr}']\n";
  const std::string lr = "parameters: {lr: {log: [0.1, 1]}}, value: x";
  const auto of = [&](const std::string& more) { return prepare(lr + more, on_gpus); };
  const auto prepared = of("");
  ASSERT_TRUE(prepared) << prepared.error().what;
  EXPECT_EQ(prepared->slots.size(), 4U);
  EXPECT_EQ(prepared->gpus, 1);
  EXPECT_EQ(of(", concurrent: 1")->slots.size(), 1U);
  EXPECT_THAT(of(", concurrent: 1")->slots[0].gpus, ElementsAre()) << "the whole machine";
  EXPECT_THAT(problem(lr + ", concurrent: 5", on_gpus), HasSubstr("has 4 GPUs, 1 for each trial"));

  system_.variables["CUDA_VISIBLE_DEVICES"] = "2,3";
  const auto fewer = of("");
  ASSERT_EQ(fewer->slots.size(), 2U);
  EXPECT_EQ(fewer->node.gpus[static_cast<std::size_t>(fewer->slots[1].gpus[0])].index, 3);
  // A job step that numbers its GPUs anew: no variable is known to name one of them.
  system_.variables["SLURM_STEP_GPUS"] = "0,1";
  EXPECT_EQ(of("")->slots.size(), 1U);
  EXPECT_THAT(problem(lr + ", concurrent: 2", on_gpus),
              HasSubstr("it cannot be told which of the machine's GPUs"));
  system_.variables.clear();
  const auto fixed = on_gpus + "environment: {variables: {CUDA_VISIBLE_DEVICES: '1'}}\n";
  EXPECT_THAT(problem(lr + ", concurrent: 2", fixed),
              HasSubstr("CUDA_VISIBLE_DEVICES in the job file gives every trial the same GPUs"));
}

TEST_F(PrepareSweep, SaysWhatIsWrongBeforeAnythingStarts) {
  EXPECT_THAT(problem(""), HasSubstr("nothing to try"));
  EXPECT_THAT(problem("parameters: {}"), HasSubstr("nothing to try"));
  EXPECT_THAT(problem("parameters: {train.optimizer.lrr: {log: [0.1, 1]}}"),
              HasSubstr("sweep.parameters.train.optimizer.lrr, 0.1: "));
  EXPECT_THAT(problem("parameters: {train.batch_size: {choice: [8, none]}}"),
              HasSubstr("sweep.parameters.train.batch_size, \"none\": "));
  EXPECT_THAT(problem(lr_ + ", metric: val_acc"), HasSubstr("the trainer has no val_acc"));
  EXPECT_THAT(problem(lr_ + ", gpu_hours: 3"), HasSubstr("the job has no GPU"));
  EXPECT_THAT(problem(lr_ + ", until: soon"), HasSubstr("soon is no moment"));
  EXPECT_THAT(problem("parameters: {lr: {log: [0.1, 1]}}", command),
              HasSubstr("what a sweep of its run: compares"));
  EXPECT_THAT(problem("parameters: {x: {log: [0.1, 1]}}, value: x", command),
              HasSubstr("neither a key of the job file nor {x}"));
  EXPECT_THAT(problem("parameters: {lr: {log: [0.1, 1]}}, value: x, scheduler: asha", command),
              HasSubstr("does not know how long a whole trial is"));
  EXPECT_THAT(problem(lr_ + ", scheduler: asha, reduction: 10"), HasSubstr("nothing to choose"));
  EXPECT_THAT(problem("scheduler: asha, parameters: {train.epochs: {choice: [2, 4]}}"),
              HasSubstr("scheduler: asha sets it"));
}

TEST_F(PrepareSweep, OnlyTheBudgetMayChange) {
  const auto digest = [&](const std::string& sweep) { return prepare(sweep)->sweep.job; };
  const auto before = digest(lr_);
  EXPECT_EQ(digest(lr_ + ", trials: 99, concurrent: 2, until: '2099-01-01'"), before);
  EXPECT_NE(digest(lr_ + ", seed: 2"), before);
}

}  // namespace
}  // namespace dllaunch
