// The script without dllaunch: as text, as sbatch takes it, and what its ranks find.
#include "launcher/plan/script/plain_script.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "launcher/cluster/cluster_catalog.hpp"
#include "launcher/cluster/profile_facts.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/os/posix_system.hpp"
#include "support/file_text.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/temporary_folder.hpp"
#include "topology/render/masks.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Facts cluster_of(const std::string& profile) {
  FakeSystem system;
  auto found = find_profile(system, profile);
  EXPECT_TRUE(found) << profile;
  return *facts_from_profile(std::make_shared<const ClusterProfile>(*std::move(found)));
}

Job job_of(const std::string& framework, int nodes) {
  auto job = run_job();
  job.framework = framework;
  job.resources.nodes = nodes;
  return job;
}

std::string text_of(const LaunchPlan& plan) {
  const auto script = plain_script(plan);
  return script ? render_plain(plan, *script) : "refused: " + script.error().what;
}

/// All that dllaunch can plan for: each profile that Slurm runs, and each example on two clusters.
std::vector<std::pair<std::string, LaunchPlan>> all_plans() {
  std::vector<std::pair<std::string, LaunchPlan>> all;
  for (const auto& profile : embedded_cluster_profiles()) {
    const auto facts = cluster_of(std::string(profile.name));
    if (facts.profile->scheduler != "slurm") continue;
    for (const auto* framework : {"none", "pytorch", "tensorflow", "jax", "deepspeed"}) {
      auto job = job_of(framework, 2);
      const auto& first = facts.slurm->partitions.front().name;
      if (first != "any") job.resources.partition = first;
      all.emplace_back(std::string(profile.name) + "-" + framework, planned(job, facts));
    }
  }
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(DLLAUNCH_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto text = read_file_text(entry.path());
    auto parsed = parse_job(*text, entry.path(), {});
    EXPECT_TRUE(parsed.job) << entry.path();
    if (!parsed.job || !parsed.job->components.empty() || !parsed.job->stage.empty()) continue;
    parsed.job->resources.gpus.reset();
    for (const auto* name : {"generic-nvidia", "cpu"}) {
      auto job = *parsed.job;
      if (std::string(name) == "cpu") job.resources.gpus_per_node.reset();
      const auto made = plan(job, cluster_of(name), sample_paths(), false);
      // Which plug-ins srun has there is not known.
      if (made && made->start.starts_by_srun())
        all.emplace_back(entry.path().stem().string() + "-on-" + name, *made);
    }
  }
  return all;
}

/// A job that binds by masks, one whose nodes are an example, and a training.
TEST(PlainScript, MatchesTheGoldenScripts) {
  auto contained = job_of("jax", 2);
  contained.environment.container = Container{.image = "docker://rocm/jax"};
  contained.environment.modules = {"rocm"};
  contained.array = "0-3";
  auto saves = job_of("pytorch", 4);
  saves.recovery.written = true;
  saves.resources.partition = "gpu_p5";
  saves.resources.sbatch_extra = {"--mail-type=END"};
  auto trains = with_transport(train_job(), "tcp");
  trains.resources.nodes = 2;
  for (const auto& [name, plan] : std::vector<std::pair<std::string, LaunchPlan>>{
           {"lumi", planned(contained, lumi_like())},
           {"any", planned(saves, cluster_of("generic-nvidia"))},
           {"train", planned(trains, small_cluster())}})
    EXPECT_TRUE(matches_golden("launcher/plain/" + name + ".sbatch", text_of(plan)));
}

TEST(PlainScript, BindsAsThePlanSays) {
  const auto plan = planned(job_of("pytorch", 2), cluster_of("frontier"));
  const auto text = text_of(plan);
  EXPECT_THAT(text, HasSubstr("\n  --cpu-bind=" + srun_cpu_bind(plan.placement) + " \\\n"));
  EXPECT_THAT(text, Not(HasSubstr(plan.paths.dllaunch))) << "it needs no dllaunch";
  // Where the masks are not certain, Slurm binds, not nobody.
  const auto unsure = text_of(planned(job_of("pytorch", 2), cluster_of("generic-nvidia")));
  EXPECT_THAT(unsure, HasSubstr("\n  --cpu-bind=cores \\\n"));
}

