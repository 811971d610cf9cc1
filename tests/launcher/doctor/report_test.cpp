#include "launcher/doctor/report.hpp"

#include <gtest/gtest.h>

#include "tests/topology/diagnosis/observed_ranks.hpp"
#include "tests/topology/discovery/damage.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

Report overlapping_on(const std::string& host, int first_rank,
                      const std::string& job = "step 12.0") {
  const auto topology = *synthetic_topology("packages:2 cores:8 gpus:2");
  auto node = ranks_on(topology, {IdSet::range(0, 7), IdSet::range(4, 15)});
  node.host = host;
  node.job = job;
  for (auto& rank : node.ranks) {
    rank.rank += first_rank;
    rank.world_size = 1000;
  }
  return report_of(topology, node);
}

TEST(Report, HoldsRowsAndFindings) {
  const auto report = overlapping_on("n1", 0);
  ASSERT_EQ(report.ranks.size(), 2u);
  EXPECT_EQ(report.ranks[1].cpus, "4-15");
  EXPECT_EQ(report.ranks[1].numa, "0-1");
  EXPECT_EQ(report.ranks[1].gpus, std::vector<int>{1});
  EXPECT_EQ(report.findings[0].id, "A02");
  EXPECT_EQ(worst(report), Level::fail);
  EXPECT_EQ(worst(Report{}), Level::ok);
}

TEST(Report, GoesThroughJsonUnchanged) {
  auto report = overlapping_on("n1", 0);
  const auto document = to_json(report);
  EXPECT_EQ(document["host"], "n1");
  EXPECT_EQ(document["findings"][0]["level"], "FAIL");
  EXPECT_EQ(document["findings"][0]["ranks"], Json::parse("[0, 1]"));
  EXPECT_TRUE(document["bench"].is_null());
  const auto back = report_from_json(document);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(to_json(*back), document);
}

TEST(Report, MergesTheSameOfManyNodes) {
  auto report = overlapping_on("n1", 0);
  for (int i = 1; i < 100; ++i) merge(report, overlapping_on("n" + std::to_string(i + 1), 2 * i));
  EXPECT_EQ(report.hosts.size(), 100u);
  EXPECT_EQ(report.ranks.size(), 200u);
  const auto alone = overlapping_on("n1", 0).findings.size();
  EXPECT_EQ(report.findings.size(), alone);
  EXPECT_EQ(report.findings[0].ranks.size(), 200);
  EXPECT_TRUE(report.findings[0].seen.ends_with("; and alike on other nodes"));
}

TEST(Report, KeepsTheFindingsOfTwoStepsApart) {
  auto report = overlapping_on("n1", 0, "step 12.0");
  const auto alone = report.findings.size();
  merge(report, overlapping_on("n1", 0, "step 12.1"));
  EXPECT_EQ(report.hosts.size(), 1u);
  EXPECT_EQ(report.findings.size(), 2 * alone);
}

TEST(Report, MakesStrangersTextFit) {
  const auto topology = *synthetic_topology("cores:2");
  auto node = ranks_on(topology, {IdSet{0}, IdSet{1}});
  node.ranks[0].command = "\x1b[2J" + std::string(500, 'x');
  node.ranks[1].unread = {"\xff\xfe: " + std::string(5000, 'y')};
  const auto report = report_of(topology, node);
  EXPECT_TRUE(report.ranks[0].command.starts_with("\\x1b[2Jxxx"));
  EXPECT_LT(report.ranks[0].command.size(), 60u);
  ASSERT_EQ(report.findings[0].id, "A25");
  EXPECT_LT(report.findings[0].seen.size(), 1000u);
  EXPECT_FALSE(to_json(report).dump().empty()) << "dump() throws at what is no UTF-8";
}

TEST(Report, RefusesWhatIsNone) {
  for (const char* text : {"[]", "{}", R"({"hosts": [], "ranks": [{}], "findings": []})",
                           R"({"hosts": [3], "ranks": [], "findings": []})",
                           R"({"hosts": [], "ranks": [], "findings": [{"id": "A01"}]})"})
    EXPECT_FALSE(report_from_json(Json::parse(text))) << text;
}

TEST(Report, RefusesNumbersThatCannotBe) {
  auto whole = to_json(overlapping_on("n1", 0));
  ASSERT_TRUE(report_from_json(whole));
  for (const char* text : {"65536", "-1", "999999999999999990", "18446744073709551615"}) {
    auto gpu = whole;
    gpu["ranks"][0]["gpus"] = Json::array({Json::parse(text)});
    EXPECT_FALSE(report_from_json(gpu)) << text;
    auto finding = whole;
    finding["findings"][0]["ranks"] = Json::array({Json::parse(text)});
    EXPECT_FALSE(report_from_json(finding)) << text;
  }
  for (const char* key : {"rank", "local_rank", "pid", "threads"}) {
    auto number = whole;
    number["ranks"][0][key] = 18446744073709551615u;
    EXPECT_FALSE(report_from_json(number)) << key;
  }
}

TEST(Report, TakesAnyJson) {
  with_damaged({to_json(overlapping_on("n1", 0)).dump()}, 2000, 3, [](const std::string& text) {
    const auto document = Json::parse(text, nullptr, false);
    if (document.is_discarded()) return;
    const auto report = report_from_json(document);
    if (report) (void)to_json(*report).dump(-1, ' ', true, Json::error_handler_t::replace);
  });
}

}  // namespace
}  // namespace dllaunch
