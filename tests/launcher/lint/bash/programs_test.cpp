#include "launcher/lint/bash/programs.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dllaunch::lint {
namespace {

std::vector<Text> words_of(const std::vector<std::string>& words) {
  std::vector<Text> texts;
  for (const std::string& word : words) texts.emplace_back(word, 0);
  return texts;
}

TEST(LintPrograms, AreNamedWithoutTheirPath) {
  EXPECT_EQ(base_name(Text("/usr/bin/srun", 0)), "srun");
  Text prefixed;
  prefixed.add_hole("PREFIX", 0);
  EXPECT_EQ(base_name(prefixed), "");
  prefixed.add("/bin/python", 1);
  EXPECT_EQ(base_name(prefixed), "python");
  Text found;
  found.add_hole("$(which srun)", 0);
  EXPECT_EQ(base_name(found), "srun");
}

TEST(LintPrograms, StandBehindTheirWrappers) {
  const auto index = [](const std::vector<std::string>& words) {
    return skip_wrappers(words_of(words), 0);
  };
  EXPECT_EQ(index({"srun"}), 0u);
  EXPECT_EQ(index({"exec", "time", "-p", "srun"}), 3u);
  EXPECT_EQ(index({"env", "-u", "X", "A=1", "B=2", "python"}), 5u);
  EXPECT_EQ(index({"timeout", "-s", "INT", "60", "srun"}), 4u);
  EXPECT_EQ(index({"numactl", "-N", "1", "--membind=1", "python"}), 4u);
  EXPECT_EQ(index({"taskset", "0x1", "python"}), 2u);
  EXPECT_EQ(index({"exec"}), 1u);
  EXPECT_EQ(index({"/bin/dllaunch", "supervise", "--run-dir", "x", "--", "srun", "a"}), 5u);
  EXPECT_EQ(index({"dllaunch", "exec", "--", "srun"}), 0u) << "that is a rank's";
  EXPECT_EQ(index({"dllaunch", "supervise", "--run-dir", "x"}), 0u);
}

TEST(LintPrograms, OfAShellText) {
  const auto index = [](const std::vector<std::string>& words) {
    return shell_text_index(words_of(words), 0);
  };
  EXPECT_EQ(index({"bash", "-c", "x"}), 2u);
  EXPECT_EQ(index({"bash", "-l", "-c", "x"}), 3u);
  EXPECT_EQ(index({"sh", "-lc", "x"}), 2u);
  EXPECT_EQ(index({"bash", "run.sh", "-c", "x"}), 4u);
  EXPECT_EQ(index({"python", "-c", "x"}), 3u);
}

TEST(LintPrograms, ThatStartWorkers) {
  EXPECT_TRUE(starts_workers(words_of({"python", "-m", "torch.distributed.run", "a.py"})));
  EXPECT_TRUE(starts_workers(words_of({"singularity", "exec", "x.sif", "torchrun", "a.py"})));
  EXPECT_FALSE(starts_workers(words_of({"python", "train.py"})));
}

}  // namespace
}  // namespace dllaunch::lint
