// The completion scripts in real shells: bash and zsh on a terminal, with the tab key.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "launcher/base/split.hpp"
#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class CompletionScript : public testing::Test {
 protected:
  CompletionScript() {
    const std::string run = folder_.path() + "/runs/resnet50-20261120-101500-3f2a";
    fs::create_directories(run);
    fs::create_directories(folder_.path() + "/my data");
    std::ofstream(run + "/plan.json") << "{}";
    std::ofstream(folder_.path() + "/train.yaml") << "name: a\nrun: x\n";
    std::ofstream(folder_.path() + "/big job.sbatch") << "#!/bin/bash\n";
  }

  /// Runs a shell in the folder of the test, with dllaunch in PATH.
  std::string run(std::vector<std::string> shell) {
    std::vector<std::string> argv = {"env",
                                     "-C",
                                     folder_.path(),
                                     "HOME=" + folder_.path(),
                                     "XDG_STATE_HOME=" + folder_.path(),
                                     "TERM=xterm",
                                     "PATH=" DLLAUNCH_BIN_DIR ":/usr/bin:/bin"};
    argv.insert(argv.end(), shell.begin(), shell.end());
    const auto output = system_.run(argv, 300s);
    EXPECT_TRUE(output);
    return output ? output->out + output->err : "";
  }

  /// What the line becomes: tabs are typed into an interactive shell, then the line is echoed.
  std::string typed(const std::string& shell, const std::string& setup, const std::string& line) {
    const std::string keys = folder_.path() + "/keys";
    // Control-A goes to the beginning of the line; the quotes keep the echo of the keys apart.
    std::ofstream(keys) << setup << '\n'
                        << line << "\x01"
                        << "echo 'GO''T' \nexit\n";
    const std::string screen =
        run({"sh", "-c", "script -qec '" + shell + "' /dev/null < '" + keys + "'"});
    for (const std::string_view shown : split_lines(screen)) {
      const std::size_t at = shown.find("GOT ");
      if (at != std::string_view::npos)
        return std::string(shown.substr(at + 4, shown.find('\r', at) - at - 4));
    }
    return "no echo in: " + screen;
  }

  std::string bash(const std::string& line) {
    return typed("bash --norc --noprofile -i", "source <(dllaunch completion bash)", line);
  }

  std::string zsh(const std::string& line) {
    return typed(
        "zsh -f -i",
        "autoload -U compinit; compinit -D -u; bindkey -e; source <(dllaunch completion zsh)",
        line);
  }

  /// Candidates; fish completes without a terminal.
  std::vector<std::string> fish(const std::string& line) {
    std::vector<std::string> words;
    const std::string found =
        run({"fish", "--no-config", "-c",
             "dllaunch completion fish | source; complete -C '" + line + "'"});
    for (const std::string_view candidate : split_lines(found))
      words.emplace_back(candidate.substr(0, candidate.find('\t')));
    return words;
  }

  bool has(const char* program) { return system_.find_program(program).has_value(); }

  PosixSystem system_{Console{}};
  TemporaryFolder folder_;
};

TEST_F(CompletionScript, Bash) {
  if (!has("script")) GTEST_SKIP() << "unavailable: script";
  EXPECT_EQ(bash("dllaunch val\ttr\t--se\ttrain.pre\tbf\t"),
            "dllaunch validate train.yaml --set train.precision=bf16");
  EXPECT_EQ(bash("dllaunch logs res\t"), "dllaunch logs resnet50");
  EXPECT_EQ(bash("dllaunch bind --topology lumi-g\t --policy=cl\t"),
            "dllaunch bind --topology lumi-g --policy=closest");
  EXPECT_EQ(bash("dllaunch lint big\t"), "dllaunch lint big job.sbatch");
  EXPECT_EQ(bash("dllaunch lease my\t"), "dllaunch lease my data/");
  EXPECT_EQ(bash("dllaunch init --from b\t"), "dllaunch init --from big job.sbatch");
  EXPECT_EQ(bash("dllaunch init --framework py\t"), "dllaunch init --framework pytorch");
  EXPECT_EQ(bash("dllaunch plan train.yaml --set cluster=leo\t"),
            "dllaunch plan train.yaml --set cluster=leonardo-booster");
}

TEST_F(CompletionScript, Zsh) {
  if (!has("zsh") || !has("script")) GTEST_SKIP() << "unavailable: zsh or script";
  EXPECT_EQ(zsh("dllaunch val\ttr\t--se\ttrain.pre\tbf\t"),
            "dllaunch validate train.yaml --set train.precision=bf16");
  EXPECT_EQ(zsh("dllaunch lint big\t"), "dllaunch lint big job.sbatch");
}

TEST_F(CompletionScript, Fish) {
  if (!has("fish")) GTEST_SKIP() << "unavailable: fish";
  EXPECT_THAT(fish("dllaunch val"), Contains("validate"));
  EXPECT_THAT(fish("dllaunch tr"), Contains("train.yaml"));
  EXPECT_THAT(fish("dllaunch logs "), Contains("resnet50"));
  EXPECT_THAT(fish("dllaunch run train.yaml --set train.pre"), Contains("train.precision="));
  EXPECT_THAT(fish("dllaunch bind --policy "), Contains("closest"));
  EXPECT_THAT(fish("dllaunch explain mask-ov"), Contains("mask-overlap"));
  EXPECT_THAT(fish("dllaunch help bind"), Contains("binding"));
  EXPECT_THAT(fish("dllaunch lint big"), Contains("big job.sbatch"));
  EXPECT_THAT(fish("dllaunch lease m"), Contains("my data/"));
  EXPECT_THAT(fish("dllaunch bind --policy "), Not(Contains("train.yaml")));
}

/// `dllaunch --help` takes 2 ms: ten times that is what a person notices.
TEST_F(CompletionScript, AnswersInTenTimesTheHelp) {
  for (int i = 0; i < 300; ++i) {
    const std::string name = "job" + std::to_string(i) + "-20261120-101500-3f2a";
    const std::string run = folder_.path() + "/elsewhere/" + name;
    fs::create_directories(run);
    std::ofstream(run + "/plan.json") << "{}";
    fs::create_directories(folder_.path() + "/dllaunch/runs");
    std::ofstream(folder_.path() + "/dllaunch/runs/" + name) << run << "\n";
  }
  const auto fastest = [this](const std::string& arguments) {
    auto least = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < 7; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      run({"sh", "-c", "exec dllaunch " + arguments});
      least = std::min(least, std::chrono::steady_clock::now() - begin);
    }
    return least;
  };
  const auto help = fastest("--help");
  for (const char* words : {"logs ''", "run a.yaml --set train.", "bind --topology ''", "''"})
    EXPECT_LT(fastest(std::string("completion --candidates -- ") + words), 10 * help) << words;
}

}  // namespace
}  // namespace dllaunch
