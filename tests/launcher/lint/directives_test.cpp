#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "launcher/lint/script.hpp"
#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch::lint {
namespace {

std::vector<std::string> words_in(const std::string& lines) {
  std::vector<std::string> words;
  for (const Text& word : read_directives("#!/bin/bash\n" + lines).words)
    words.push_back(word.bytes());
  return words;
}

using Words = std::vector<std::string>;

TEST(Directives, AreSplitAsSbatchDoes) {
  EXPECT_EQ(words_in("#SBATCH -N 2 --mem=0 # all of it\n"), (Words{"-N", "2", "--mem=0"}));
  EXPECT_EQ(words_in("#SBATCH -J\"a 'b'\"c\\ d#e\n"), (Words{"-Ja 'b'c", "d"}));
  EXPECT_EQ(words_in("#SBATCH--nodes=2\n#SBATCH\n"), (Words{"--nodes=2"}));
  EXPECT_EQ(words_in("#SBATCH -N1 '' -n1\n"), (Words{"-N1"}));
}

TEST(Directives, EndAtTheFirstCommand) {
  const std::string text = "#!/bin/bash\n\n# x\n  # y\n#SBATCH -N2\n  :\n#SBATCH -n4\n";
  const Directives directives = read_directives(text);
  EXPECT_EQ(directives.words.size(), 1u);
  ASSERT_EQ(directives.late.size(), 1u);
  EXPECT_EQ(directives.late[0], text.rfind("#SBATCH"));
  EXPECT_EQ(directives.first_command, text.find("  :"));
}

TEST(Directives, OfTheFirstComponentOnly) {
  const Directives directives =
      read_directives("#!/bin/bash\n#SBATCH -N2\n#SBATCH hetjob\n#SBATCH -N4\n");
  EXPECT_EQ(directives.words.size(), 1u);
  EXPECT_GT(directives.het_job, 0u);
}

TEST(Directives, ThatAreMistyped) {
  for (const char* line : {"# SBATCH -N2", " #SBATCH -N2", "#sbatch --time=1", "#SBTACH -n4",
                           "#SBTCCH --mem=1", "#\tSBATCH --x"}) {
    EXPECT_EQ(read_directives(std::string("#!/bin/bash\n") + line + "\n").mistyped.size(), 1u)
        << line;
  }
  for (const char* line : {"##SBATCH -N2", "# SBATCH options", "#SBATCH -N2", "# Slurm -x",
                           "# batch -x", "#PBS -N x", "#SLURM --x", "#"}) {
    EXPECT_EQ(read_directives(std::string("#!/bin/bash\n") + line + "\n").mistyped.size(), 0u)
        << line;
  }
}

/// `sbatch -vvv` prints every argument it finds, and stops at a line it cannot read.
TEST(Directives, AreThoseThatTheInstalledSbatchSees) {
  PosixSystem system(Console{});
  if (!system.find_program("sbatch")) GTEST_SKIP() << "unavailable: no sbatch";
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/slurm.conf")
      << "ClusterName=x\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=p Nodes=ALL\n";
  const Words pieces = {"--comment=", "-J",  " ", "  ",    "a",    "'",     "\"",      "\\", "#",
                        "\t",         "b c", "=", "x\\ny", "\\\"", "'q q'", "\"r r\"", ";",  "$X"};
  std::mt19937 random(5);
  std::string text = "#!/bin/bash\n";
  for (int line = 0; line < 300; ++line) {
    std::string directive = "#SBATCH ";
    for (auto count = random() % 10; count > 0; --count) {
      directive += pieces[random() % pieces.size()];
    }
    // sbatch stops at a line that it cannot read. A blank after a backslash ends a word in 22.05
    // and does not in 24.11.
    const bool same_in_all =
        directive.find("\\ ") == std::string::npos && directive.find("\\\t") == std::string::npos;
    if (same_in_all && read_directives("#!/bin/bash\n" + directive + "\n").faults.empty()) {
      text += directive + "\n";
    }
  }
  std::ofstream(folder.path() + "/job.sh") << text;
  const auto output = system.run({"env", "SLURM_CONF=" + folder.path() + "/slurm.conf", "sbatch",
                                  "-vvv", folder.path() + "/job.sh"},
                                 std::chrono::seconds(20));
  ASSERT_TRUE(output);
  Words theirs;
  std::istringstream lines(output->err);
  const std::string mark = "ound in script, argument \"";
  for (std::string seen; std::getline(lines, seen);) {
    const std::size_t at = seen.find(mark);
    if (at == std::string::npos) continue;
    theirs.push_back(seen.substr(at + mark.size(), seen.size() - at - mark.size() - 1));
  }
  if (theirs.empty()) GTEST_SKIP() << "unavailable: this sbatch prints no arguments";
  Words expected;
  for (const Text& word : read_directives(text).words) expected.push_back(word.bytes());
  for (std::size_t i = 0; i < std::min(theirs.size(), expected.size()); ++i) {
    ASSERT_EQ(theirs[i], expected[i]) << "word " << i;
  }
  EXPECT_EQ(theirs.size(), expected.size());
  EXPECT_GT(expected.size(), 200u);
}

}  // namespace
}  // namespace dllaunch::lint
