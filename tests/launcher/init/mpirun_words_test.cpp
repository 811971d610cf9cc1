#include "launcher/init/mpirun_words.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

MpirunWords read(const std::vector<std::string>& words) {
  return read_mpirun_words(words);
}

TEST(MpirunWords, EndWhereTheProgramBegins) {
  const auto open_mpi = read({"-np", "8", "--map-by", "ppr:4:node", "-x", "A=b", "-x", "PATH",
                              "--mca", "pml", "ucx", "a.out", "-np", "1"});
  EXPECT_EQ(open_mpi.refusal, "");
  EXPECT_EQ(open_mpi.program, 11u);
  EXPECT_EQ(open_mpi.ranks, 8);
  EXPECT_EQ(open_mpi.variables, (std::vector<std::pair<std::string, std::string>>{{"A", "b"}}));
  EXPECT_EQ(open_mpi.dropped, std::vector<std::string>{"mca pml ucx"});
  const auto hydra = read({"-ppn", "4", "-genv", "I_MPI_DEBUG", "5", "--", "a.out"});
  EXPECT_EQ(hydra.program, 6u);
  EXPECT_EQ(hydra.ranks_per_node, 4);
  EXPECT_EQ(hydra.variables[0].second, "5");
  EXPECT_EQ(read({"--host=a,b", "x"}).program, 1u);
  EXPECT_EQ(read({"-n", std::string(1, '\0'), "x"}).ranks, -1);
}

TEST(MpirunWords, AreRefusedWhereTheyAreNotUnderstood) {
  EXPECT_EQ(read({"--app", "file"}).refusal, "mpirun has the option --app, which is unknown here");
  EXPECT_EQ(read({"-np", "2"}).refusal, "mpirun names no program");
  EXPECT_EQ(read({"-np"}).refusal, "mpirun names no program");
  EXPECT_EQ(read({"-np", "1", "a", ":", "-np", "2", "b"}).refusal,
            "mpirun starts several programs");
  EXPECT_NE(read({"-x", "A=" + std::string(1, '\0'), "a"}).refusal, "");
}

}  // namespace
}  // namespace dllaunch
