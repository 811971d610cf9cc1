// The page of a run that was really trained, in a real browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "tests/end_to_end/browser.hpp"
#include "tests/end_to_end/local_run.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

using ReportPage = LocalRun;

TEST_F(ReportPage, IsWholeInABrowserAtAnySizeAndOnPaper) {
  PosixSystem system(Console{});
  if (!system.find_program("chromium")) GTEST_SKIP() << "unavailable: chromium";
  const std::string evil = "--set=name=<script>document.title=1</script>";
  ASSERT_EQ(work_.run(args(job(), {evil})).exit_code, 0);
  const auto reported = work_.run({"report", work_.run_dir(), "--html"});
  ASSERT_EQ(reported.exit_code, 0) << reported.err;
  const std::string page = work_.run_dir() + "/report.html";
  EXPECT_EQ(reported.out, page + "\n");
  EXPECT_EQ(unexplained_files(work_.run_dir()), std::vector<std::string>());
  expect_whole_page(system, work_.path(), page, "report", 2600,
                    {"&lt;script&gt;", "images/s, all ranks", ">loss</text>", ">step</text>",
                     "Seconds per epoch", "rank 1: CPUs", "2 on 1 node"});
}

TEST_F(ReportPage, GoesWhereItIsTold) {
  ASSERT_EQ(work_.run(args(command("echo hello"))).exit_code, 0);
  const auto file = work_.path() + "/page.html";
  const auto made = work_.run({"report", work_.run_dir(), "--html", "-o", file, "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto told = Json::parse(made.out);
  EXPECT_EQ(told["html"], file);
  EXPECT_EQ(told["bytes"], fs::file_size(file));
  EXPECT_FALSE(fs::exists(work_.run_dir() + "/report.html"));
  EXPECT_EQ(work_.run({"report", work_.run_dir(), "-o", file}).exit_code, 2);
  EXPECT_EQ(work_.run({"report", work_.run_dir(), "--html", "-o", "/nowhere/page.html"}).exit_code,
            2);
}

TEST_F(ReportPage, ACostSoFarOutlivesAKill) {
  work_.start(args(job(), long_run_));
  ASSERT_TRUE(steps_were_made());
  Workplace other;
  const auto told = other.run({"report", work_.run_dir(), "--json"});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_GT(Json::parse(told.out)["so_far"]["core_hours"], 0) << told.out;
  EXPECT_THAT(other.run({"report", work_.run_dir()}).out, HasSubstr("  so far: core-hours "));
  work_.signal(SIGKILL);
  work_.wait();
  ASSERT_TRUE(all_end(work_.run_dir()));
  EXPECT_THAT(other.run({"report", work_.run_dir()}).out, Not(HasSubstr("so far")));
  auto again = args(job(), long_run_);
  again.insert(again.end(), {"--set", "train.max_steps=1"});
  const auto more = work_.run(again);
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(summary()["submissions"], 2);
  const auto before = Json::parse(work_.text_of("run/summary.before.json"));
  EXPECT_EQ(before["status"], "failed");
  EXPECT_GT(before["core_hours"], 0);
  EXPECT_GT(summary()["core_hours"], before["core_hours"]);
}

/// The starter's output is empty all the time: its age tells of the first start alone.
TEST_F(ReportPage, ACostOutlivesEveryKill) {
  std::size_t steps = 0;
  for (int kills = 0; kills < 2; ++kills) {
    work_.start(args(job(), long_run_));
    ASSERT_TRUE(
        happens_within(60s, [&] { return events_of(work_.run_dir(), "step").size() > steps + 3; }));
    work_.signal(SIGKILL);
    work_.wait();
    ASSERT_TRUE(all_end(work_.run_dir()));
    steps = events_of(work_.run_dir(), "step").size();
  }
  auto again = args(job(), long_run_);
  again.insert(again.end(), {"--set", "train.max_steps=1"});
  const auto more = work_.run(again);
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(summary()["submissions"], 3) << summary();
  const auto before = Json::parse(work_.text_of("run/summary.before.json"));
  EXPECT_EQ(before["submissions"], 2);
  EXPECT_GT(summary()["core_hours"], before["core_hours"]);
}

}  // namespace
}  // namespace dllaunch
