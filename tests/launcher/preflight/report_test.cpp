#include "launcher/preflight/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/golden.hpp"
#include "tests/topology/discovery/damage.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Fails what says so.
std::vector<NodeResult> judge(const PreflightRequest&, const std::vector<NodeSample>& samples) {
  std::vector<NodeResult> results;
  for (const auto& sample : samples) {
    const auto level = text_of(sample.seen, "level");
    PreflightResult result{.item = sample.item, .value = "5 of 7"};
    if (level == "fail") result.level = Level::fail;
    if (level == "warn") result.level = Level::warn;
    if (level != "ok") {
      result.why = "it is \x1b[1m" + level;
      result.fix = "mend it";
    }
    results.push_back({sample.node, result});
  }
  return results;
}

const PreflightCheck shm{.name = "shm", .judge = judge};
const PreflightCheck disk{.name = "disk", .judge = judge};
const PreflightCheck echo{.name = "echo", .judge = judge, .reads = "disk"};
const std::vector<const PreflightCheck*> table = {&shm, &disk};

NodeAnswer answer(const std::string& node, const std::string& of_shm, const std::string& of_disk) {
  const auto sample = [&](const std::string& level) {
    return NodeSample{.node = node, .seen = {{"level", level}}};
  };
  return {.node = node, .samples = {{"shm", {sample(of_shm)}}, {"disk", {sample(of_disk)}}}};
}

const PreflightRequest three{.hosts = {"n1", "n2", "n3"}};

PreflightReport judged(const std::vector<NodeAnswer>& answers,
                       const std::map<std::string, std::string>& silent = {}) {
  auto report = judge_preflight(three, answers, silent, table);
  report.seconds = 1.25;
  return report;
}

TEST(PreflightReport, NamesTheNodeToLeaveOut) {
  const auto report =
      judged({answer("n1", "ok", "ok"), answer("n2", "ok", "fail"), answer("n3", "warn", "ok")});
  EXPECT_THAT(report.exclude, ElementsAre("n2"));
  EXPECT_FALSE(all_ok(report));
  EXPECT_TRUE(report.nodes[2].ok) << "a warning is no failure";
  EXPECT_TRUE(matches_golden("launcher/preflight.txt", render_preflight(report, false, true)));
  EXPECT_TRUE(
      matches_golden("launcher/preflight_quiet.txt", render_preflight(report, false, false)));
}

TEST(PreflightReport, ExcludesNoNodeForWhatAllFail) {
  const auto alike =
      judged({answer("n1", "ok", "fail"), answer("n2", "ok", "fail"), answer("n3", "ok", "fail")});
  EXPECT_THAT(alike.exclude, IsEmpty());
  EXPECT_FALSE(all_ok(alike));
  EXPECT_THAT(render_preflight(alike, false, false), testing::HasSubstr("all fail alike"));
  const auto one_more = judged(
      {answer("n1", "ok", "fail"), answer("n2", "fail", "fail"), answer("n3", "ok", "fail")});
  EXPECT_THAT(one_more.exclude, ElementsAre("n2"));
  const auto alone = judge_preflight({.hosts = {"n1"}}, {answer("n1", "ok", "fail")}, {}, table);
  EXPECT_THAT(alone.exclude, ElementsAre("n1"));
}

TEST(PreflightReport, ANodeWithoutAnAnswerFails) {
  const auto report = judged({answer("n1", "ok", "ok"), answer("n3", "ok", "ok")},
                             {{"n2", "no answer within 15 s"}});
  EXPECT_THAT(report.exclude, ElementsAre("n2"));
  ASSERT_EQ(report.nodes[1].checks.size(), 1u);
  EXPECT_EQ(report.nodes[1].checks[0].name, "answer");
  EXPECT_EQ(report.nodes[1].checks[0].why, "no answer within 15 s");
}

TEST(PreflightReport, ACheckThatDoesNotComeBackFails) {
  auto hung = answer("n2", "ok", "ok");
  hung.samples["disk"][0] = {.node = "n2", .item = "TMPDIR", .trouble = "no answer after 2500 ms"};
  const auto report = judged({answer("n1", "ok", "ok"), hung, answer("n3", "ok", "ok")});
  EXPECT_THAT(report.exclude, ElementsAre("n2"));
  const auto& checks = report.nodes[1].checks;
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_EQ(checks[1].name, "disk");
  EXPECT_EQ(checks[1].item, "TMPDIR");
  EXPECT_EQ(checks[1].why, "no answer after 2500 ms");
}

/// What a check cannot see is told once, by the check that looked.
TEST(PreflightReport, BorrowedTroubleIsNotTwoFailures) {
  auto hung = answer("n1", "ok", "ok");
  hung.samples["disk"][0].trouble = "hung";
  const std::vector<const PreflightCheck*> both = {&disk, &echo};
  const auto report = judge_preflight({.hosts = {"n1"}}, {hung}, {}, both);
  EXPECT_EQ(report.nodes[0].checks.size(), 1u);
}

TEST(PreflightReport, LeavesOutWhatIsSkipped) {
  auto request = three;
  request.skip = {"disk"};
  const auto report = judge_preflight(
      request, {answer("n1", "ok", "fail"), answer("n2", "ok", "ok"), answer("n3", "ok", "ok")}, {},
      table);
  EXPECT_TRUE(all_ok(report));
}

TEST(PreflightReport, TravelsWhole) {
  const auto report = judged({answer("n1", "ok", "ok"), answer("n2", "ok", "fail")}, {{"n3", "?"}});
  const auto again = preflight_report_from_json(to_json(report));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(to_json(*again), to_json(report));
  with_damaged({to_json(report).dump()}, 2000, 29, [](const std::string& text) {
    const auto read = preflight_report_from_json(Json::parse(text, nullptr, false));
    EXPECT_TRUE(!read || !render_preflight(*read, true, true).empty());
  });
}

TEST(PreflightReport, IsReadyWhereAllIsWell) {
  const auto report =
      judged({answer("n1", "ok", "ok"), answer("n2", "ok", "ok"), answer("n3", "ok", "ok")});
  EXPECT_EQ(render_preflight(report, false, false), "OK   3 nodes in 1.2 s: ready\n");
}

}  // namespace
}  // namespace dllaunch
