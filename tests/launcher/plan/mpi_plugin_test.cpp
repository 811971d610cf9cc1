#include "launcher/plan/mpi_plugin.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

SlurmFacts listing(std::vector<std::string> types, std::string site = "none") {
  return {.version = {},
          .cluster = {},
          .mpi_types = std::move(types),
          .mpi_default = std::move(site),
          .partitions = {}};
}

TEST(MpiPlugin, TheTrainerNeedsPmix) {
  EXPECT_EQ(mpi_of_trainer(listing({"none", "pmix_v4", "pmix"})), "pmix");
  EXPECT_EQ(mpi_of_trainer(listing({"none", "pmix_v10", "pmix_v9", "pmi2"})), "pmix_v10");
  EXPECT_EQ(mpi_of_trainer(listing({"none", "pmi2", "cray_shasta"}, "pmi2")), std::nullopt);
  EXPECT_EQ(mpi_of_trainer(listing({})), std::nullopt);
}

TEST(MpiPlugin, ACommandGetsTheProfilesThenTheSites) {
  const auto cray = listing({"pmix", "cray_shasta", "pmi2"}, "cray_shasta");
  EXPECT_EQ(mpi_of_command(cray, ""), "cray_shasta");
  EXPECT_EQ(mpi_of_command(cray, "pmi2"), "pmi2");
  EXPECT_EQ(mpi_of_command(listing({"pmi2", "pmix_v4"}), ""), "pmix_v4");
  EXPECT_EQ(mpi_of_command(listing({"pmi2", "none"}), ""), "pmi2");
  EXPECT_EQ(mpi_of_command(listing({"cray_shasta", "none"}), ""), std::nullopt)
      << "every srun lists cray_shasta";
}

}  // namespace
}  // namespace dllaunch
