#include "launcher/init/first_job.hpp"

#include <gmock/gmock.h>

#include "launcher/job/job_file.hpp"
#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

Job written(const FirstJob& wanted, const Facts& facts) {
  const auto text = render_draft(first_job(wanted, facts));
  auto parsed = parse_job(text, "job.yaml", {});
  EXPECT_TRUE(parsed.job) << text << render(parsed.problems, false);
  return parsed.job ? *std::move(parsed.job) : Job{};
}

TEST(FirstJob, StartsTheProgramOnThisCluster) {
  const auto job =
      written({.script = "src/train.py", .framework = "pytorch", .nodes = 2}, lumi_like());
  EXPECT_EQ(job.name, "train");
  EXPECT_EQ(job.resources.nodes, 2);
  EXPECT_EQ(job.resources.partition, "standard-g");
  EXPECT_EQ(job.framework, "pytorch");
  EXPECT_EQ(job.run_command, (std::vector<std::string>{"python3", "-u", "src/train.py"}));
  const auto made = planned(job, lumi_like());
  EXPECT_EQ(made.ranks(), 16);
}

TEST(FirstJob, TakesAPartitionWithGpusAndATimeWithinItsLimit) {
  auto facts = mixed_cluster();
  auto& partitions = facts.slurm->partitions;
  for (auto& type : partitions[0].node_types) type.gpus = 0;
  partitions[1].max_minutes = 20;
  const auto job = written({.script = "a.out"}, facts);
  EXPECT_EQ(job.resources.partition, partitions[1].name);
  EXPECT_EQ(job.resources.time, "00:20:00");
  EXPECT_EQ(problem_of(job, facts), "none");
}

TEST(FirstJob, WithoutAProgramOrSlurmIsAFirstTraining) {
  const auto job = written({}, one_machine("cores:2"));
  EXPECT_EQ(job.train["model"], "cnn");
  EXPECT_EQ(job.resources.partition, std::nullopt);
  EXPECT_EQ(problem_of(job, one_machine("cores:2"), true), "none");
}

}  // namespace
}  // namespace dllaunch
