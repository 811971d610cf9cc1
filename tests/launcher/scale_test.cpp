// The real dllaunch on the facts of a whole machine: 4,608 nodes of 6 GPUs, 27,648 ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

struct Spent {
  double milliseconds = 1e9;  // of CPU, the best of several runs: others may be busy here
  long peak_kib = 0;          // the worst
};

/// By a small program between: what a process peaked at before exec() counts as its own, and a
/// child of this one has all of this one's memory then.
constexpr const char* measure = R"py(
import os, sys
for i in range(5):
    nowhere = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=nowhere)
    _, status, used = os.wait4(child, 0)
    print(status, 1e3 * (used.ru_utime + used.ru_stime), used.ru_maxrss)
)py";

Spent spent_on(const std::vector<std::string>& argv) {
  std::vector<std::string> command = {"python3", "-c", measure};
  command.insert(command.end(), argv.begin(), argv.end());
  const auto measured = PosixSystem(Console{}).run(command, 60s);
  EXPECT_TRUE(measured && measured->exit_code == 0);
  Spent spent;
  std::istringstream rounds(measured ? measured->out : "");
  int status = 0;
  double milliseconds = 0;
  for (long peak = 0; rounds >> status >> milliseconds >> peak;) {
    EXPECT_EQ(status, 0);
    spent.milliseconds = std::min(spent.milliseconds, milliseconds);
    spent.peak_kib = std::max(spent.peak_kib, peak);
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
