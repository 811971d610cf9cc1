#include "launcher/study/study_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/report/rank_times.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

Study some_study() {
  Study study{.name = "<b>a</b>", .trains = true, .unit = "images/s"};
  for (const int ranks : {1, 2, 4}) {
    StudyRun run{.ranks = ranks, .nodes = 1};
    run.value = 90.0 * ranks;
    run.parts.assign(rank_parts.size(), 1);
    study.runs.push_back(run);
  }
  return study;
}

TEST(StudyPage, ShowsTablePlotsAndMethod) {
  auto study = some_study();
  study.runs.push_back({.ranks = 8, .repeat = 2, .reason = "failed: <x>"});
  const auto page = html_page(study_page(study, result_of(study), "/studies/a"));
  for (const char* part :
       {"&lt;b&gt;a&lt;/b&gt;: strong scaling", ">images/s</text>", ">efficiency, %</text>",
        ">ideal</text>", "predicted", "Where an epoch&#39;s time goes", "t(p) = ", "log2 p",
        "8 ranks, repeat 2: failed: &lt;x&gt;", "/studies/a"})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(StudyPage, OfNothingIsAPage) {
  const Study study{.name = "a"};
  const auto page = html_page(study_page(study, result_of(study), "/a"));
  EXPECT_THAT(page, HasSubstr("</html>"));
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
}

TEST(StudyPage, TheIdealOfATimeFallsAndOfAWeakTimeStays) {
  auto study = some_study();
  for (auto& run : study.runs) run.value = 100.0 / run.ranks;
  study.lower_is_better = true;
  EXPECT_EQ(value_chart(study, result_of(study)).series[1].points[2].y, 25);
  study.scaling = Scaling::weak;
  EXPECT_EQ(value_chart(study, result_of(study)).series[1].points[2].y, 100);
}

}  // namespace
}  // namespace dllaunch
