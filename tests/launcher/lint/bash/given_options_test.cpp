#include "launcher/lint/bash/given_options.hpp"

#include <gtest/gtest.h>

namespace dllaunch::lint {
namespace {

std::vector<Text> words_of(const std::vector<std::string>& words) {
  std::vector<Text> texts;
  for (const std::string& word : words) texts.emplace_back(word, 0);
  return texts;
}

TEST(GivenOptions, AreReadAsGetoptDoes) {
  const auto words = words_of({"-N2", "-n", "4", "-lv", "--time", "10", "--mem=0", "--exclusive",
                               "--gpus-per-n=8", "-c8", "python", "-n", "9"});
  const auto parsed = parse_slurm_options(words, SlurmProgram::srun);
  EXPECT_TRUE(parsed.problems.empty());
  EXPECT_EQ(parsed.program, 10u);
  EXPECT_EQ(last_option(parsed, "nodes")->value.bytes(), "2");
  EXPECT_EQ(last_option(parsed, "ntasks")->value.bytes(), "4");
  EXPECT_EQ(last_option(parsed, "ntasks")->last_word, 2u);
  EXPECT_EQ(last_option(parsed, "time")->value.bytes(), "10");
  EXPECT_EQ(last_option(parsed, "gpus-per-node")->value.bytes(), "8");
  EXPECT_FALSE(last_option(parsed, "exclusive")->has_value);
  EXPECT_NE(last_option(parsed, "label"), nullptr);
  EXPECT_NE(last_option(parsed, "verbose"), nullptr);
}

TEST(GivenOptions, TellWhatIsWrong) {
  const auto parsed = parse_slurm_options(
      words_of({"--nodez=2", "--gpus-per-=3", "-y", "--requeue=no", "--contiguous=1", "-N"}),
      SlurmProgram::sbatch);
  ASSERT_EQ(parsed.problems.size(), 5u);
  EXPECT_EQ(parsed.problems[0].option, "--nodez");
  EXPECT_EQ(parsed.problems[1].complaint, Complaint::ambiguous);
  EXPECT_EQ(parsed.problems[2].option, "-y");
  EXPECT_EQ(parsed.problems[3].complaint, Complaint::takes_no_value);
  EXPECT_EQ(parsed.problems[4].complaint, Complaint::lacks_value);
  EXPECT_EQ(nearest_slurm_option("--nodez", SlurmProgram::sbatch), "--nodes");
  EXPECT_EQ(nearest_slurm_option("--ntasks_per_node", SlurmProgram::srun), "--ntasks-per-node");
}

TEST(GivenOptions, AnUnknownWordMayBeAnyOption) {
  std::vector<Text> words = words_of({"-n4"});
  words.emplace_back();
  words.back().add_hole("OPTIONS", 3);
  words.emplace_back("python", 4);
  const auto parsed = parse_slurm_options(words, SlurmProgram::srun);
  EXPECT_FALSE(parsed.complete);
  EXPECT_EQ(parsed.program, 2u);
}

TEST(GivenOptions, AnUnknownWordMayBeTheProgram) {
  std::vector<Text> words = words_of({"-n4"});
  words.emplace_back();
  words.back().add_hole("COMMAND", 3);
  words.emplace_back("--seed", 4);
  words.emplace_back("1", 5);
  EXPECT_TRUE(parse_slurm_options(words, SlurmProgram::srun).problems.empty());
}

}  // namespace
}  // namespace dllaunch::lint
