#include "launcher/provenance/kept_variables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(KeptVariables, AreTheJobFilesAndThoseThatChangeHowRanksRun) {
  const auto kept = keep_variables({{"GREETING", "hello"}, {"OMP_NUM_THREADS", "4"}},
                                   {{"HOME", "/home/me"},
                                    {"OMP_NUM_THREADS", "8"},
                                    {"NCCL_DEBUG", "INFO"},
                                    {"PATH", "/bin"},
                                    {"PATHS", "x"},
                                    {"CUDA_VISIBLE_DEVICES", "0"},
                                    {"VIRTUAL_ENV", "/v"},
                                    {"EDITOR", "vi"}});
  EXPECT_THAT(kept.values, ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "0"), Pair("GREETING", "hello"),
                                       Pair("NCCL_DEBUG", "INFO"), Pair("OMP_NUM_THREADS", "4"),
                                       Pair("PATH", "/bin"), Pair("VIRTUAL_ENV", "/v")));
  EXPECT_TRUE(kept.left_out.empty());
}

TEST(KeptVariables, SecretsAreLeftOutAndNamed) {
  const auto kept = keep_variables(
      {{"WANDB_API_KEY", "abc"}, {"DATABASE", "postgres://me:abc@host/db"}},
      {{"SLURM_JWT", "abc"}, {"HF_TOKEN", "abc"}, {"CONDA_TOKEN", "abc"}, {"PATH", "/key:/bin"}});
  EXPECT_THAT(kept.left_out, ElementsAre("CONDA_TOKEN", "SLURM_JWT", "WANDB_API_KEY"))
      << "of the process only what would be kept is named";
  EXPECT_THAT(kept.values, ElementsAre(Pair("DATABASE", "postgres://(left out)@host/db"),
                                       Pair("PATH", "/key:/bin")));
}

TEST(KeptVariables, AreBounded) {
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 1000; ++i) many.emplace_back("V" + std::to_string(i), std::string(9000, 'x'));
  const auto kept = keep_variables(many, {});
  EXPECT_EQ(kept.values.size(), 300u);
  EXPECT_EQ(kept.values.at("V0").size(), 4096u);
}

}  // namespace
}  // namespace dllaunch