TEST(PlainScript, OnAnyClusterTheRanksShareTheCpusThatTheNodeHas) {
  auto job = job_of("pytorch", 2);
  job.resources.ranks_per_node = 4;
  const auto any = text_of(planned(job, cluster_of("cpu")));
  EXPECT_THAT(any, Not(HasSubstr("#SBATCH --cpus-per-task")));
  EXPECT_THAT(any, HasSubstr("/ 4))\n"));
  EXPECT_THAT(any, HasSubstr("\nsrun \\\n  --cpus-per-task=\"$cpus_of_rank\" \\\n"));
  job.resources.cpus_per_rank = 6;
  const auto asked = text_of(planned(job, cluster_of("cpu")));
  EXPECT_THAT(asked, HasSubstr("\n#SBATCH --cpus-per-task=6\n"));
  EXPECT_THAT(asked, HasSubstr("\n  --cpus-per-task=6 \\\n"));
  EXPECT_THAT(asked, Not(HasSubstr("cpus_of_rank")));
}

TEST(PlainScript, LeavesTheUsersOwnOptionsOfSrun) {
  auto job = job_of("pytorch", 2);
  job.recovery.written = true;
  const auto with = [&](std::vector<std::string> extra) {
    job.resources.srun_extra = std::move(extra);
    return text_of(planned(job, cluster_of("cpu")));
  };
  EXPECT_THAT(with({}), HasSubstr("--cpu-bind=cores \\\n  --distribution=block:block"));
  EXPECT_THAT(with({}), HasSubstr("--kill-on-bad-exit=1"));
  EXPECT_THAT(with({"--cpu-bind=none"}), HasSubstr("\n  --cpu-bind=none \\\n"));
  EXPECT_THAT(with({"--kill-on-bad-exit=0"}), HasSubstr("\n  --kill-on-bad-exit=0 \\\n"));
  job.resources.sbatch_extra = {"-m cyclic"};
  EXPECT_THAT(with({}), Not(HasSubstr("--distribution=block:block")));
}

TEST(PlainScript, UnsetsWhatWouldContradictSrunsOptions) {
  EXPECT_THAT(
      text_of(planned(job_of("pytorch", 2), small_cluster())),
      AllOf(HasSubstr("\nunset SLURM_{"), HasSubstr("GPU_BIND"), HasSubstr("GPUS_PER_TASK")));
}

/// Slurm signals bash, a shell around the program and tee as well: they must not end before it.
TEST(PlainScript, TheSignalThatAsksForASaveReachesTheProgramAlone) {
  auto job = job_of("none", 2);
  job.recovery.written = true;
  const auto plan = planned(job, small_cluster());
  ASSERT_TRUE(plan.asks_ranks);
  const auto script = *plain_script(plan);
  std::string lines;
  for (const auto& line : script.of_rank) lines += line + "\n";
  PosixSystem system(Console{});
  const std::string saves =
      "import os, signal, sys\n"
      "def save(*_):\n"
      "  print('saved')\n"
      "  sys.exit(75)\n"
      "signal.signal(signal.SIGUSR2, save)\n"
      "os.killpg(0, signal.SIGUSR2)\n"
      "signal.pause()\n";
  const auto output = system.run({"setsid", "--wait", "env", "SLURM_PROCID=0", "SLURM_LOCALID=0",
                                  "SLURM_NODEID=0", "bash", "-c", lines, "rank", "bash", "-eo",
                                  "pipefail", "-c", "python3 -c \"$0\" | tee /dev/null", saves},
                                 seconds(60));
  ASSERT_TRUE(output) << output.error().what;
  EXPECT_EQ(output->exit_code, 75) << output->err;
  EXPECT_EQ(output->out, "saved\n");
}

TEST(PlainScript, NamesTheNetworkThatTheClustersHostNamesNeed) {
  auto job = job_of("pytorch", 2);
  job.resources.partition = "booster";
  EXPECT_THAT(text_of(planned(job, cluster_of("juwels-booster"))), HasSubstr("| head -n 1)i\n"));
}

TEST(PlainScript, RefusesWhatOnlyDllaunchDoes) {
  auto staged = run_job();
  staged.stage = {"/data/images"};
  EXPECT_THAT(text_of(planned(staged, small_cluster())), HasSubstr("refused: stage:"));
  auto without_pmix = small_cluster();
  without_pmix.slurm->mpi_types = {"none"};
  const auto mpi = job_of("mpi", 2);
  EXPECT_THAT(text_of(planned(mpi, without_pmix)),
              HasSubstr("refused: no MPI plug-in of srun is known"));
}

