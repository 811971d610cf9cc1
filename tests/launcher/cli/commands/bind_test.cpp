// `dllaunch bind --format`: whole texts, as the programs they are for will read them.
#include <gmock/gmock.h>

#include "launcher/cli/command_line.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/golden.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Result<int> call(System& system, const std::vector<std::string>& args) {
  auto parsed =
      parse_command_line(command_groups(), args, [](const std::string&) { return false; });
  if (!parsed) return std::move(parsed).error();
  return std::get<Invocation>(*parsed).body(system);
}

FakeSystem bound(const std::string& machine, std::vector<std::string> more) {
  FakeSystem system;
  std::vector<std::string> args = {
      "bind", "--topology", DLLAUNCH_SOURCE_DIR "/tests/fixtures/topology/" + machine + ".json"};
  args.insert(args.end(), more.begin(), more.end());
  const auto code = call(system, args);
  EXPECT_TRUE(code) << code.error().what;
  return system;
}

TEST(BindFormats, AreGolden) {
  for (const auto* format :
       {"srun", "rankfile", "numactl", "taskset", "hwloc-bind", "env", "script"}) {
    for (const auto* machine : {"eight-gcds-low-noise", "gpus-3-1-3-1", "hybrid-cores"}) {
      const auto system = bound(machine, {"--format", format, "--smt"});
      EXPECT_TRUE(matches_golden(std::string("launcher/bind/") + machine + "." + format + ".txt",
                                 system.printed));
    }
  }
}

/// All forms of one case, and what is said beside them.
std::string all_forms(const std::string& machine, const std::vector<std::string>& more) {
  std::string text;
  for (const auto* format :
       {"table", "srun", "rankfile", "numactl", "taskset", "hwloc-bind", "env", "script"}) {
    auto args = more;
    args.insert(args.end(), {"--format", format});
    const auto system = bound(machine, args);
    text += std::string("==== ") + format + "\n" + system.printed + system.logged;
  }
  return text;
}

TEST(BindFormats, CasesAreGolden) {
  EXPECT_TRUE(matches_golden("launcher/bind/several-gpus-a-rank.txt",
                             all_forms("eight-gcds-low-noise", {"--ranks", "2"})));
  EXPECT_TRUE(matches_golden("launcher/bind/several-ranks-a-gpu.txt",
                             all_forms("gpus-3-1-3-1", {"--ranks", "16"})));
  EXPECT_TRUE(matches_golden("launcher/bind/no-gpu.txt",
                             all_forms("l3-does-not-divide", {"--ranks", "4"})));
  EXPECT_TRUE(matches_golden("launcher/bind/memory-elsewhere.txt",
                             all_forms("memory-elsewhere", {"--smt"})));
  EXPECT_TRUE(matches_golden("launcher/bind/policy-none.txt",
                             all_forms("gpus-3-1-3-1", {"--policy", "none"})));
}

TEST(BindFormats, DevicesOnRequestAreGolden) {
  const auto system =
      bound("eight-gcds-low-noise", {"--format", "script", "--visible-devices", "--ranks", "4"});
  EXPECT_TRUE(matches_golden("launcher/bind/visible-devices.script.txt", system.printed));
  EXPECT_THAT(system.logged, HasSubstr("NVLink"));
}

TEST(BindFormats, WarningsStayOutOfWhatAProgramReads) {
  const auto system = bound("hybrid-cores", {"--format", "taskset", "--ranks", "64"});
  EXPECT_THAT(system.logged, HasSubstr("warning: "));
  EXPECT_EQ(system.printed.find("warning"), std::string::npos);
}

TEST(BindFormats, HostsAreSlurmsLists) {
  const auto system = bound("gpus-3-1-3-1", {"--format", "rankfile", "--hosts", "n[08-09]"});
  EXPECT_THAT(system.printed, HasSubstr("rank 15=n09 slot="));
}

TEST(BindFormats, RefusesWhatMakesNoSense) {
  FakeSystem system;
  EXPECT_EQ(call(system, {"bind", "--format", "json"}).error().kind, ErrorKind::bad_request);
  EXPECT_EQ(call(system, {"bind", "--format", "srun", "--json"}).error().kind,
            ErrorKind::bad_request);
  EXPECT_EQ(call(system, {"bind", "--format", "rankfile", "--hosts", "n[1-"}).error().kind,
            ErrorKind::bad_request);
}

}  // namespace
}  // namespace dllaunch
