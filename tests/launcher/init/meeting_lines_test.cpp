#include "launcher/init/meeting_lines.hpp"

#include <gmock/gmock.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> lines(const std::string& text) {
  const auto tree = lint::read_shell(text);
  std::vector<const lint::Node*> commands;
  for (const auto& node : tree.root.children) commands.push_back(&node);
  std::vector<std::string> found;
  for (const auto* node : meeting_lines(text, commands))
    found.push_back(text.substr(node->begin, node->end - node->begin));
  return found;
}

TEST(MeetingLines, FollowHostNamesFromVariableToVariable) {
  EXPECT_THAT(
      lines("nodes=($(scontrol show hostnames \"$SLURM_JOB_NODELIST\"))\n"
            "all=(\"${nodes[@]}\")\n"
            "head=$(srun -N1 -n1 -w \"${all[0]}\" hostname -I)  # its address\n"
            "export MASTER_ADDR=$head\n"
            "export MASTER_PORT=$(expr 10000 + $(echo -n $SLURM_JOBID | tail -c 4))\n"
            "cd src\n"),
      ElementsAre("nodes=($(scontrol show hostnames \"$SLURM_JOB_NODELIST\"))",
                  "all=(\"${nodes[@]}\")",
                  "head=$(srun -N1 -n1 -w \"${all[0]}\" hostname -I)  # its address",
                  "export MASTER_ADDR=$head",
                  "export MASTER_PORT=$(expr 10000 + $(echo -n $SLURM_JOBID | tail -c 4))"));
}

TEST(MeetingLines, StayWhereSomethingElseReadsThem) {
  EXPECT_THAT(lines("nodes=$(scontrol show hostnames)\nhead=${nodes[0]}\necho \"on $head\"\n"),
              IsEmpty());
  EXPECT_THAT(lines("head=$(hostname)\nfor i in $(seq 2); do echo ${head}; done\n"), IsEmpty());
  EXPECT_THAT(lines("head=$(hostname)\nexport head\n"), IsEmpty());
  EXPECT_THAT(lines("head=$(hostname)\ncat << E\n$head\nE\n"), IsEmpty());
  EXPECT_THAT(lines("head=$(hostname)\nlog=$(basename $head).log\ntouch $log\n"), IsEmpty());
}

TEST(MeetingLines, AreNothingElse) {
  for (const char* other :
       {"DATA=/data\n", "export head=$(hostname)\n", "hostname > nodes\n", "a=1; b=$(hostname)\n",
        "if x; then MASTER_PORT=1; fi\n", "MASTER_ADDR=a python t.py\n"})
    EXPECT_THAT(lines(std::string(other) + "true\n"), IsEmpty()) << other;
}

}  // namespace
}  // namespace dllaunch
