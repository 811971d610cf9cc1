// The options of `logs` and `status` that choose and repeat, on runs that are on the disk.
#include <gmock/gmock.h>

#include <optional>

#include "launcher/cli/command_line.hpp"
#include "launcher/run/run_dir.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Result<int> call(System& system, const std::vector<std::string>& args) {
  auto parsed =
      parse_command_line(command_groups(), args, [](const std::string&) { return false; });
  if (!parsed) return std::move(parsed).error();
  return std::get<Invocation>(*parsed).body(system);
}

class FollowCommands : public testing::Test {
 protected:
  std::string logs(const std::string& run, const std::vector<std::string>& options) {
    std::vector<std::string> args = {"logs", run};
    args.insert(args.end(), options.begin(), options.end());
    place_.system.printed.clear();
    const auto code = call(place_.system, args);
    return code ? place_.system.printed : code.error().what;
  }

  RunPlace place_;
};

TEST_F(FollowCommands, LogsOfSomeLines) {
  const auto run = place_.store({.folder = "r", .status = "completed"});
  place_.append(run, "out/rank-0001-vm.log",
                "2001-01-01T00:00:00Z loss 0.5\nepoch 1\n2037-01-01T00:00:00Z loss nan\nepoch 2\n");
  EXPECT_EQ(logs(run, {"--grep", "loss (nan|inf)"}), "[vm:1] 2037-01-01T00:00:00Z loss nan\n");
  EXPECT_EQ(logs(run, {"--rank", "1", "--grep", "^epoch"}), "epoch 1\nepoch 2\n");
  EXPECT_EQ(logs(run, {"--rank", "1", "--since", "1h"}),
            "2037-01-01T00:00:00Z loss nan\nepoch 2\n");
  EXPECT_EQ(logs(run, {"--since", "2037-06-01"}), "");
  EXPECT_EQ(logs(run, {"--since", "soon"}), "--since: 'soon' is not a time");
  EXPECT_THAT(logs(run, {"--grep", "("}), HasSubstr("--grep: '(' is not a regular expression"));
}

/// The run dies once its state has been seen.
class DyingRun : public DiskSystem {
 public:
  explicit DyingRun(const std::string& path) : lock_(*RunLock::take({.path = path})) {}

  void print(std::string_view text) override {
    DiskSystem::print(text);
    lock_.reset();
  }

 private:
  std::optional<RunLock> lock_;
};

TEST_F(FollowCommands, StatusUntilTheRunEnds) {
  const auto run = place_.store({.folder = "r"});
  DyingRun system(run);
  const auto code = call(system, {"status", "--watch", run});
  ASSERT_TRUE(code) << code.error().what;
  EXPECT_EQ(*code, 0);
  const auto first = system.printed.find("sleepy: running");
  const auto second = system.printed.find("\n\nsleepy: died");
  EXPECT_EQ(first, 0u) << system.printed;
  EXPECT_NE(second, std::string::npos) << system.printed;
  EXPECT_EQ(system.printed.find('\033'), std::string::npos) << "not a terminal";
}

}  // namespace
}  // namespace dllaunch
