// What `dllaunch bind --format` prints, given to the real tools: each rank must end up on the CPUs
// that `bind --json` says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "support/json.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

const std::string dllaunch_program = std::string(DLLAUNCH_BIN_DIR) + "/dllaunch";
constexpr const char* say_cpus = "sed -n s/^Cpus_allowed_list://p /proc/self/status";

CommandOutput run(const std::vector<std::string>& argv) {
  auto output = PosixSystem(Console{}).run(argv, 60s);
  EXPECT_TRUE(output) << output.error().what;
  return output ? *output : CommandOutput{};
}

CommandOutput in_shell(const std::string& line) {
  return run({"bash", "-c", line});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

IdSet cpus_in(const std::string& text) {
  auto cpus = parse_id_list(text.substr(0, text.find('\n')));
  EXPECT_TRUE(cpus) << text;
  return cpus ? *cpus : IdSet{};
}

class BindFormats : public testing::TestWithParam<int> {
 protected:
  std::vector<std::string> argv(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {dllaunch_program, "bind", "--ranks",
                                    std::to_string(GetParam())};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  /// By local rank, as `bind --json` has them.
  std::vector<IdSet> expected() const {
    std::vector<IdSet> cpus;
    const auto document = Json::parse(run(argv({"--json"})).out);
    for (const auto& rank : document.at("ranks")) cpus.push_back(cpus_in(rank.at("cpus")));
    return cpus;
  }
  std::vector<std::string> lines(const std::string& format) const {
    return lines_of(run(argv({"--format", format})).out);
  }
};

TEST_P(BindFormats, ALineBindsItsRank) {
  const auto cpus = expected();
  for (const auto* tool : {"numactl", "taskset", "hwloc-bind"}) {
    if (!PosixSystem(Console{}).find_program(tool)) {
      std::cout << "SKIPPED: no " << tool << " here\n";
      continue;
    }
    const auto all = lines(tool);
    ASSERT_EQ(all.size(), cpus.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const auto output = in_shell(all[rank] + " " + say_cpus);
      EXPECT_EQ(output.exit_code, 0) << all[rank] << ": " << output.err;
      EXPECT_EQ(cpus_in(output.out), cpus[rank]) << all[rank];
    }
  }
}

TEST_P(BindFormats, MemoryIsPreferredAndNotDemanded) {
  if (!PosixSystem(Console{}).find_program("numactl")) GTEST_SKIP() << "no numactl here";
  for (const auto* tool : {"numactl", "hwloc-bind"}) {
    const auto line = lines(tool).at(0);
    if (line.find("node:") == std::string::npos && line.find("preferred") == std::string::npos)
      GTEST_SKIP() << "the CPUs of rank 0 lie on several NUMA nodes";
    const auto shown = in_shell(line + " numactl --show").out;
    EXPECT_THAT(shown, testing::HasSubstr("policy: preferred")) << line;
  }
}

TEST_P(BindFormats, TheEnvironmentArrives) {
  const auto cpus = expected();
  const auto all = lines("env");
  ASSERT_EQ(all.size(), cpus.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    // Once pasted, once split into words as $(sed ...) does.
    const auto pasted = in_shell(all[rank] + " printenv OMP_NUM_THREADS OMP_PLACES");
    const auto split =
        in_shell("line='" + all[rank] + "'; $line printenv OMP_NUM_THREADS OMP_PLACES");
    EXPECT_EQ(pasted.out, split.out);
    EXPECT_EQ(lines_of(pasted.out).at(0), std::to_string(cpus[rank].size())) << "no SMT asked for";
  }
}

TEST_P(BindFormats, OpenMpReadsThePlaces) {
  // libgomp tells what it understood as soon as it is loaded; the trainer is linked to it.
  const auto all = lines("env");
  const auto cpus = expected();
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto output = in_shell(all[rank] + " OMP_DISPLAY_ENV=true '" + DLLAUNCH_BIN_DIR +
                                 "/dltrain' --describe 2>&1 >/dev/null");
    if (output.out.find("OMP_PLACES") == std::string::npos)
      GTEST_SKIP() << "this build of dltrain has no OpenMP";
    std::string places;
    for (const int cpu : cpus[rank].ids())
      places += (places.empty() ? "{" : ",{") + std::to_string(cpu) + "}";
    // libgomp writes runs of places as {0}:2 or lists them, by version.
    const auto run_of =
        "{" + std::to_string(cpus[rank].first()) + "}:" + std::to_string(cpus[rank].size());
    EXPECT_THAT(output.out,
                testing::AnyOf(testing::HasSubstr("'" + places + "'"), testing::HasSubstr(run_of)));
    EXPECT_THAT(output.out, testing::HasSubstr("OMP_PROC_BIND = 'CLOSE'"));
  }
}

TEST_P(BindFormats, MpirunPutsEveryRankOnItsCpus) {
  if (!PosixSystem(Console{}).find_program("mpirun")) GTEST_SKIP() << "no mpirun here";
  const auto version = run({"mpirun", "--version"}).out;
  if (version.find("Open MPI) 4.") == std::string::npos)
    GTEST_SKIP() << "rankfiles of physical numbers are Open MPI 4's; here is " << version;
  const auto cpus = expected();
  // Ranks on one and the same CPU need Open MPI's leave, which it gives by no rankfile.
  if (cpus.size() > 1 && cpus[0].intersects(cpus[1])) GTEST_SKIP() << "fewer CPUs than ranks";
  TemporaryFolder folder;
  const auto rankfile = folder.path() + "/rankfile";
  in_shell("'" + dllaunch_program + "' bind --format rankfile --ranks " +
           std::to_string(GetParam()) + " > " + rankfile);
  const auto output = in_shell(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --np " +
      std::to_string(GetParam()) + " --rankfile " + rankfile +
      " --mca rmaps_rank_file_physical 1 sh -c 'echo $OMPI_COMM_WORLD_RANK $(" + say_cpus + ")'");
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const auto said = lines_of(output.out);
  ASSERT_EQ(said.size(), cpus.size());
  for (const auto& line : said) {
    const auto rank = std::stoul(line);
    EXPECT_TRUE(cpus_in(line.substr(line.find(' '))).contains(cpus.at(rank))) << line;
    for (std::size_t other = 0; other < cpus.size(); ++other) {
      if (other == rank) continue;
      EXPECT_FALSE(cpus_in(line.substr(line.find(' '))).intersects(cpus[other])) << line;
    }
  }
}

TEST_P(BindFormats, TheScriptIsBash) {
  TemporaryFolder folder;
  const auto file = folder.path() + "/job.sh";
  in_shell("'" + dllaunch_program + "' bind --format script --visible-devices --ranks " +
           std::to_string(GetParam()) + " > " + file);
  // srun stands in here as what shows its arguments and runs one rank; the real one is asked in
  // slurm_probe_test.cpp.
  const auto output = in_shell(
      "srun() { echo \"$1 $2\"; while [[ $1 == --* ]]; do shift; done; "
      "SLURM_LOCALID=0 \"$@\"; }; source " +
      file + " echo a 'b c'");
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const auto said = lines_of(output.out);
  ASSERT_EQ(said.size(), 2u) << output.out;
  EXPECT_THAT(said[0], testing::StartsWith("--ntasks-per-node=" + std::to_string(GetParam()) +
                                           " --cpu-bind=mask_cpu:0x"));
  EXPECT_EQ(said[1], "a b c");
}

INSTANTIATE_TEST_SUITE_P(Ranks, BindFormats, testing::Values(1, 2, 3),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace dllaunch
