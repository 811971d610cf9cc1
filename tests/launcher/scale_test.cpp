// The real dllaunch on the facts of a whole machine: 4,608 nodes of 6 GPUs, 27,648 ranks.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

struct Spent {
  double milliseconds = 1e9;  // of CPU, the best of several runs: others may be busy here
  long peak_kib = 0;          // the worst
};

Spent spent_on(const std::vector<std::string>& argv) {
  std::vector<char*> words;
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  Spent spent;
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      const int nowhere = open("/dev/null", O_WRONLY);
      dup2(nowhere, STDOUT_FILENO);
      execv(words[0], words.data());
      _exit(127);
    }
    int status = 0;
    rusage used{};
    wait4(child, &status, 0, &used);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    const auto of = [](const timeval& time) {
      return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
    };
    spent.milliseconds = std::min(spent.milliseconds, of(used.ru_utime) + of(used.ru_stime));
    spent.peak_kib = std::max(spent.peak_kib, used.ru_maxrss);
  }
  return spent;
}

/// How the facts were recorded, and in how many kinds of node.
struct Machine {
  const char* name;
  const char* options;
};

void PrintTo(const Machine& one, std::ostream* out) {
  *out << one.name;
}

class Scale : public testing::TestWithParam<Machine> {};

TEST_P(Scale, PlansTheWholeMachineInATenthOfASecond) {
  const TemporaryFolder folder;
  const auto facts = folder.path() + "/facts";
  const auto made =
      PosixSystem(Console{}).run({"sh", "-c",
                                  "python3 '" DLLAUNCH_SOURCE_DIR "/bench/scale/make_facts' " +
                                      std::string(GetParam().options) + " > '" + facts + "'"},
                                 60s);
  ASSERT_TRUE(made && made->exit_code == 0) << (made ? made->err : made.error().what);
  for (const char* command : {"plan", "script"}) {
    const auto spent = spent_on({DLLAUNCH_BIN_DIR "/dllaunch", command,
                                 DLLAUNCH_SOURCE_DIR "/bench/scale/job.yaml", "--facts", facts});
    RecordProperty(std::string(command) + "_ms", std::to_string(spent.milliseconds));
    RecordProperty(std::string(command) + "_peak_kib", std::to_string(spent.peak_kib));
    // A sanitizer's own time and memory are not the product's.
    EXPECT_LT(spent.milliseconds, 100.0 * DLLAUNCH_PATIENCE) << command;
    EXPECT_LT(spent.peak_kib, 100 * 1024 * DLLAUNCH_PATIENCE) << command;
  }
}

INSTANTIATE_TEST_SUITE_P(Facts, Scale,
                         testing::Values(Machine{"alike", ""},
                                         Machine{"each_of_its_own_kind", "--kinds 4608"},
                                         Machine{"in_text", "--text"}),
                         [](const testing::TestParamInfo<Machine>& machine) {
                           return std::string(machine.param.name);
                         });

}  // namespace
}  // namespace dllaunch
