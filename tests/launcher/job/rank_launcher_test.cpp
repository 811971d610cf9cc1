#include "launcher/job/rank_launcher.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

std::string without(const std::string& text) {
  const auto found = rank_launcher_in(text);
  if (!found) return "no launcher";
  return found->refusal.empty() ? found->command : "refused: " + found->refusal;
}

TEST(RankLauncher, IsTakenOffAndTheRestStaysAsItIs) {
  EXPECT_EQ(without("torchrun --nproc_per_node=4 train.py --lr 0.1"),
            "python3 -u train.py --lr 0.1");
  EXPECT_EQ(without("cd src && A=\"$B\" torchrun \\\n  --nnodes=$SLURM_NNODES train.py | tee log"),
            "cd src && A=\"$B\" python3 -u train.py | tee log");
  EXPECT_EQ(without("venv/bin/torchrun -m pkg.train x"), "venv/bin/python3 -u -m pkg.train x");
  EXPECT_EQ(without("torchrun --no-python ./a.out"), "./a.out");
  EXPECT_EQ(without("python -m torch.distributed.run --nproc_per_node gpu t.py"), "python -u t.py");
  EXPECT_EQ(without("python3 -u -m torch.distributed.run \"$SCRIPT\""), "python3 -u \"$SCRIPT\"");
  EXPECT_EQ(without("accelerate launch --multi_gpu --num_processes 8 t.py"), "python3 -u t.py");
  EXPECT_EQ(without("deepspeed --num_gpus 4 t.py --deepspeed ds.json"),
            "python3 -u t.py --local_rank=$LOCAL_RANK --deepspeed ds.json");
  EXPECT_EQ(without("deepspeed --no_local_rank t.py"), "python3 -u t.py");
  EXPECT_EQ(without("torchrun --rdzv_backend c10d --rdzv_endpoint $HEAD:29500 --rdzv-id=$RANDOM "
                    "--master_port 1 -t 3 t.py"),
            "python3 -u t.py");
}

TEST(RankLauncher, SaysWhatItAskedFor) {
  const auto torch = rank_launcher_in(
      "torchrun --nnodes 2\\\n --nproc-per-node=4 "
      "--max_restarts=3 t.py");
  ASSERT_TRUE(torch);
  EXPECT_EQ(torch->written, "torchrun --nnodes 2 --nproc-per-node=4 --max_restarts=3");
  EXPECT_EQ(torch->nodes, 2);
  EXPECT_EQ(torch->ranks_per_node, 4);
  EXPECT_EQ(torch->restarts, 3);
  EXPECT_EQ(torch->framework, "pytorch");
  const auto other = rank_launcher_in("accelerate launch --num_processes=8 --num_machines 2 t.py");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->ranks, 8);
  EXPECT_EQ(other->nodes, 2);
  EXPECT_EQ(rank_launcher_in("deepspeed t.py")->framework, "deepspeed");
  EXPECT_FALSE(rank_launcher_in("deepspeed t.py")->lists_hosts);
  EXPECT_TRUE(rank_launcher_in("deepspeed -H hosts t.py")->lists_hosts);
}

TEST(RankLauncher, SaysHowFarItReaches) {
  const auto reach = [](const std::string& text) {
    const auto found = rank_launcher_in(text);
    return std::pair(found->one_worker, found->one_node);
  };
  EXPECT_EQ(reach("torchrun t.py"), std::pair(true, true));
  EXPECT_EQ(reach("torchrun --nproc_per_node=1 --nnodes=$SLURM_NNODES t.py"),
            std::pair(true, false));
  EXPECT_EQ(reach("torchrun --nproc_per_node=gpu --nnodes 1 t.py"), std::pair(false, true));
  EXPECT_EQ(reach("accelerate launch --num_machines=2 t.py"), std::pair(false, false));
  EXPECT_EQ(reach("deepspeed --num_nodes=2 t.py"), std::pair(false, true))
      << "each node would start all";
}

TEST(RankLauncher, ReadsNumbersThatAreKnown) {
  const KnownNumbers numbers = {{"N", 2}, {"GPUS", 4}};
  const auto workers = [&numbers](const std::string& option) {
    const auto found = rank_launcher_in("torchrun --nproc_per_node=" + option + " t.py", numbers);
    return found->ranks_per_node.value_or(0);
  };
  EXPECT_EQ(workers("$GPUS"), 4);
  EXPECT_EQ(workers("\"${GPUS}\""), 4);
  EXPECT_EQ(workers("$((N * ${GPUS} * 3))"), 24);
  EXPECT_EQ(workers("$N$GPUS"), 24) << "as bash joins them";
  for (const char* other :
       {"$((N + 1))", "$((N * X))", "$((N**2))", "$(())", "${GPUS:-1}", "$X", "$((N * 9999999))"})
    EXPECT_EQ(workers(other), 0) << other;
}

TEST(RankLauncher, IsRefusedIfItAsksForWhatDllaunchCannotGive) {
  EXPECT_EQ(without("torchrun --nnodes=1:4 t.py"), "refused: has --nnodes=1:4: write a number");
  EXPECT_EQ(without("torchrun --nproc_per_node=$N t.py"),
            "refused: has --nproc-per-node=$N: write a number");
  EXPECT_EQ(without("torchrun --run-path t.py"),
            "refused: has the option --run-path, which dllaunch cannot take over");
  EXPECT_EQ(without("torchrun \"${ARGS[@]}\" t.py"),
            "refused: has options or its program in $ARGS: write them out");
  EXPECT_EQ(without("torchrun $SCRIPT --lr 1"),
            "refused: has options or its program in $SCRIPT: write them out");
  EXPECT_EQ(without("torchrun \"$SCRIPT\" --lr 1"), "python3 -u \"$SCRIPT\" --lr 1");
  EXPECT_EQ(without("torchrun --nproc_per_node=4"), "refused: names no program to run");
  EXPECT_EQ(without("accelerate launch --mixed_precision bf16 t.py"),
            "refused: has the option --mixed_precision, which dllaunch cannot take over");
}

TEST(RankLauncher, IsACommandAndNoOtherWord) {
  for (const char* text :
       {"python train.py --launcher torchrun", "echo 'torchrun t.py'", "exec torchrun t.py",
        "for i in 1 2; do torchrun t.py; done", "pip install deepspeed", "accelerate config",
        "python -m torch.distributed.launch t.py", "python train.py", "", "torchrunner t.py"})
    EXPECT_EQ(without(text), "no launcher") << text;
}

/// Whatever stands in the text, the answer keeps what is not the launcher's.
TEST(RankLauncher, AnyTextIsAnswered) {
  const std::vector<std::string> pieces = {"torchrun",
                                           " ",
                                           "--nnodes",
                                           "=",
                                           "2",
                                           "-m",
                                           "t.py",
                                           "\"",
                                           "'",
                                           "$",
                                           "(",
                                           ")",
                                           "\\",
                                           "\n",
                                           "deepspeed",
                                           "accelerate launch",
                                           "python -m torch.distributed.run",
                                           "|",
                                           "&&",
                                           "{",
                                           "}",
                                           "\xff"};
  std::mt19937 random(11);
  for (int round = 0; round < rounds_here(10000); ++round) {
    std::string text;
    for (std::size_t i = 0; i < 2 + random() % 12; ++i) text += pieces[random() % pieces.size()];
    const auto found = rank_launcher_in(text);
    if (!found) continue;
    EXPECT_EQ(found->command.empty(), !found->refusal.empty()) << text;
    EXPECT_FALSE(found->written.empty()) << text;
  }
}

}  // namespace
}  // namespace dllaunch
