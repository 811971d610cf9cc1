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

}  // namespace
}  // namespace dllaunch
