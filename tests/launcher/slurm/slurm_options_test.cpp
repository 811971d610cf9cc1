#include "launcher/slurm/slurm_options.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>
#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(SlurmOptions, SayWhereTheirValuesStand) {
  const std::array<std::string_view, 5> words = {"-lN2", "--mem=0", "-t", "10", "--exclusive"};
  const auto read = read_slurm_options(words, SlurmProgram::srun);
  ASSERT_EQ(read.options.size(), 5u);
  EXPECT_EQ(value_of(read.options[0], words), "");
  EXPECT_EQ(read.options[1].name, "nodes");
  EXPECT_EQ(read.options[1].at, 2u);
  EXPECT_EQ(value_of(read.options[1], words), "2");
  EXPECT_EQ(value_of(read.options[2], words), "0");
  EXPECT_EQ(read.options[3].last_word, 3u);
  EXPECT_EQ(value_of(read.options[3], words), "10");
  EXPECT_FALSE(read.options[4].has_value);
}

TEST(SlurmOptions, HaveNamesAndLettersOfTheirOwn) {
  for (const auto program : {SlurmProgram::sbatch, SlurmProgram::srun, SlurmProgram::salloc}) {
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const SlurmOption& option : slurm_options()) {
      if (!option.serves(program)) continue;
      EXPECT_TRUE(names.insert(option.name).second) << option.name;
      const bool fresh = option.letter == '\0' || letters.insert(option.letter).second;
      EXPECT_TRUE(fresh) << option.name;
    }
  }
}

/// Every option that the installed programs list must be in the table, with its letter.
TEST(SlurmOptions, HoldThoseOfTheInstalledSlurm) {
  PosixSystem system(Console{});
  if (!system.find_program("sbatch") || !system.find_program("srun")) {
    GTEST_SKIP() << "unavailable: no sbatch and srun";
  }
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/slurm.conf")
      << "ClusterName=x\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=p Nodes=ALL\n";
  int seen = 0;
  for (const std::string program : {"sbatch", "srun"}) {
    const auto kind = program == "srun" ? SlurmProgram::srun : SlurmProgram::sbatch;
    const auto output =
        system.run({"env", "SLURM_CONF=" + folder.path() + "/slurm.conf", program, "--help"},
                   std::chrono::seconds(20));
    ASSERT_TRUE(output);
    std::istringstream lines(output->out + output->err);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t dashes = line.find("--");
      if (dashes != 6 || line.size() < 9 || line[8] < 'a') continue;
      const std::string name = line.substr(8, line.find_first_of("=[ ", 8) - 8);
      const SlurmOption* option = find_slurm_option(name, kind);
      ASSERT_NE(option, nullptr) << program << " --" << name;
      const bool same_letter = line[2] != '-' || option->letter == line[3];
      EXPECT_TRUE(same_letter) << name;
      const char after = line.size() > 8 + name.size() ? line[8 + name.size()] : ' ';
      EXPECT_TRUE(after != '=' || option->argument != OptionArgument::none)
          << program << " " << name;
      ++seen;
    }
  }
  if (seen == 0) GTEST_SKIP() << "unavailable: this sbatch --help cannot be read";
  EXPECT_GT(seen, 100);
}

}  // namespace
}  // namespace dllaunch
