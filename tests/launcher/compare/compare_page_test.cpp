#include "launcher/compare/compare_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/compare/compared_runs.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string page_of(std::vector<ComparedRun> runs, std::vector<LeftOutRun> left_out = {}) {
  return html_page(compare_page(compare_runs(std::move(runs), std::move(left_out), {})));
}

TEST(ComparePage, ShowsFiguresCurvesScalingAndDifferences) {
  const auto page = page_of({trained("a", 8, 4), trained("b", 16, 3), scaled("c")},
                            {{.query = "d", .why = "no such run"}});
  for (const char* part :
       {"Comparison of 3 runs", "time to validation loss 3", "Validation accuracy over epochs",
        "seconds since the first start", ">images/s</text>", "efficiency, %", "What differs",
        "<h3>Job file</h3>", "train.optimizer.lr", "/runs/a", "d: no such run",
        "those of the machine that submitted"})
    EXPECT_THAT(page, HasSubstr(part));
  std::size_t numbers = 0;
  std::size_t charts = 0;
  for (auto at = page.find("<figure>"); at != std::string::npos; at = page.find("<figure>", at + 1))
    ++charts;
  for (auto at = page.find("<summary>numbers"); at != std::string::npos;
       at = page.find("<summary>numbers", at + 1))
    ++numbers;
  EXPECT_EQ(charts, 12u);
  EXPECT_EQ(numbers, charts) << "every plot has its numbers";
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(ComparePage, NamesAreNeverMarkup) {
  const std::string evil = "<script>alert(1)</script>\"'\n\x1b[0m&";
  auto run = trained(evil, 8, 4);
  run.path = run.state = run.unit = run.hosts = run.hardware = evil;
  run.notes = {evil};
  run.summary = {{"core_hours", 1}, {"energy_joules", 1}, {"energy_source", evil}};
  run.job[evil] = evil;
  run.origin->variables[evil] = evil;
  run.origin->left_out = {evil};
  run.origin->versions[evil] = evil;
  run.origin->seeds[evil] = evil;
  run.origin->python = PythonState{.version = evil, .packages = {{evil, evil}}};
  run.origin->code->branch = evil;
  auto study = scaled(evil);
  study.unit = evil;
  const auto page = page_of({run, study, trained("b", 8, 4)}, {{.query = evil, .why = evil}});
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;"));
}

TEST(ComparePage, OfRunsWithoutAnythingIsAPage) {
  const auto page = page_of({{.label = "a"}, {.label = "b"}});
  EXPECT_THAT(page, HasSubstr("No difference known: Job file, Code, "));
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
}

TEST(ComparePage, LongValuesAreCut) {
  auto run = trained("a", 8, 4);
  run.job["name"] = std::string(5000, 'n');
  const auto page = page_of({run, trained("b", 8, 4)});
  EXPECT_THAT(page, HasSubstr(std::string(400, 'n') + " ..."));
  EXPECT_THAT(page, Not(HasSubstr(std::string(401, 'n'))));
}

}  // namespace
}  // namespace dllaunch
