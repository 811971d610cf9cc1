#include "launcher/job/settle_counts.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "launcher/job/job_file.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

ParsedJob read(const std::string& text) {
  return parse_job("name: a\n" + text + "\n", "job.yaml", {});
}

std::string complaint(const std::string& text) {
  const auto parsed = read(text);
  return parsed.problems.empty() ? "none" : parsed.problems[0].message;
}

TEST(SettleCounts, SaysWhatBecameOfALauncher) {
  const auto parsed = read("run: torchrun --nproc_per_node=4 t.py");
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  ASSERT_EQ(parsed.notes.size(), 1u);
  EXPECT_EQ(parsed.notes[0].line, 2);
  EXPECT_EQ(parsed.notes[0].column, 6);
  EXPECT_EQ(parsed.notes[0].message,
            "run: 'torchrun --nproc_per_node=4' is removed: dllaunch starts the ranks itself; as "
            "if written: resources.ranks_per_node: 4, framework: pytorch");
  EXPECT_TRUE(read("run: python t.py").notes.empty());
}

TEST(SettleCounts, LaunchersMayRepeatWhatTheJobSays) {
  const auto parsed = read(
      "run: accelerate launch --num_processes 8 t.py\nframework: deepspeed\n"
      "resources: {nodes: 2, ranks_per_node: 4}");
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  EXPECT_EQ(parsed.job->framework, "deepspeed");
  EXPECT_EQ(parsed.job->resources.ranks_per_node, 4);
  EXPECT_EQ(complaint("run: torchrun --max_restarts=2 t.py\nrecovery: {max_restarts: 2}"), "none");
}

TEST(SettleCounts, LaunchersMustNotContradictTheJob) {
  EXPECT_EQ(complaint("run: torchrun --nproc_per_node=4 t.py\nresources: {ranks_per_node: 2}"),
            "run: 'torchrun --nproc_per_node=4' asks for 4 ranks per node, and "
            "resources.ranks_per_node is 2: remove one of them; dllaunch starts the ranks itself "
            "(to start torchrun once a "
            "node instead: resources.ranks_per_node: 1)");
  EXPECT_THAT(complaint("run: torchrun --nnodes=2 t.py\nresources: {nodes: 4}"),
              HasSubstr("asks for 2 nodes, and resources.nodes is 4"));
  EXPECT_THAT(complaint("run: accelerate launch --num_processes 3 t.py\nresources: {nodes: 2}"),
              HasSubstr("asks for 3 processes, which 2 nodes cannot share evenly"));
  EXPECT_THAT(complaint("run: torchrun t.py\nframework: mpi"),
              HasSubstr("starts ranks of pytorch, and framework is mpi"));
  EXPECT_THAT(complaint("run: torchrun --max_restarts=2 t.py"),
              HasSubstr("write recovery: {max_restarts: 2}"));
}

TEST(SettleCounts, AllContradictionsAreNamedAtOnce) {
  std::string all;
  for (const auto& problem : read("run: torchrun --nproc_per_node=4 --nnodes=3 --max_restarts=1 "
                                  "--foo=1 --bar=2 t.py\n"
                                  "resources: {nodes: 2, ranks_per_node: 2}\nframework: mpi")
                                 .problems)
    all += problem.message + "\n";
  for (const char* part : {"has the option --foo, ", "has the option --bar, ", "asks for 3 nodes",
                           "asks for 4 ranks", "and framework is mpi", "asks for restarts"})
    EXPECT_THAT(all, HasSubstr(part));
}

TEST(SettleCounts, ARankStartsNoStep) {
  for (const char* run :
       {"srun python3 t.py", "srun -l torchrun --nproc_per_node=4 t.py", "'cd /data && srun ./a'"})
    EXPECT_THAT(complaint(fmt::format("run: {}", run)),
                HasSubstr("every rank would wait for its own 'srun'"))
        << run;
  for (const char* run : {"srun --overlap nvidia-smi", "python3 srun.py", "'f() { srun x; }'"})
    EXPECT_EQ(complaint(fmt::format("run: {}", run)), "none") << run;
}

