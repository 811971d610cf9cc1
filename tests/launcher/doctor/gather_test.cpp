#include "launcher/doctor/gather.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/fake_system.hpp"
#include "tests/topology/discovery/damage.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Json answer_of(const std::string& host, int ranks) {
  Report report;
  report.hosts = {host};
  for (int i = 0; i < ranks; ++i)
    report.ranks.push_back({.rank = i, .host = host, .job = "step 1.0", .command = "app"});
  return to_json(report);
}

TEST(ExamineAllocation, ReportsAreReadFromAnyText) {
  with_damaged({answer_lines("n1", answer_of("n1", 5)), "dllaunch-doctor n1 0 1 {}"}, 3000, 41,
               [](const std::string& text) {
                 for (const auto& [host, document] : read_answers(text))
                   (void)report_from_json(document);
               });
}

FakeSystem in_allocation() {
  FakeSystem system;
  system.variables = {{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "n[1-3]"}};
  return system;
}

TEST(ExamineAllocation, MergesAndNamesTheSilent) {
  auto system = in_allocation();
  system.respond = [](const std::vector<std::string>& argv) {
    EXPECT_EQ(argv.front(), "env");
    EXPECT_THAT(argv, Contains("SLURM_CPUS_PER_TASK"));
    EXPECT_THAT(argv, Contains("--overlap"));
    EXPECT_THAT(argv, Contains("--nodes=3"));
    EXPECT_THAT(argv, Contains("--jobid=12"));
    EXPECT_THAT(argv, Not(Contains("--bench")));
    return Result<CommandOutput>(CommandOutput{
        1, answer_lines("n1", answer_of("n1", 2)) + answer_lines("n3", answer_of("n3", 1)),
        "srun: error: n2: task 1: Exited with exit code 2\n"});
  };
  const auto report = examine_allocation(system, {"12", {"n1", "n2", "n3"}}, false);
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->ranks.size(), 3u);
  EXPECT_EQ(report->hosts, (std::vector<std::string>{"n1", "n3"}));
  ASSERT_EQ(report->unanswered.size(), 1u);
  EXPECT_EQ(report->unanswered[0].first, "n2");
  EXPECT_THAT(report->unanswered[0].second, HasSubstr("exit code 2"));
}

TEST(ExamineAllocation, WithoutAnyAnswerQuotesSrun) {
  auto system = in_allocation();
  system.answers["env"] = {};
  system.respond = [](const std::vector<std::string>&) {
    return Result<CommandOutput>(CommandOutput{1, "", "srun: error: Invalid job id specified\n"});
  };
  const auto report = examine_allocation(system, {"12", {"n1"}}, false);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().what, HasSubstr("Invalid job id"));
  EXPECT_EQ(report.error().kind, ErrorKind::unavailable);
}

TEST(ExamineAllocation, RowsOfIdleNodesAreLeftOutBesideRanks) {
  auto system = in_allocation();
  Report idle;
  idle.hosts = {"n2"};
  idle.ranks = {{.rank = -1, .pid = 9, .host = "n2", .job = "no step runs"}};
  system.respond = [&](const std::vector<std::string>&) {
    return Result<CommandOutput>(CommandOutput{
        0, answer_lines("n1", answer_of("n1", 1)) + answer_lines("n2", to_json(idle)), ""});
  };
  const auto report = examine_allocation(system, {"12", {"n1", "n2"}}, false);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->ranks.size(), 1u);
  EXPECT_EQ(report->hosts.size(), 2u);
}

}  // namespace
}  // namespace dllaunch
