// The page of a run that was really trained, in a real browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
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

struct Look {
  const char* name;
  const char* size;
  bool dark = false;
};

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
  const auto look_at = [&](std::vector<std::string> more) {
    auto argv = browser_in(work_.path());
    argv.insert(argv.end(), more.begin(), more.end());
    argv.push_back("file://" + page);
    const auto seen = system.run(argv, 90s);
    EXPECT_TRUE(seen) << seen.error().what;
    if (!seen) return std::string();
    EXPECT_THAT(seen->err, Not(HasSubstr("CONSOLE")));
    return seen->out;
  };
  const auto shown = look_at({"--dump-dom"});
  for (const char* part : {"&lt;script&gt;", "images/s, all ranks", ">loss</text>", ">step</text>",
                           "Seconds per epoch", "rank 1: CPUs", "2 on 1 node"})
    EXPECT_THAT(shown, HasSubstr(part));
  EXPECT_THAT(shown, Not(HasSubstr("<script")));
  const char* keep = std::getenv("DLLAUNCH_SCREENSHOTS");
  const std::string folder = keep != nullptr ? keep : work_.path();
  const Look looks[] = {
      {"wide", "1400,2600"}, {"dark", "1400,2600", true}, {"telephone", "390,3600"}};
  for (const Look& look : looks) {
    const auto picture = folder + "/report-" + look.name + ".png";
    std::vector<std::string> more = {std::string("--window-size=") + look.size,
                                     "--screenshot=" + picture};
    if (look.dark) more.emplace_back("--blink-settings=preferredColorScheme=0");
    look_at(more);
    EXPECT_GT(fs::file_size(picture), 20'000u) << look.name;
  }
  const auto paper = folder + "/report.pdf";
  look_at({"--no-pdf-header-footer", "--print-to-pdf=" + paper});
  EXPECT_GT(fs::file_size(paper), 10'000u);
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
