// sbatch scripts as job files: what is asked of Slurm stays the same.
#include "launcher/init/convert_sbatch.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "launcher/job/job_file.hpp"
#include "launcher/lint/script.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/plan/sbatch_overrides.hpp"
#include "launcher/slurm/slurm_request.hpp"
#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
const fs::path root = DLLAUNCH_SOURCE_DIR;
constexpr int threads = 2;  // per core, on the cluster of these tests

std::string read_bytes(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

ConvertedScript convert(const std::string& text) {
  return convert_sbatch(text, {.file = "job.sbatch", .threads_per_core = threads});
}

/// 256 nodes that have whatever a script asks for: 64 cores, 8 GPUs, its partition and features.
Facts cluster_for(const Job& job) {
  NodeType type{.cpus = 128, .sockets = 2, .cores_per_socket = 32, .threads_per_core = threads};
  type.gpus = 8;
  type.features = {job.resources.constraint.value_or("any")};
  for (int i = 1; i <= 256; ++i) type.hosts.push_back("n" + std::to_string(i));
  Partition partition{.name = job.resources.partition.value_or("batch"), .is_default = true};
  partition.up = true;
  partition.node_types = {type};
  Facts facts;
  facts.slurm = SlurmFacts{.version = "23.02.7", .mpi_types = {"none", "pmix"}};
  facts.slurm->partitions = {partition};
  return facts;
}

/// The script that dllaunch would submit; "" and a failure if there is no plan.
std::string planned_script(const std::string& yaml) {
  const auto parsed = parse_job(yaml, "job.yaml", {});
  if (!parsed.job) return "";
  const auto job = apply_overrides(*parsed.job, {});
  const auto made = plan(job, cluster_for(job), sample_paths(), false);
  EXPECT_TRUE(made) << yaml << (made ? "" : made.error().what);
  return made ? render_sbatch(*made) : "";
}

std::string text_of(const lint::Script& script, const std::string& option) {
  const auto* given = script.directive(option);
  return given == nullptr ? "absent" : given->value.bytes();
}

/// CPUs of each node, in whole cores, as Slurm gives them out.
long cpus_per_node(const lint::Script& script, long tasks) {
  const bool cores = text_of(script, "hint") == "nomultithread";
  const long cpus = std::max(1L, script.request.task_cpus()) * tasks;
  const long unit = cores ? 1 : threads;
  return (cpus + unit - 1) / unit;
}

/// In which way the planned script asks for something else; empty: in none.
std::string difference(const std::string& original, const std::string& rendered, long tasks) {
  const auto a = lint::read_script(original);
  const auto b = lint::read_script(rendered);
  std::string said;
  const auto compare = [&said](const std::string& what, const auto& was, const auto& is) {
    if (was == is) return;
    std::ostringstream line;
    line << what << ": " << was << " became " << is << "; ";
    said += line.str();
  };
  compare("nodes", a.request.nodes, b.request.nodes);
  compare("tasks", tasks, b.request.tasks_per_node());
  compare("GPUs", a.request.wants_gpus ? a.request.node_gpus() : 0,
          std::max(0L, b.request.node_gpus()));
  compare("exclusive", a.request.exclusive, b.request.exclusive);
  // Whole nodes have all their CPUs.
  if (!a.request.exclusive) compare("CPUs", cpus_per_node(a, tasks), cpus_per_node(b, tasks));
  compare("memory", megabytes(text_of(a, "mem")), megabytes(text_of(b, "mem")));
  for (const char* option : {"time", "partition", "account", "qos", "reservation", "constraint",
                             "exclude", "array", "hint", "mail-type", "mail-user", "wait-all-nodes",
                             "ntasks-per-core", "licenses", "mem-per-cpu", "mem-per-gpu"})
    compare(option, text_of(a, option), text_of(b, option));
  return said;
}

TEST(ConvertSbatch, MakesAJobOfTorchrunInAScript) {
  const std::string script =
      "#!/bin/bash\n#SBATCH --job-name=gpt --nodes=2 --ntasks-per-node=1\n"
      "#SBATCH --gres=gpu:4 --cpus-per-task=32 --time=02:00:00 --exclusive\n"
      "export NCCL_DEBUG=INFO\n"
      "srun torchrun --nnodes 2 --nproc_per_node 4 --rdzv_backend c10d \\\n"
      "  --rdzv_endpoint $(hostname):29500 train.py --epochs 3\n";
  const auto converted = convert(script);
  EXPECT_EQ(
      converted.job,
      "# Made from job.sbatch by dllaunch init. `dllaunch validate` checks it, `dllaunch plan` "
      "shows\n# what it asks Slurm for. The script's own account:\n"
      "#   2 nodes x 1 task, 32 CPUs a task, nobody else on the nodes\n#   4 GPUs a node\n"
      "#   memory as the partition says, time 02:00:00\n"
      "# Not taken over:\n#   line 5: torchrun --nnodes 2 "
      "--nproc_per_node 4 --rdzv_backend c10d --rdzv_endpoint $(hostname):29500: dllaunch starts "
      "the ranks, and they find each other\nname: gpt\nresources:\n  nodes: 2\n"
      "  gpus_per_node: 4\n  ranks_per_node: 4\n  cpus_per_rank: 4\n"
      "  time: \"02:00:00\"\n  exclusive: true\n  # as in the script\n"
      "  sbatch_extra: [\"!--mem\"]\nenvironment:\n  variables:\n    NCCL_DEBUG: INFO\n"
      "framework: pytorch\n# what each rank runs\nrun: \"python3 -u train.py --epochs 3\"\n");
  EXPECT_EQ(difference(script, planned_script(converted.job), 4), "");
}

TEST(ConvertSbatch, EveryResourceIsCompared) {
  const std::string options[] = {"--nodes=2",      "--ntasks-per-node=3", "--cpus-per-task=10",
                                 "--gres=gpu:4",   "--mem=10G",           "--time=00:10:00",
                                 "--partition=p",  "--account=a",         "--qos=q",
                                 "--constraint=c", "--exclude=n3",        "--array=0-3",
                                 "--licenses=l",   "--reservation=r"};
  std::string all = "#!/bin/bash\n";
  for (const auto& option : options) all += "#SBATCH " + option + "\n";
  all += "srun python t.py\n";
  const std::string planned = planned_script(convert(all).job);
  EXPECT_EQ(difference(all, planned, 3), "");
  for (const auto& option : options) {
    std::string less = all;
    less.replace(less.find(option), option.size(), "--comment=x");
    EXPECT_NE(difference(less, planned, option.starts_with("--nt") ? 1 : 3), "") << option;
  }
}

TEST(ConvertSbatch, KeepsALauncherThatItCannotTakeOver) {
  const auto converted = convert(
      "#!/bin/bash\n#SBATCH -N 2 --exclusive\nsrun torchrun --nproc_per_node $N train.py\n");
  EXPECT_THAT(converted.job, HasSubstr("run: \"command torchrun --nproc_per_node $N train.py\""));
  EXPECT_THAT(converted.job, HasSubstr("ranks_per_node: 1\n"));
}

TEST(ConvertSbatch, LeavesOutLinesThatTorchrunNeedsAndSaysSo) {
  const auto converted = convert(
      "#!/bin/bash\n#SBATCH -N 2 --exclusive --gres=gpu:2\nsource ~/v/bin/activate\nmkdir -p out\n"
      "head=$(scontrol show hostnames | head -n 1)\ncd src\n"
      "srun torchrun --nnodes=2 --nproc_per_node=2 --rdzv_endpoint=$head:29500 train.py\n");
  EXPECT_THAT(converted.job, HasSubstr("environment:\n  activate: \"~/v\"\n"));
  EXPECT_THAT(converted.job, HasSubstr("    set +e  # as in the script\n    mkdir -p out\n    cd "
                                       "src\nframework: pytorch\n"));
  EXPECT_THAT(converted.dropped,
              testing::ElementsAre("line 5: head=$(scontrol show hostnames | head -n 1): dllaunch "
                                   "finds where the ranks meet",
                                   HasSubstr("line 7: torchrun --nnodes=2")));
}

TEST(ConvertSbatch, StartsTheRanksOfDeepspeedOnAllNodes) {
  const std::string head = "#!/bin/bash\n#SBATCH -N 2 --gres=gpu:8 --exclusive\n";
  const std::string command = "deepspeed --hostfile=hosts train.py --deepspeed_config ds.json\n";
  const auto converted = convert(head + command);
  EXPECT_THAT(converted.job, HasSubstr("  ranks_per_node: 8\n"));
  EXPECT_THAT(converted.job, HasSubstr("framework: deepspeed\n"));
  EXPECT_THAT(converted.job, HasSubstr("train.py --local_rank=$LOCAL_RANK --deepspeed_config"));
  const auto shared = convert("#!/bin/bash\n#SBATCH -N 2 --gres=gpu:8\n" + command);
  EXPECT_THAT(shared.job, HasSubstr("  [ \"$RANK\" = 0 ] || exit 0"))
      << "with CPUs for one task it stays, on the first node";
  EXPECT_THAT(shared.job, HasSubstr("\n  command deepspeed --hostfile=hosts"));
  EXPECT_THAT(convert(head + "deepspeed train.py\n").job, HasSubstr("|| exit 0"))
      << "without a list it starts workers on its own node";
}

TEST(ConvertSbatch, KnowsTheNumbersThatALauncherReads) {
  const std::string head =
      "#!/bin/bash\n#SBATCH -N 2 --exclusive --gres=gpu:4\nexport GPUS=4\nMORE=1\nMORE=2\n";
  const auto ranks_of = [&head](const std::string& launcher) {
    const auto job = convert(head + "srun " + launcher + " train.py\n").job;
    const auto at = job.find("ranks_per_node: ") + 16;
    return job.substr(at, job.find('\n', at) - at);
  };
  const std::string all = "accelerate launch --num_machines $SLURM_NNODES --num_processes ";
  EXPECT_EQ(ranks_of(all + "$((SLURM_NNODES * GPUS))"), "4");
  EXPECT_EQ(ranks_of(all + "$(( ${GPUS} * $SLURM_JOB_NUM_NODES * 1 ))"), "4");
  EXPECT_EQ(ranks_of("torchrun --nnodes=${SLURM_NNODES} --nproc-per-node=$GPUS"), "4");
  EXPECT_EQ(ranks_of("torchrun --nproc-per-node=$MORE"), "1") << "it changes";
  EXPECT_EQ(ranks_of("torchrun --nproc-per-node=${GPUS:-3}"), "1");
  EXPECT_EQ(ranks_of(all + "$((SLURM_NNODES + GPUS))"), "1") << "no product";
  EXPECT_EQ(ranks_of(all + "$((SLURM_NNODES * UNKNOWN))"), "1");
}

TEST(ConvertSbatch, NamesTheProgramOfTheRanks) {
  const std::string head = "#!/bin/bash\n#SBATCH -N 2\n";
  EXPECT_EQ(convert(head + "srun python -u src/train.py --x 1\n").program, "src/train.py");
  EXPECT_EQ(convert(head + "srun ./sim\n").program, "");
  EXPECT_EQ(convert(head + "python train.py\n").program, "") << "one rank runs the script";
  EXPECT_EQ(convert(head + "srun torchrun --nproc_per_node $N t.py\n").program, "")
      << "torchrun starts it";
}

/// The lines of the job file that hold numbers of resources.
std::string counts_of(const std::string& options, const std::string& run) {
  const auto job =
      convert_sbatch("#!/bin/bash\n#SBATCH " + options + "\n" + run + "\n", {.file = "job.sbatch"})
          .job;
  std::istringstream lines(job);
  std::string counts;
  for (std::string line; std::getline(lines, line);)
    for (const std::string key : {"  gpus_per_node: ", "  ranks_per_node: ", "  cpus_per_rank: "})
      if (line.starts_with(key)) counts += line.substr(key.size()) + " ";
  return counts;
}

TEST(ConvertSbatch, CountsWhatSlurmCounts) {
  EXPECT_EQ(counts_of("-N 2", "srun -N2 -n16 -c7 --gpus-per-task=1 --gpu-bind=closest ./a"),
            "8 8 7 ");
  EXPECT_EQ(counts_of("-N 1", "srun -l -K -n 8 -N 1 --gpus-per-node=8 -c 8 ./a"), "8 8 8 ");
  EXPECT_EQ(counts_of("-N 2 --tasks-per-node=4 --gpus-per-node=4 -c 8", "srun -c 8 ./a"), "4 4 8 ");
  EXPECT_EQ(counts_of("-N 2 --ntasks-per-gpu=1 --gpus-per-node=4 --cpus-per-task=32", "srun ./a"),
            "4 4 32 ");
  EXPECT_EQ(counts_of("-N 2 --ntasks-per-gpu=1 --gpus-per-node=4 --cpus-per-gpu=8", "srun ./a"),
            "4 4 8 ");
  EXPECT_EQ(
      counts_of("-N 2 --ntasks-per-socket=2 --gpus-per-socket=2 --sockets-per-node=2", "srun ./a"),
      "4 4 1 ");
  EXPECT_EQ(counts_of("-n 8 --ntasks-per-node=8 --gpus-per-task=1 -c 8", "srun ./a"), "8 8 8 ");
  EXPECT_EQ(counts_of("-N 1 -n 2 --tres-per-task=cpu:4,gres/gpu:a100:1", "srun ./a"), "2 2 4 ");
  const std::string torchrun = "srun torchrun --nnodes=1 --nproc_per_node=4 t.py";
  EXPECT_EQ(counts_of("-N 1 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-gpu=4", torchrun),
            "4 4 4 ");
  EXPECT_EQ(counts_of("-N 1 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=16", torchrun),
            "4 4 4 ");
}

TEST(ConvertSbatch, KeepsTheTypeOfTheGpusWhereverItIsWritten) {
  const std::pair<std::string, std::string> scripts[] = {
      {"-N 2 --ntasks-per-node=4", "srun --gpus-per-node=a100:4 ./a"},
      {"-N 2 --ntasks-per-node=4", "srun --gres=gpu:a100:4 ./a"},
      {"-N 2 --ntasks-per-node=4", "srun --gpus-per-task=a100:1 ./a"},
      {"-N 2 --ntasks-per-node=4 --gpus-per-node=4", "srun --gpus-per-node=a100:4 ./a"},
      {"-N 2 --ntasks-per-node=4 --gpus-per-task=a100:1", "srun ./a"},
      {"-N 2 --ntasks-per-node=4 --gpus-per-node=a100:4", "srun --gpus-per-task=a100:1 ./a"},
      {"-N 2 -n 8 --tres-per-task=cpu:4,gres/gpu:a100:1", "srun ./a"}};
  for (const auto& [options, run] : scripts) {
    const auto converted = convert("#!/bin/bash\n#SBATCH " + options + "\n" + run + "\n");
    EXPECT_THAT(converted.job, HasSubstr("sbatch_extra: [\"--gpus-per-node=a100:4\"]")) << options;
    EXPECT_THAT(planned_script(converted.job), HasSubstr("#SBATCH --gpus-per-node=a100:4\n"));
  }
  EXPECT_EQ(convert("#!/bin/bash\n#SBATCH -N 2 --gres=gpu:4\nsrun -n 8 ./a\n").job.find("extra"),
            std::string::npos);
}

TEST(ConvertSbatch, LeavesNoOptionThatSbatchWouldRefuseBesideItsOwn) {
  const auto converted = convert(
      "#!/bin/bash\n#SBATCH -N 2 --exclusive --gpu-bind=none --ntasks-per-gpu=1\n"
      "#SBATCH --gpus-per-node=4 --cpus-per-task=32\nsrun ./a\n");
  const auto planned = planned_script(converted.job);
  for (const char* option : {"ntasks-per-gpu", "gpu-bind"})
    EXPECT_EQ(planned.find(std::string("#SBATCH --") + option), std::string::npos) << planned;
}

TEST(ConvertSbatch, ShowsTheAccountInThreeLines) {
  const auto converted = convert(
      "#!/bin/bash\n#SBATCH -N 2 -t 00:10:00 --mem=64G\nsrun -n16 -c7 --gpus-per-task=1 ./a\n");
  EXPECT_THAT(converted.account,
              testing::ElementsAre("2 nodes x 8 tasks, 7 CPUs a task",
                                   "8 GPUs a node, of which a task sees its own; dllaunch's ranks "
                                   "see all",
                                   "64G a node, time 00:10:00"));
  for (const auto& line : converted.account)
    EXPECT_THAT(converted.job, HasSubstr("#   " + line + "\n"));
  EXPECT_THAT(convert("#!/bin/bash\n#SBATCH -N 1 --exclusive\n./a\n").account,
              testing::ElementsAre("1 node x 1 task, all CPUs of a node, nobody else on the nodes",
                                   "all GPUs of a node", HasSubstr("as the partition says")));
  EXPECT_THAT(convert("#!/bin/bash\n#SBATCH -N 1 --gpus-per-node=4 --ntasks-per-gpu=1\n"
                      "#SBATCH --gpu-bind=none\nsrun ./a\n")
                  .account.at(1),
              testing::Eq("4 GPUs a node"))
      << "none hides nothing";
}

TEST(ConvertSbatch, AccountAndLintAgreeOnGpusThatATaskCannotSee) {
  const auto gpus_of = [](const std::string& options, const std::string& run) {
    return convert("#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 --exclusive " +
                   options + "\n" + run + "\n")
        .account.at(1);
  };
  const auto hidden = HasSubstr("a task sees its own");
  EXPECT_THAT(gpus_of("", "export SLURM_GPU_BIND=closest\nsrun ./a"), hidden);
  EXPECT_THAT(gpus_of("", "srun --tres-bind=gres/gpu:closest ./a"), hidden);
  EXPECT_EQ(gpus_of("--gpus-per-task=1", "srun --gpu-bind=verbose,none ./a"), "4 GPUs a node");
  EXPECT_EQ(gpus_of("--gpus-per-task=1", "srun --tres-bind=gres/gpu:none ./a"), "4 GPUs a node");
}

TEST(ConvertSbatch, LeavesOutVariablesThatGiveSrunOptions) {
  const auto converted = convert(
      "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4\nexport NCCL_DEBUG=INFO\n"
      "export SLURM_GPU_BIND=closest SLURM_CPU_BIND=none\nsrun -n 8 ./a\n");
  EXPECT_THAT(converted.job, HasSubstr("  variables:\n    NCCL_DEBUG: INFO\n#")) << converted.job;
  EXPECT_THAT(converted.dropped,
              testing::ElementsAre(testing::StartsWith("SLURM_GPU_BIND=closest: "),
                                   testing::StartsWith("SLURM_CPU_BIND=none: ")));
}

TEST(ConvertSbatch, RefusesOptionsThatSlurmRefuses) {
  const std::pair<std::string, std::string> scripts[] = {
      {"-N 1 --mem=8G --mem-per-cpu=2G", "line 2: --mem and --mem-per-cpu"},
      {"-N 1 -c 4 --cpus-per-gpu=4 --gpus=1", "line 2: --cpus-per-gpu and --cpus-per-task"},
      {"-N 4 --gpus=2", "line 2: 2 GPUs are fewer than 4 nodes"},
      {"-N 1 --gres=gpu:4,gpu:a100:2", "line 2: GPUs are given with and without a type"}};
  for (const auto& [options, reason] : scripts)
    EXPECT_THAT(convert("#!/bin/bash\n#SBATCH " + options + "\nsrun ./a\n").reasons,
                testing::Contains(testing::StartsWith(reason)));
  EXPECT_THAT(convert("#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=gpu:4 --gpus-per-node=4\n./a\n").job,
              HasSubstr("gpus_per_node: 4"))
      << "only the newest Slurm refuses them";
}

TEST(ConvertSbatch, SaysWhyThereIsNoJob) {
  EXPECT_THAT(convert("#!/bin/bash\n#SBATCH -n 8 --gpus-per-task=1\nsrun ./a\n").reasons,
              testing::ElementsAre(HasSubstr("write --nodes")));
  const auto converted =
      convert("#!/bin/bash\n#SBATCH -N 2-4\nwhile true; do srun python x.py; done\n");
  EXPECT_EQ(converted.job, "");
  EXPECT_EQ(converted.reasons.size(), 2u);
  EXPECT_FALSE(convert(std::string("#!/bin/bash\nsrun x\0y\n", 20)).reasons.empty());
  EXPECT_FALSE(convert("").reasons.empty());
}

/// Any script, whole or cut off, is a job file that validates, or has a reason.
TEST(ConvertSbatch, AnswersEveryScript) {
  int scripts = 0;
  for (const auto& entry : fs::directory_iterator(root / "tests/fixtures/lint/rules")) {
    if (entry.path().extension() != ".sbatch") continue;
    const std::string text = read_bytes(entry.path());
    for (std::size_t size = text.size(); size > 0; size -= std::min<std::size_t>(size, 97)) {
      const auto converted = convert(text.substr(0, size));
      ASSERT_EQ(converted.job.empty(), !converted.reasons.empty()) << entry.path() << " " << size;
      if (converted.job.empty()) continue;
      const auto parsed = parse_job(converted.job, "job.yaml", {});
      EXPECT_TRUE(parsed.job) << entry.path() << render(parsed.problems, false);
      EXPECT_TRUE(parsed.notes.empty()) << entry.path() << " reads otherwise than it is written";
    }
    ++scripts;
  }
  EXPECT_GT(scripts, 50);
}

TEST(ConvertSbatch, PublicScriptsAskForTheSameResources) {
  const fs::path folder = root / "../shared/data/sbatch";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no ../shared/data/sbatch beside this checkout";
  // Where torchrun's workers become the tasks.
  const std::map<std::string, long> workers = {{"027-test_internode.sbatch", 8},
                                               {"028-test_intranode.sbatch", 8},
                                               {"029-test_low_latency.sbatch", 8}};
  int all = 0;
  int same = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tsv") continue;
    ++all;
    const std::string text = read_bytes(entry.path());
    const auto converted = convert(text);
    ASSERT_EQ(converted.job.empty(), !converted.reasons.empty()) << entry.path();
    if (converted.job.empty()) continue;
    const auto parsed = parse_job(converted.job, "job.yaml", {});
    ASSERT_TRUE(parsed.job) << entry.path();
    const auto original = lint::read_script(text);
    long tasks = std::max(1L, original.request.tasks_per_node());
    if (const auto of_torchrun = workers.find(entry.path().filename());
        of_torchrun != workers.end())
      tasks = of_torchrun->second;
    const std::string other = difference(text, planned_script(converted.job), tasks);
    EXPECT_EQ(other, "") << entry.path();
    same += other.empty() ? 1 : 0;
  }
  const std::string measured = std::to_string(same) + " of " + std::to_string(all);
  EXPECT_GE(same * 100, all * 90) << measured;
  EXPECT_THAT(read_bytes(root / "docs/how-to/init.md"), HasSubstr(measured + " public scripts"));
}

}  // namespace
}  // namespace dllaunch
