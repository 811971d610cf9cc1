#include <gmock/gmock.h>

#include "tests/launcher/preflight/node_samples.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

constexpr double gib = 1 << 30;

Json memory(double available_gib, double total_gib) {
  return {{"total_bytes", total_gib * gib}, {"available_bytes", available_gib * gib}};
}

TEST(PreflightMemory, IsNotTakenByOthers) {
  EXPECT_EQ(judged("memory", {}, {sample("n1", memory(200, 256))}), Words{"n1 ok"});
  EXPECT_EQ(judged("memory", {}, {sample("n1", memory(20, 256))}),
            Words{"n1 warn: only 8 % of it is left"});
  EXPECT_EQ(judged("memory", {}, {sample("n1", memory(4, 256))}),
            Words{"n1 fail: only 2 % of it is left"});
  const PreflightRequest request{.memory_bytes = 240ULL << 30};
  EXPECT_EQ(judged("memory", request, {sample("n1", memory(200, 256))}), Words{"n1 ok"});
  EXPECT_EQ(judged("memory", request, {sample("n1", memory(180, 256))}),
            Words{"n1 fail: the job asked for 240.0 GiB"});
}

TEST(PreflightMemory, IsAsMuchAsOnTheOtherNodes) {
  EXPECT_EQ(judged("memory", {},
                   {sample("n1", memory(200, 256)), sample("n2", memory(200, 240)),
                    sample("n3", memory(200, 255))}),
            (Words{"n1 ok", "n2 warn: the other nodes have 255.0 GiB", "n3 ok"}));
}

TEST(PreflightMemory, IsReadFromTheKernel) {
  FakeSystem system;
  system.files["/proc/meminfo"] =
      "MemTotal:       16384000 kB\nMemFree:  1 kB\nMemAvailable:    8192000 kB\nHugePages_Total: "
      "0\n";
  const PreflightRequest request;
  const auto seen = check_named("memory").observe({request, system, "n1"}, "");
  ASSERT_TRUE(seen);
  EXPECT_EQ(number_of(*seen, "total_bytes"), 16384000.0 * 1024);
  EXPECT_EQ(number_of(*seen, "available_bytes"), 8192000.0 * 1024);
  system.files["/proc/meminfo"] = "nothing";
  EXPECT_EQ(
      judged("memory", {}, {sample("n1", *check_named("memory").observe({request, system}, ""))}),
      Words{"n1 warn: /proc/meminfo has no MemTotal or MemAvailable"});
}

}  // namespace
}  // namespace dllaunch
