#include "launcher/slurm/placing_option.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(PlacingOption, IsSeenHoweverItIsWritten) {
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{"--nodelist=n1"},
                             {"--nodel=n1"},
                             {"-wn1"},
                             {"-w", "n1"},
                             {"--dist=cyclic"},
                             {"-lm", "cyclic"},
                             {"-x", "n2"},
                             {"--rel", "1"},
                             {"-N2"},
                             {"--nodes=3"},
                             {"-F", "file"},
                             {"--export=NONE"},
                             {"--export=PATH,HOME"}}) {
    auto all = words;
    all.insert(all.begin(), {"--mpi=none", "--ntasks=8"});
    EXPECT_EQ(placing_option(all, 4), words[0]);
  }
}

TEST(PlacingOption, OthersDoNotCount) {
  EXPECT_EQ(placing_option({"--mpi=none", "--nodes=4", "-N4", "--ntasks", "8", "--wait=0", "-l",
                            "--export=ALL", "--export=ALL,A=1", "--exact", "--nice"},
                           4),
            "");
  EXPECT_EQ(placing_option({}, 4), "");
}

}  // namespace
}  // namespace dllaunch
