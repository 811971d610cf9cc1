#include "launcher/lint/script.hpp"

#include <gtest/gtest.h>

namespace dllaunch::lint {
namespace {

TEST(LintScript, KnowsItsInterpreter) {
  EXPECT_TRUE(read_script("#!/bin/bash -l\n").is_shell);
  EXPECT_TRUE(read_script("#!/usr/bin/env bash\n").is_shell);
  EXPECT_TRUE(read_script("#! /bin/sh\n").is_shell);
  EXPECT_FALSE(read_script("#!/usr/bin/env python3\n").is_shell);
  EXPECT_FALSE(read_script("#!/bin/tcsh\n").is_shell);
}

TEST(LintScript, CountsTasksAndGpus) {
  const auto request = [](const std::string& options) {
    return read_script("#!/bin/bash\n#SBATCH " + options + "\n").request;
  };
  EXPECT_EQ(request("-N2 --ntasks-per-node=8").tasks_per_node(), 8);
  EXPECT_EQ(request("-N2 --ntasks-per-node=8").tasks(), 16);
  EXPECT_EQ(request("-N2 -n16").tasks_per_node(), 8);
  EXPECT_EQ(request("-N2 -n15").tasks_per_node(), -1);
  EXPECT_EQ(request("-n8").tasks_per_node(), -1);
  EXPECT_EQ(request("-N1-4 --ntasks-per-node=4").tasks(), -1);
  EXPECT_EQ(request("-N2 --gpus=16").node_gpus(), 8);
  EXPECT_EQ(request("--gres=gpu:a100:4,tmp:10G").node_gpus(), 4);
  EXPECT_EQ(request("--gres=gpu").node_gpus(), 1);
  EXPECT_EQ(request("--gpus-per-node=a100:4").node_gpus(), 4);
  EXPECT_EQ(request("-N2 --ntasks-per-node=4 --gpus-per-task=2").node_gpus(), 8);
  EXPECT_EQ(request("--gpus-per-node=$N").node_gpus(), -1);
}

TEST(LintScript, KnowsWhetherTheJobHasItsNodesToItself) {
  const auto exclusive = [](const std::string& options) {
    return read_script("#!/bin/bash\n#SBATCH " + options + "\nsrun --exclusive a\n")
        .request.exclusive;
  };
  EXPECT_FALSE(exclusive("-N2"));
  EXPECT_TRUE(exclusive("--exclusive"));
  EXPECT_FALSE(exclusive("--exclusive=user")) << "shared with the user's other jobs";
}

TEST(LintScript, FindsLaunchesBehindVariablesAndFunctions) {
  const Script script = read_script(
      "#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=8\n"
      "LAUNCH=\"srun --cpus-per-task=7\"\nOPTIONS=(--cpu-bind=cores -l)\n"
      "start() { $LAUNCH \"${OPTIONS[@]}\" \"$@\"; }\n"
      "start -n 4 python train.py\nexec time /usr/bin/srun hostname\nsrun never\n");
  ASSERT_EQ(script.launches.size(), 2u);
  const Launch& first = script.launches[0];
  EXPECT_TRUE(first.options.complete);
  EXPECT_EQ(last_option(first.options, "cpus-per-task")->value.bytes(), "7");
  EXPECT_EQ(last_option(first.options, "cpu-bind")->value.bytes(), "cores");
  EXPECT_EQ(step_request(script, first).tasks_per_node(), 2);
  ASSERT_EQ(first.ranks.size(), 2u);
  EXPECT_EQ(first.ranks[1].bytes(), "train.py");
  EXPECT_EQ(step_request(script, script.launches[1]).tasks_per_node(), 8);
}

TEST(LintScript, StepsMayHideTheirOptions) {
  const Script script = read_script(
      "#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=8\nsrun $SRUN_OPTIONS python train.py\n");
  ASSERT_EQ(script.launches.size(), 1u);
  EXPECT_FALSE(script.launches[0].options.complete);
  EXPECT_EQ(step_request(script, script.launches[0]).tasks_per_node(), -1);
}

}  // namespace
}  // namespace dllaunch::lint
