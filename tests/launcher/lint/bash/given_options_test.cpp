#include "launcher/slurm/slurm_options.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch::lint {
namespace {

std::vector<Text> words_of(const std::vector<std::string>& words) {
  std::vector<Text> texts;
  for (const std::string& word : words) texts.emplace_back(word, 0);
  return texts;
}

TEST(SlurmOptions, AreReadAsGetoptDoes) {
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

TEST(SlurmOptions, TellWhatIsWrong) {
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

TEST(SlurmOptions, AnUnknownWordMayBeAnyOption) {
  std::vector<Text> words = words_of({"-n4"});
  words.emplace_back();
  words.back().add_hole("OPTIONS", 3);
  words.emplace_back("python", 4);
  const auto parsed = parse_slurm_options(words, SlurmProgram::srun);
  EXPECT_FALSE(parsed.complete);
  EXPECT_EQ(parsed.program, 2u);
}

TEST(SlurmOptions, AnUnknownWordMayBeTheProgram) {
  std::vector<Text> words = words_of({"-n4"});
  words.emplace_back();
  words.back().add_hole("COMMAND", 3);
  words.emplace_back("--seed", 4);
  words.emplace_back("1", 5);
  EXPECT_TRUE(parse_slurm_options(words, SlurmProgram::srun).problems.empty());
}

TEST(SlurmOptions, HaveNamesAndLettersOfTheirOwn) {
  for (const bool batch : {true, false}) {
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const SlurmOption& option : slurm_options()) {
      if (!(batch ? option.sbatch : option.srun)) continue;
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
      EXPECT_TRUE(after != '=' || option->argument != Argument::none) << program << " " << name;
      ++seen;
    }
  }
  if (seen == 0) GTEST_SKIP() << "unavailable: this sbatch --help cannot be read";
  EXPECT_GT(seen, 100);
}

}  // namespace
}  // namespace dllaunch::lint
