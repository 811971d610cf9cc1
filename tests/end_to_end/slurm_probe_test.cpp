// `dllaunch probe` on a real Slurm: jobs on two kinds of node, a cache, plans that are made from
// it, and masks that srun accepts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* job_text = R"yaml(name: where
resources: {nodes: 2, ranks_per_node: 2, device: cpu, time: 2}
run: [sh, -c, "echo cpus of $LOCAL_RANK: $(sed -n s/^Cpus_allowed_list:.//p /proc/self/status)"]
)yaml";

class SlurmProbe : public OnTestCluster {
 protected:
  // n2 differs in name only: another kind of node to Slurm, and as real as n1.
  static void SetUpTestSuite() {
    start_cluster({"--nodes", "2", "--cpus", "2", "--odd-node", "n2:feature=other"});
  }
  void arrange() override { job_ = work_->file("job.yaml", job_text); }

  bool nothing_is_queued() {
    return happens_within(20s, [] {
      return cluster_->on_head({"sh", "-c", "squeue --noheader 2>&1"}).empty();
    });
  }
  std::size_t hidden_folders() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(work_->path()))
      count += entry.path().filename().string().starts_with(".dllaunch-probe") ? 1 : 0;
    return count;
  }

  void probes_both_kinds() {
    const auto ended = work_->run({"probe", "--json"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const auto document = Json::parse(ended.out);
    EXPECT_EQ(document["missed"].size(), 0u);
    ASSERT_EQ(document["probed"].size(), 2u) << ended.out;
    for (const auto& node : document["probed"]) {
      EXPECT_EQ(node["hosts"], node["host"]) << "the job ran on a node of its kind";
      EXPECT_EQ(node["fits"], true);
      EXPECT_TRUE(fs::exists(node["file"].get<std::string>()));
      EXPECT_TRUE(fs::exists(node["xml"].get<std::string>()));
    }
    EXPECT_THAT(ended.err, HasSubstr("seen on n1"));
    EXPECT_EQ(hidden_folders(), 0u);
  }

  void plans_name_the_probe() {
    const auto plan = work_->run({"plan", job_});
    ASSERT_EQ(plan.exit_code, 0) << plan.err;
    EXPECT_THAT(plan.out, HasSubstr("topology: probed on n"));
    EXPECT_THAT(plan.out, HasSubstr("just now; `dllaunch probe batch` refreshes it"));
    EXPECT_THAT(plan.out, HasSubstr("--cpu-bind=mask_cpu:0x1,0x2"));
  }

  void ranks_get_the_cpus_of_the_plan() {
    const auto ended = work_->run({"run", job_, "--run-dir", work_->run_dir()});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    for (const auto& entry : fs::directory_iterator(work_->run_dir() + "/out")) {
      const auto log = work_->text_of("run/out/" + entry.path().filename().string());
      EXPECT_THAT(log, testing::AnyOf("cpus of 0: 0\n", "cpus of 1: 1\n")) << entry.path();
    }
  }

  void the_script_of_bind_binds() {
    const auto kept = work_->run({"probe", "--list", "--json"});
    const auto id = Json::parse(kept.out)["probed"][0]["id"].get<std::string>();
    const auto made =
        work_->run({"bind", "--topology", "probed:" + id, "--ranks", "2", "--format", "script"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const auto script = work_->file("bound.sh", made.out);
    cluster_->on_head({"sbatch", "--wait", "--nodes=2", "--chdir=" + work_->path(),
                       "--output=" + work_->path() + "/bound.out", script, "sh", "-c",
                       "echo $SLURM_LOCALID $OMP_NUM_THREADS $(sed -n s/^Cpus_allowed_list:.//p "
                       "/proc/self/status)"});
    auto lines = work_->text_of("bound.out");
    std::istringstream in(lines);
    std::multiset<std::string> said;
    for (std::string line; std::getline(in, line);) said.insert(line);
    EXPECT_EQ(said, (std::multiset<std::string>{"0 1 0", "0 1 0", "1 1 1", "1 1 1"})) << lines;
  }

  void ctrl_c_cancels() {
    cluster_->on_head({"scontrol", "update", "PartitionName=batch", "State=DOWN"});
    work_->start({"probe", "batch"});
    ASSERT_TRUE(happens_within(20s, [this] {
      return work_->text_of("stderr").find("down") != std::string::npos;
    })) << work_->text_of("stderr");
    work_->signal(SIGINT);
    const auto ended = work_->wait(20s);
    EXPECT_EQ(ended.exit_code, 130) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("skipped: stopped by SIGINT"));
    EXPECT_TRUE(nothing_is_queued());
    EXPECT_EQ(hidden_folders(), 0u);
  }

  std::string job_;
};

TEST_F(SlurmProbe, ProbesPlansRunsAndCancels) {
  const auto before = work_->run({"plan", job_});
  ASSERT_EQ(before.exit_code, 0) << before.err;
  EXPECT_THAT(before.out, HasSubstr("topology: Slurm's counts alone"));
  EXPECT_THAT(before.out, HasSubstr("--cpu-bind=none"));
  probes_both_kinds();
  plans_name_the_probe();
  ranks_get_the_cpus_of_the_plan();
  the_script_of_bind_binds();
  ctrl_c_cancels();
}

}  // namespace
}  // namespace dllaunch
