#include "launcher/slurm/option_overrides.hpp"

#include <gmock/gmock.h>

#include <random>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

OptionLines written() {
  return {{"--nodes", "2"}, {"--gpus-per-node", "4"}, {"--exclusive", ""},
          {"--mem", "0"},   {"--requeue", ""},        {"--open-mode", "append"}};
}

std::string words_of(const OptionLines& lines) {
  std::string words;
  for (const auto& line : lines) words += (words.empty() ? "" : " ") + option_word(line);
  return words;
}

std::string edited(const std::vector<std::string>& extras) {
  const auto result = override_sbatch(written(), extras);
  auto words = words_of(result.ours);
  for (const auto& word : result.more) words += " + " + word;
  return words;
}

TEST(OptionOverrides, AnExtraTakesThePlaceOfTheSameOption) {
  const std::string head = "--nodes=2 --gpus-per-node=4 --exclusive --mem=0 --requeue ";
  for (const auto* way : {"--open-mode=truncate", "--open-mode truncate", "--open=truncate"})
    EXPECT_EQ(edited({way}), head + "--open-mode=truncate") << way;
  EXPECT_EQ(edited({"--open-mode=truncate", "--open-mode=append"}), head + "--open-mode=append")
      << "the last one counts";
}

TEST(OptionOverrides, AnExtraThatDecidesTheSameTakesItsPlaceToo) {
  EXPECT_EQ(edited({"--no-requeue", "--mem-per-cpu=1G", "-s", "--gres=gpu:a100:4"}),
            "--nodes=2 --gres=gpu:a100:4 --oversubscribe --mem-per-cpu=1G --no-requeue "
            "--open-mode=append");
  EXPECT_EQ(edited({"--gres=tmpfs:10G"}), words_of(written()) + " + --gres=tmpfs:10G");
}

TEST(OptionOverrides, OtherExtrasAreAdded) {
  EXPECT_EQ(edited({"--mail-type=END", "--comment= a  b", "-w n3", "--bogus x", "-vN2"}),
            words_of(written()) +
                " + --mail-type=END + --comment= a  b + --nodelist=n3"
                " + --bogus x + -vN2");
}

TEST(OptionOverrides, AnExclamationMarkTakesALineOut) {
  EXPECT_EQ(edited({"!--requeue", "!-N", "!--mem=0", "!--open_mode"}),
            "--gpus-per-node=4 --exclusive");
  EXPECT_THAT(override_sbatch(written(), {"!--requeue"}).warnings, IsEmpty());
}

TEST(OptionOverrides, WhatIsNotThereIsNamedWithItsNeighbour) {
  EXPECT_THAT(
      override_sbatch(written(), {"!--requeu"}).warnings,
      ElementsAre("resources.sbatch_extra: there is no --requeu to remove; write !--requeue"));
  EXPECT_THAT(override_srun({{"--mpi", "pmix"}}, {"!-p"}).warnings,
              ElementsAre("resources.srun_extra: there is no --partition to remove"));
}

TEST(OptionOverrides, WhatThePlanCountsOnIsSaid) {
  EXPECT_THAT(override_sbatch(written(), {"-N4"}).warnings,
              ElementsAre("resources.sbatch_extra: --nodes=4 changes the job but not the plan, "
                          "which counts on --nodes=2: set resources.nodes instead"));
  EXPECT_THAT(override_sbatch(written(), {"--partition=gpu"}).warnings,
              ElementsAre(HasSubstr("set resources.partition instead")));
  EXPECT_THAT(override_sbatch(written(), {"--gpus-per-node=h100:4"}).warnings, IsEmpty());
  EXPECT_THAT(override_sbatch(written(), {"--time=1"}).warnings, IsEmpty());
}

TEST(OptionOverrides, SrunTakesArgumentsAndTheirValues) {
  const OptionLines ours = {{"--mpi", "pmix"}, {"--cpu-bind", "none"}, {"--wait", "60"}};
  const auto result = override_srun(
      ours, {"--cpu_bind", "mask_cpu:0x1", "!--wait", "-l", "--mpi=pmi2", "--", "-W5"});
  EXPECT_THAT(result.ours, IsEmpty());
  EXPECT_THAT(result.more,
              ElementsAre("--cpu_bind", "mask_cpu:0x1", "-l", "--mpi=pmi2", "--", "-W5"));
  EXPECT_THAT(override_srun(ours, {"-n"}).ours,
              ElementsAre(Pair("--mpi", "pmix"), Pair("--cpu-bind", "none"), Pair("--wait", "60")));
}

/// Whatever comes: no word of the user's is lost, and no line of ours without a reason.
TEST(OptionOverrides, LosesNothing) {
  std::mt19937 random(3);
  const std::vector<std::string> pieces = {"-",       "--", "!",    "N", "nodes",
                                           "requeue", "=",  " ",    "2", "no-",
                                           "mem",     "_",  "\xff", "'", "gres=gpu"};
  for (int round = 0; round < 5000; ++round) {
    std::string extra;
    for (auto length = random() % 6; length > 0; --length)
      extra += pieces[random() % pieces.size()];
    const auto result = override_sbatch(written(), {extra});
    const auto lines = result.ours.size() + result.more.size();
    if (extra.starts_with("!-")) {
      EXPECT_EQ(result.ours.size() + (result.warnings.empty() ? 1 : 0), written().size()) << extra;
    } else {
      EXPECT_TRUE(lines == written().size() || lines == written().size() + 1) << extra;
      const bool same = result.ours == written();
      EXPECT_TRUE(!same || !result.more.empty() || extra.find("requeue") != std::string::npos ||
                  extra.find("2") != std::string::npos)
          << extra;
    }
    const auto on_srun = override_srun({{"--nodes", "2"}}, {extra});
    EXPECT_EQ(on_srun.more.size(), extra.starts_with("!-") ? 0U : 1U) << extra;
  }
}

}  // namespace
}  // namespace dllaunch
