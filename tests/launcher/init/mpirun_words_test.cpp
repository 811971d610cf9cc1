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
  EXPECT_EQ(open_mpi.variables, (std::vector<std::pair<std::string, std::string>>{
                                    {"A", "b"}, {"OMPI_MCA_pml", "ucx"}}));
  EXPECT_EQ(open_mpi.dropped,
            (std::vector<std::string>{
                "--map-by ppr:4:node: dllaunch places and binds the ranks (binding:)",
                "-x PATH: the ranks have all of the script's exports"}));
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
            "mpirun starts several programs: write each as one of `components` "
            "(docs/how-to/components.md)");
}

TEST(MpirunWords, NameVariablesThatOnlyTheScriptKnows) {
  const std::string unknown(1, '\0');
  const auto got = read({"-x", "A=" + unknown, "-genv", "B", unknown, "-n", unknown, "a"});
  ASSERT_EQ(got.exports.size(), 2u);
  EXPECT_EQ(got.exports[0].begin, 1u);
  EXPECT_EQ(got.exports[1].begin, 3u);
  EXPECT_EQ(got.exports[1].words, 2u);
  EXPECT_TRUE(got.variables.empty());
  EXPECT_EQ(got.dropped.size(), 1u);
}

}  // namespace
}  // namespace dllaunch