TEST(SettleCounts, OneRankPerNodeKeepsALauncherOfSeveralWorkers) {
  const std::string once = "\nresources: {ranks_per_node: 1, nodes: 2}";
  const std::string command = "torchrun --nnodes=2 --nproc_per_node=4 t.py";
  const auto parsed = read("run: " + command + once);
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  EXPECT_EQ(parsed.job->resolved["run"], command);
  EXPECT_EQ(parsed.job->resources.ranks_per_node, 1);
  ASSERT_EQ(parsed.notes.size(), 1u);
  EXPECT_THAT(parsed.notes[0].message,
              HasSubstr("run: 'torchrun --nnodes=2 --nproc_per_node=4' stays, for ranks_per_node "
                        "is 1: it runs once on each node. dllaunch does not bind its workers"));
  for (const char* kept : {"torchrun --nnodes=$SLURM_NNODES --nproc_per_node=gpu t.py",
                           "torchrun --nnodes=1:2 --nproc_per_node=$N t.py",
                           "accelerate launch --num_machines=2 --num_processes=8 t.py"}) {
    const auto read_again = read("run: " + std::string(kept) + once);
    ASSERT_TRUE(read_again.job) << render(read_again.problems, false);
    EXPECT_EQ(read_again.job->resolved["run"], kept);
  }
  EXPECT_EQ(read("run: torchrun t.py" + once).job->resolved["run"], "python3 -u t.py")
      << "one worker per node is a rank";
}

TEST(SettleCounts, AKeptLauncherReachesEveryNode) {
  const std::string once = "\nresources: {ranks_per_node: 1, nodes: 2}";
  EXPECT_EQ(complaint("run: [torchrun, --nproc_per_node=4, t.py]" + once),
            "run: 'torchrun --nproc_per_node=4' starts workers on one node, and resources.nodes is "
            "2: leave resources.ranks_per_node out, and dllaunch starts all ranks; or name the "
            "other nodes, as in run: \"torchrun --nnodes=2 --rdzv_backend=c10d "
            "--rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT ...\"");
  EXPECT_THAT(complaint("run: deepspeed --num_nodes=2 t.py" + once),
              HasSubstr("starts workers on one node"));
  EXPECT_EQ(
      complaint("run: torchrun --nnodes=3 --nproc_per_node=4 t.py" + once),
      "run: 'torchrun --nnodes=3 --nproc_per_node=4' asks for 3 nodes, and resources.nodes is 2: "
      "remove one of them");
  EXPECT_EQ(complaint("run: torchrun --nproc_per_node=4 t.py\nresources: {ranks_per_node: 1}"),
            "none");
}

TEST(SettleCounts, GpusOfTheJobDivideByWhatIsGiven) {
  EXPECT_EQ(complaint("run: x\nresources: {gpus: 8, nodes: 3}"),
            "resources.gpus: 8 cannot be divided by resources.nodes: 3; write 6 or 9");
  EXPECT_EQ(complaint("run: x\nresources: {gpus: 2, gpus_per_node: 4}"),
            "resources.gpus: 2 cannot be divided by resources.gpus_per_node: 4; write 4");
  EXPECT_EQ(complaint("run: x\nresources: {gpus: 8, nodes: 2, gpus_per_node: 2}"),
            "resources.gpus: 8 is not resources.nodes 2 times resources.gpus_per_node 2; remove "
            "one of them");
  EXPECT_EQ(complaint("run: x\nresources: {nodes: auto}"),
            "resources.nodes: auto needs resources.gpus, the GPUs of the whole job");
  EXPECT_EQ(complaint("run: x\nresources: {gpus: 8, nodes: 2, gpus_per_node: 4}"), "none");
}

TEST(SettleCounts, GpusAloneWaitForTheCluster) {
  const auto parsed = read("run: x\nresources: {gpus: 8}");
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  EXPECT_EQ(parsed.job->resources.gpus, 8);
  EXPECT_EQ(parsed.job->resolved["resources"]["nodes"], "auto");
}

}  // namespace
}  // namespace dllaunch
