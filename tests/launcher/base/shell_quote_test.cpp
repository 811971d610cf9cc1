#include "launcher/base/shell_quote.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "launcher/os/posix_system.hpp"

namespace dllaunch {
namespace {

using Words = std::vector<std::string>;

TEST(ShellQuote, LeavesPlainWordsAlone) {
  EXPECT_EQ(shell_quote("/usr/bin/srun"), "/usr/bin/srun");
  EXPECT_EQ(shell_quote("--cpu-bind=mask_cpu:0x3,0xc"), "--cpu-bind=mask_cpu:0x3,0xc");
}

TEST(ShellQuote, QuotesTheRest) {
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("$(rm -rf ~)"), "'$(rm -rf ~)'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote("a\nb'\x01\\"), "$'a\\nb\\'\\x01\\\\'");
}

TEST(ShellQuote, PutsOptionsOnLinesOfTheirOwn) {
  const Words argv = {"mpirun", "--np", "2",   "--bind-to", "none", "--", "/opt/dllaunch",
                      "exec",   "--",   "app", "-x",        "--",   "y"};
  EXPECT_EQ(
      shell_lines(argv, 6, "  "),
      "mpirun \\\n  --np 2 \\\n  --bind-to none \\\n  -- \\\n  /opt/dllaunch exec -- \\\n  app "
      "-x -- y");
}

/// Text that shells, sbatch and people stumble over.
std::string hostile_text(std::mt19937& random, std::string_view without) {
  const Words pieces = {"'",   "\"", "\\",  "$x",   "$(id)", "`id`",  ";",  "&", "|",     "<",
                        ">",   "#",  "!",   "*",    "?",     "~",     "[",  "]", "{a,b}", "%j",
                        " ",   "\t", "\n",  "\r",   "\x01",  "\x7f",  "é",  "=", "-",     "--",
                        "\\n", "a",  "EOF", "\xff", "\\\"",  "'\\''", "%%", "0", "{{x}}", "^"};
  std::string text;
  for (auto length = random() % 12; length > 0; --length) text += pieces[random() % pieces.size()];
  std::erase_if(text, [without](char c) { return without.find(c) != std::string_view::npos; });
  return text;
}

std::filesystem::path scratch_file(const std::string& name) {
  std::string folder = testing::TempDir() + "shell_quote_XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return std::filesystem::path(folder) / name;
}

TEST(ShellQuote, BashReadsBackExactlyTheWords) {
  std::mt19937 random(1);
  Words words;
  for (int i = 0; i < 3000; ++i) words.push_back(hostile_text(random, ""));
  const auto script = scratch_file("words.sh");
  std::ofstream(script) << "printf '%s\\0' " << shell_join(words) << "\n";
  PosixSystem system(Console{});
  for (const auto* locale : {"C", "C.UTF-8"}) {
    const auto output = system.run({"env", std::string("LC_ALL=") + locale, "bash", script},
                                   std::chrono::seconds(20));
    ASSERT_TRUE(output);
    ASSERT_EQ(output->exit_code, 0) << output->err;
    std::string expected;
    for (const auto& word : words) expected += word + '\0';
    EXPECT_EQ(output->out, expected);
  }
  std::filesystem::remove_all(script.parent_path());
}

/// `sbatch -vvv` prints every argument it finds in a script; a wrong last one makes it stop there.
TEST(ShellQuote, SbatchReadsBackExactlyTheArgument) {
  PosixSystem system(Console{});
  if (!system.find_program("sbatch")) GTEST_SKIP() << "sbatch is not installed";
  std::mt19937 random(2);
  Words words;
  for (int i = 0; i < 1000; ++i) words.push_back("--comment=" + hostile_text(random, "\n"));
  const auto script = scratch_file("words.sbatch");
  std::ofstream file(script);
  file << "#!/bin/bash\n";
  for (const auto& word : words) file << "#SBATCH " << sbatch_quote(word) << "\n";
  file << "#SBATCH zzz\ntrue\n";
  file.close();
  const auto config = script.parent_path() / "slurm.conf";
  std::ofstream(config) << "ClusterName=x\nSlurmctldHost=localhost\nNodeName=n1\n"
                           "PartitionName=p Nodes=n1\n";
  const auto output = system.run({"env", "SLURM_CONF=" + config.string(), "sbatch", "-vvv", script},
                                 std::chrono::seconds(20));
  ASSERT_TRUE(output);
  std::size_t at = 0;
  for (const auto& word : words) {
    const auto found = output->err.find("argument \"" + word + "\"\n", at);
    ASSERT_NE(found, std::string::npos) << word << "\n" << output->err.substr(at, 300);
    at = found + 1;
  }
  std::filesystem::remove_all(script.parent_path());
}

TEST(ShellQuote, EscapesWhatSlurmWouldReplaceInAPath) {
  EXPECT_EQ(escape_file_pattern("/scratch/100%j/a b"), "/scratch/100%%j/a b");
}

}  // namespace
}  // namespace dllaunch