TEST(PlainScript, LeavesSpareNodesToTheFullOne) {
  auto job = run_job();
  job.resources.nodes = 2;
  job.recovery.written = true;
  job.recovery.min_nodes = 1;
  const auto text = text_of(planned(job, small_cluster()));
  EXPECT_THAT(text, HasSubstr("\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node="));
  EXPECT_THAT(text, Not(HasSubstr("--no-kill")));
}

/// What a rank's lines of bash make of Slurm's variables.
std::string found_by_rank(const LaunchPlan& plan, const std::string& names) {
  const auto script = *plain_script(plan);
  std::string lines;
  for (const auto& line : script.of_rank) lines += line + "\n";
  PosixSystem system(Console{});
  const auto output = system.run(
      {"env", "-i", "PATH=/usr/bin:/bin", "SLURM_PROCID=5", "SLURM_LOCALID=1", "SLURM_NODEID=2",
       "SLURM_NTASKS=8", "SLURM_JOB_ID=77", "USER=me", "workers=\"a:1\", \"b:2\"", "bash", "-c",
       lines, "rank", "bash", "-c", "echo \"" + names + "\""},
      seconds(20));
  return output ? output->out + output->err : output.error().what;
}

TEST(PlainScript, EveryFrameworkFindsItsVariables) {
  const auto facts = lumi_like();
  EXPECT_EQ(found_by_rank(planned(job_of("pytorch", 2), facts),
                          "$RANK $LOCAL_RANK $NODE_RANK $GROUP_RANK"),
            "5 1 2 2\n");
  EXPECT_EQ(
      found_by_rank(planned(job_of("jax", 2), facts), "$JAX_PROCESS_ID $JAX_LOCAL_DEVICE_IDS"),
      "5 1\n");
  EXPECT_EQ(
      found_by_rank(planned(job_of("horovod", 2), facts), "$HOROVOD_RANK $HOROVOD_LOCAL_RANK"),
      "5 1\n");
  EXPECT_EQ(found_by_rank(planned(job_of("tensorflow", 2), facts), "$TF_CONFIG"),
            R"({"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 5}})"
            "\n");
}

TEST(PlainScript, BashAndSbatchTakeThatOfEveryProfileAndExample) {
  const TemporaryFolder folder;
  std::size_t scripts = 0;
  for (const auto& [name, plan] : all_plans()) {
    const auto text = text_of(plan);
    EXPECT_TRUE(text.starts_with("#!/bin/bash\n")) << name << ": " << text;
    std::ofstream(folder.path() + "/" + name + ".sbatch") << text;
    ++scripts;
  }
  EXPECT_GT(scripts, 40u);
  std::ofstream(folder.path() + "/slurm.conf")
      << "ClusterName=x\nSlurmctldHost=localhost\nSlurmctldPort=9\nGresTypes=gpu\nNodeName=n1\n"
         "PartitionName=p Nodes=n1\n";
  // sbatch has read and accepted every option when it looks for its controller.
  std::ofstream(folder.path() + "/check") << R"(cd -- "$1"
export SLURM_CONF=$PWD/slurm.conf
for script in *.sbatch; do
  bash -n "$script"
  [ -z "$2" ] || sbatch "$script" 2>&1 | grep -v 'Unable to contact slurm controller' &
done
wait
)";
  PosixSystem system(Console{});
  const bool slurm = system.find_program("sbatch").has_value();
  const auto output = system.run(
      {"bash", folder.path() + "/check", folder.path(), slurm ? "sbatch" : ""}, seconds(120));
  ASSERT_TRUE(output) << output.error().what;
  EXPECT_EQ(output->out + output->err, "");
  if (!system.find_program("shellcheck")) return;
  for (const auto* name : {"frontier-pytorch", "cpu-tensorflow", "fashion-mnist-on-cpu"}) {
    const auto checked = system.run(
        {"shellcheck", "--severity=warning", folder.path() + "/" + name + ".sbatch"}, seconds(60));
    EXPECT_EQ(checked ? checked->out : checked.error().what, "") << name;
  }
}

}  // namespace
}  // namespace dllaunch
