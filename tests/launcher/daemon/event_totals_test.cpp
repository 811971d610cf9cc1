#include "launcher/daemon/event_totals.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/run/summary.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

class EventTotalsTest : public testing::Test {
 protected:
  static void write(const StoredRun& run, int from, int steps, int padding = 0) {
    std::ofstream file(run.dir.events(), std::ios::app);
    for (int i = from; i < from + steps; ++i)
      file << R"({"time": )" << 100 + 0.5 * i << R"(, "event": "step", "epoch": 1, "step": )" << i
           << R"(, "loss": 0.5, "more": ")" << std::string(static_cast<std::size_t>(padding), 'x')
           << "\"}\n";
  }
  StoredRun run(const std::string& name) const {
    StoredRun made;
    made.dir.path = folder_.path() + "/" + name;
    made.began_at_s = 100;
    std::filesystem::create_directories(made.dir.path);
    return made;
  }

  TemporaryFolder folder_;
  EventTotals event_totals_;
};

TEST_F(EventTotalsTest, IsWhatReadingItAllAtOnceGives) {
  const auto one = run("a");
  EXPECT_FALSE(event_totals_.of(one)->trained());
  write(one, 1, 10);
  EXPECT_EQ(event_totals_.of(one)->history().step(), 10);
  write(one, 11, 10);
  const auto totals = event_totals_.of(one);
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->history().step(), 20);
  EXPECT_EQ(totals->step_seconds(), read_totals(one.dir, one.began_at_s).step_seconds());
  EXPECT_GT(totals->step_seconds(), 0);
}

TEST_F(EventTotalsTest, ALongFileIsReadInPieces) {
  const auto one = run("a");
  write(one, 1, 10'000, /*padding=*/1000);
  int calls = 1;
  auto totals = event_totals_.of(one);
  EXPECT_FALSE(totals);
  for (; !totals && calls < 10; ++calls) totals = event_totals_.of(one);
  ASSERT_TRUE(totals);
  EXPECT_GT(calls, 2);
  EXPECT_EQ(totals->history().step(), 10'000);
}

TEST_F(EventTotalsTest, KeepsAFewAndDropsTheLeastRecentlyUsed) {
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    const auto one = run(name);
    write(one, 1, 3);
    EXPECT_EQ(event_totals_.of(one)->history().step(), 3) << name;
  }
  EXPECT_EQ(event_totals_.of(run("a"))->history().step(), 3) << "read again";
}

/// The same directory with a new job: what came before is only remembered.
TEST_F(EventTotalsTest, ANewJobIsAccountedForAnew) {
  auto one = run("a");
  write(one, 1, 10);
  EXPECT_GT(event_totals_.of(one)->step_seconds(), 0);
  one.began_at_s = 1000;
  EXPECT_EQ(event_totals_.of(one)->step_seconds(), 0);
  EXPECT_EQ(event_totals_.of(one)->history().step(), 10);
}

}  // namespace
}  // namespace dllaunch
