// dllaunch doctor inside an allocation of a real Slurm: two nodes of two CPUs on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class DoctorOnSlurm : public OnTestCluster {
 protected:
  static void SetUpTestSuite() { start_cluster({"--nodes", "2", "--cpus", "2"}); }

  /// Runs `script` as a batch job of four tasks; `doctor` in it is the program. Returns NAME's
  /// text.
  void submit(const std::string& script) {
    const std::string head = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=2 --time=5\ncd " +
                             work_->path() + "\ndoctor() { '" + DLLAUNCH_BIN_DIR +
                             "/dllaunch' doctor \"$@\"; }\n"
                             "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
                             "wait_for() { until [ \"$(ls | grep -c $1)\" -ge $2 ]; do "
                             "sleep 0.1; done; }\n";
    const auto file = work_->file("job.sh", head + script);
    cluster_->on_head({"sbatch", "--output=" + work_->path() + "/job.out", file});
    EXPECT_TRUE(happens_within(60s, [&] {
      return std::filesystem::exists(work_->path() + "/done");
    })) << work_->text_of("job.out");
  }
  Json document(const std::string& name) {
    return Json::parse(work_->text_of(name), nullptr, false);
  }
};

TEST_F(DoctorOnSlurm, FindsABadBindingOnEveryNode) {
  submit(
      "doctor --json > idle\n"
      "srun --cpu-bind=mask_cpu:0x1,0x1 bash -c 'touch bad.$SLURM_PROCID; sleep 300' &\n"
      "wait_for ^bad 4\n"
      "doctor --json > json; echo $? > code\n"
      "doctor > page\n"
      "kill %1; wait\n"
      "srun --cpu-bind=mask_cpu:0x1,0x2 bash -c 'touch good.$SLURM_PROCID; sleep 300' &\n"
      "wait_for ^good 4\n"
      "doctor --json > good_json; echo $? > good_code\n"
      "kill $!; wait\n"
      "srun --ntasks=2 --ntasks-per-node=1 --cpu-bind=mask_cpu:0x1 bash -c 'touch "
      "lone.$SLURM_PROCID; "
      "sleep 300' &\n"
      "wait_for ^lone 2\n"
      "doctor --json > lone_json\n"
      "touch done; kill $!; wait\n");
  const auto idle = document("idle");
  EXPECT_EQ(idle["hosts"], Json::parse(R"(["n1", "n2"])")) << work_->text_of("job.out");
  EXPECT_EQ(idle["ranks"].size(), 2u);
  EXPECT_EQ(idle["ranks"][0]["job"], "no step runs");

  EXPECT_EQ(work_->text_of("code"), "4\n") << work_->text_of("job.out");
  const auto bad = document("json");
  ASSERT_EQ(bad["ranks"].size(), 4u) << bad.dump(2);
  EXPECT_EQ(bad["ranks"][3]["host"], "n2");
  EXPECT_EQ(bad["findings"][0]["id"], "A02");
  EXPECT_EQ(bad["findings"][0]["ranks"], Json::parse("[0, 1, 2, 3]"));
  EXPECT_FALSE(bad.contains("unanswered"));
  EXPECT_THAT(work_->text_of("page"), HasSubstr("0-3    n[1-2]  step "));
  EXPECT_THAT(work_->text_of("page"), HasSubstr("srun --cpu-bind=mask_cpu:0x1,0x2"));
  EXPECT_THAT(work_->text_of("page"), HasSubstr("FAIL 4 ranks on 2 nodes: 1 failure"));

  EXPECT_EQ(work_->text_of("good_code"), "0\n");
  EXPECT_EQ(document("good_json")["ranks"].size(), 4u);
  EXPECT_THAT(document("good_json")["findings"].dump(), testing::Not(HasSubstr("A26")));
  const auto lone = document("lone_json")["findings"];
  const auto node = Json::parse(Workplace().run({"topo", "--json"}).out, nullptr, false);
  if (node["cores"].size() > 1 && node["cores"][0]["cpus"] == "0") {  // CPU 1 is another core
    EXPECT_THAT(lone.dump(), HasSubstr("A26")) << lone.dump(2);
    EXPECT_THAT(lone.dump(), HasSubstr("no rank runs on CPU")) << lone.dump(2);
  }
}

TEST_F(DoctorOnSlurm, FromTheLoginNodeARunOfOursIsWellBound) {
  const auto job = work_->file("job.yaml",
                               "name: job\nresources: {nodes: 2, ranks_per_node: 2, device: cpu, "
                               "time: 5}\nrun: [sleep, '300']\nrecovery: {grace_seconds: 5}\n");
  const auto submitted = work_->run({"run", job, "--run-dir", work_->run_dir(), "--detach"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  const auto id = work_->job_id();
  work_->environment.emplace_back("SLURM_JOB_ID", id);
  work_->environment.emplace_back("SLURM_JOB_NODELIST", "n[1-2]");
  Json seen;
  const bool found = happens_within(60s, [&] {
    const auto ended = work_->run({"doctor", "--json"});
    seen = Json::parse(ended.out.empty() ? "{}" : ended.out, nullptr, false);
    // Until then the shim may not have bound it.
    const auto runs = [](const Json& rank) { return rank["command"] == "sleep"; };
    return ended.exit_code == 0 && seen["ranks"].size() == 4 &&
           std::all_of(seen["ranks"].begin(), seen["ranks"].end(), runs);
  });
  cluster_->on_head({"scancel", id});
  EXPECT_TRUE(found) << seen.dump(2);
  for (const auto& finding : seen["findings"]) EXPECT_EQ(finding["level"], "OK") << finding;
}

TEST_F(DoctorOnSlurm, SeesTheRanksOfAnMpirunInsideTheJobNotItsDaemons) {
  submit(
      "mpirun -np 4 --map-by ppr:2:node --bind-to none bash -c 'touch rank.$OMPI_COMM_WORLD_RANK; "
      "sleep 300' &\n"
      "wait_for ^rank 4\n"
      "doctor --json > json\n"
      "touch done; kill %1; wait\n");
  const auto seen = document("json");
  ASSERT_EQ(seen["ranks"].size(), 4u) << work_->text_of("job.out") << seen.dump(2);
  for (int i = 0; i < 4; ++i) {
    const auto& row = seen["ranks"][static_cast<std::size_t>(i)];
    EXPECT_EQ(row["rank"], i);
    EXPECT_EQ(row["host"], i < 2 ? "n1" : "n2");
    EXPECT_EQ(row["command"], "sleep");
  }
  EXPECT_EQ(seen["findings"][0]["id"], "A03") << seen.dump(2);
}

}  // namespace
}  // namespace dllaunch
