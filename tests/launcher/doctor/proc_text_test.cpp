#include "launcher/doctor/proc_text.hpp"
#include "tests/support/tier.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "tests/topology/discovery/damage.hpp"

namespace dllaunch {
namespace {

using std::string_literals::operator""s;

constexpr const char* status_text =
    "Name:\tpython3\nUmask:\t0022\nState:\tR (running)\nTgid:\t71\nPid:\t71\nPPid:\t66\n"
    "Threads:\t9\nCpus_allowed:\t000000ff\nCpus_allowed_list:\t0-3,6\n"
    "Mems_allowed_list:\t0,2\nvoluntary_ctxt_switches:\t1\n";

TEST(ProcStatusText, IsRead) {
  const auto status = parse_proc_status(status_text);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->name, "python3");
  EXPECT_EQ(status->state, 'R');
  EXPECT_EQ(status->parent, 66);
  EXPECT_EQ(status->threads, 9);
  EXPECT_EQ(to_list(status->cpus), "0-3,6");
  EXPECT_EQ(to_list(status->numa), "0,2");
  EXPECT_FALSE(parse_proc_status(""));
  EXPECT_FALSE(parse_proc_status("Name:\tkthreadd\n"));
}

TEST(ProcEnvironment, KeepsTheFirstAndPassesOverWhatIsNone) {
  const auto environment = parse_proc_environment("A=1\0B=\0=C:=x\0noise\0A=2\0LINES=a\nb=c\0"s);
  EXPECT_EQ(environment, (Environment{{"A", "1"}, {"B", ""}, {"LINES", "a\nb=c"}}));
}

TEST(CommandIn, NamesTheScriptOfAnInterpreter) {
  EXPECT_EQ(command_in("/opt/bin/dltrain\0--config\0x\0"s), "dltrain");
  EXPECT_EQ(command_in("/usr/bin/python3\0/home/a/train.py\0--epochs\0"s), "python3 train.py");
  EXPECT_EQ(command_in("bash\0-c\0x\0"s), "bash");
  EXPECT_EQ(command_in(""), "");
}

TEST(ProcLimitsText, AreTheSoftOnes) {
  const auto limits = parse_proc_limits(
      "Limit                     Soft Limit           Hard Limit           Units\n"
      "Max open files            1024                 524288               files\n"
      "Max locked memory         8388608              unlimited            bytes\n");
  EXPECT_EQ(limits.open_files, 1024u);
  EXPECT_EQ(limits.locked_memory_bytes, 8388608u);
  const auto open = parse_proc_limits("Max locked memory         unlimited  unlimited  bytes\n");
  EXPECT_EQ(open.locked_memory_bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_FALSE(open.open_files);
}

TEST(GpuLibraries, AreNamedOnce) {
  const auto found = gpu_libraries_in(
      "7f00-7f01 r-xp 00000000 08:01 11 /usr/local/cuda/lib64/libcudart.so.12.1.105\n"
      "7f01-7f02 r--p 00000000 08:01 11 /usr/local/cuda/lib64/libcudart.so.12.1.105\n"
      "7f03-7f04 r-xp 00000000 08:01 12 /usr/lib/libcuda.so.1 (deleted)\n"
      "7f05-7f06 rw-p 00000000 00:00 0 [heap]\n"
      "7f07-7f08 r-xp 00000000 08:01 13 /opt/rocm/lib/libamdhip64.so.6\n"
      "7f09-7f0a r-xp 00000000 08:01 14 /usr/lib/libcurl.so.4\n");
  EXPECT_EQ(found, (std::vector<std::string>{"libamdhip64.so.6", "libcuda.so.1",
                                             "libcudart.so.12.1.105"}));
}

TEST(NumaMaps, TheHeapCountsMost) {
  const auto policy = [](const std::string& text) {
    const auto read = parse_numa_maps(text);
    return read.mode + " " + to_list(read.nodes);
  };
  const std::string first = "5500 default file=/bin/x mapped=2 N0=2 kernelpagesize_kB=4\n";
  EXPECT_EQ(policy(first), "default ");
  EXPECT_EQ(policy(first + "7f00 bind:0-1 stack anon=3 N0=3\n"), "bind 0-1");
  EXPECT_EQ(policy(first + "5600 prefer:3 heap anon=3\n7f00 bind:0-1 stack anon=3\n"), "prefer 3");
  EXPECT_EQ(policy("5600 prefer=static:3 heap anon=3\n"), "prefer 3");
  EXPECT_EQ(policy("5600 prefer (many):0,2 heap anon=3\n"), "prefer 0,2");
  EXPECT_EQ(policy("5600 interleave:0-3 heap\n"), "interleave 0-3");
  EXPECT_EQ(policy(""), "unknown ");
}

TEST(NvidiaDevices, AreThoseOfTheList) {
  EXPECT_FALSE(nvidia_devices_in("a *:* rwm\n"));
  EXPECT_FALSE(nvidia_devices_in("c 195:* rwm\n"));
  EXPECT_FALSE(nvidia_devices_in(""));
  const auto some =
      nvidia_devices_in("c 1:3 rwm\nc 195:2 rwm\nc 195:255 rwm\nc 195:0 rwm\nb 8:0 r\n");
  ASSERT_TRUE(some);
  EXPECT_EQ(to_list(*some), "0,2");
}

TEST(ProcText, TakesAnyText) {
  const int rounds = !full_tier() ? 3000 : 100'000;
  const std::vector<std::string> samples = {
      status_text,
      "A=1\0B=2\0"s,
      "Max open files            1024                 524288               files\n",
      "7f07-7f08 r-xp 00000000 08:01 13 /opt/rocm/lib/libamdhip64.so.6\n",
      "5600 prefer (many):0,2 heap anon=3\n7f00 bind:0-1 stack anon=3\n",
      "c 195:2 rwm\nc 195:255 rwm\na *:* rwm\n"};
  with_damaged(samples, rounds, 23, [](const std::string& text) {
    parse_proc_status(text);
    parse_proc_environment(text);
    command_in(text);
    parse_proc_limits(text);
    gpu_libraries_in(text);
    parse_numa_maps(text);
    nvidia_devices_in(text);
  });
}

}  // namespace
}  // namespace dllaunch
