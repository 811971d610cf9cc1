#include "launcher/links/links_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/links/simulated_network.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

LinkMeasurement measured(const SimulatedNetwork& network) {
  LinkMeasurement measured{.hosts = {}, .survey = {}, .verdict = {}, .seconds = 1.5};
  measured.verdict = survey_of(network).verdict;
  for (std::size_t i = 1; i <= network.hosts; ++i)
    measured.hosts.push_back("n" + std::to_string(i));
  measured.survey.hosts = network.hosts;
  return measured;
}

PreflightReport report_on(const LinkMeasurement& measured, const LinkBaseline& baseline = {}) {
  PreflightReport report;
  for (const auto& host : measured.hosts) report.nodes.push_back({.node = host});
  add_links(report, measured, baseline);
  for (const auto& node : report.nodes) EXPECT_FALSE(node.checks.empty()) << node.node;
  return report;
}

TEST(LinksReport, NamesTheSlowHostAndComparesIt) {
  const auto one =
      measured({.hosts = 8, .part = [](const Pull& pull) { return pull.from == 2 ? 0.1 : 1; }});
  const auto report = report_on(one);
  EXPECT_THAT(report.exclude, ElementsAre("n3"));
  const auto text = render_preflight(report, false, false);
  EXPECT_THAT(text, HasSubstr("FAIL n3  links: sends 1.00 Gbit/s (with n[1-2,4-8])\n"));
  EXPECT_THAT(text, HasSubstr(" times as slow as other pairs at the same time ("));
  EXPECT_THAT(text, HasSubstr("1 not fit; leave out: --exclude=n3"));
  EXPECT_THAT(render_links(one, {}), HasSubstr("n3 - n[1-2,4-8]  1.00 Gbit/s !  "));
  const auto json = to_json(one, {});
  ASSERT_EQ(json["slow"].size(), 1u);
  EXPECT_EQ(json["slow"][0]["kind"], Json("host"));
  EXPECT_EQ(json["slow"][0]["hosts"], Json::array({"n3"}));
  EXPECT_TRUE(json["slow"][0]["receives"].is_null());
  EXPECT_NEAR(json["slow"][0]["sends"]["gbit_per_s"].get<double>(), 1, 0.01);
}

TEST(LinksReport, OfAPairLeavesOutTheOneWithoutTheScript) {
  const auto report = report_on(
      measured({.hosts = 8, .part = [](const Pull& pull) {
                  return pull.to + pull.from == 4 && pull.to != 2 && pull.to % 4 == 0 ? 0.2 : 1;
                }}));
  EXPECT_THAT(report.exclude, ElementsAre("n5"));
  EXPECT_THAT(render_preflight(report, false, false), HasSubstr("FAIL n5  links (n1 with n5): "));
}

TEST(LinksReport, BlamesNeitherOfTwoGroups) {
  const auto report = report_on(measured({.hosts = 8, .part = [](const Pull& pull) {
                                            return pull.to / 4 == pull.from / 4 ? 1 : 0.3;
                                          }}));
  EXPECT_THAT(report.exclude, IsEmpty());
  EXPECT_FALSE(all_ok(report));
  EXPECT_THAT(render_preflight(report, false, false),
              HasSubstr("links (n[5-8] with n[1-4]): sends 3.00 Gbit/s, receives 3.00 Gbit/s\n"));
  EXPECT_THAT(render_preflight(report, false, false), EndsWith(" s: 4 not fit\n"));
}

TEST(LinksReport, NamesWhoIsSilentOrCutOff) {
  const auto report = report_on(
      measured({.hosts = 8,
                .part = [](const Pull& pull) { return pull.to == 1 || pull.from == 1 ? 0.0 : 1; },
                .silent = {6}}));
  EXPECT_THAT(report.exclude, ElementsAre("n7", "n2"));
  const auto text = render_preflight(report, false, false);
  EXPECT_THAT(text, HasSubstr("FAIL n2  links: unreachable"));
  EXPECT_THAT(text, HasSubstr("FAIL n7  links: no sign of it"));
}

TEST(LinksReport, OfWhatIsUnsureThereIsOneWarning) {
  LinkMeasurement one = measured({.hosts = 4});
  one.verdict.unsure = {{.a = {1}, .b = {2}}, {.a = {1}, .b = {3}}, {.a = {2}, .b = {3}}};
  const auto report = report_on(one);
  EXPECT_TRUE(all_ok(report));
  EXPECT_THAT(render_preflight(report, false, false),
              HasSubstr("WARN n1  links (n[2-3]): looked slow, not confirmed\n"));
  EXPECT_THAT(render_preflight(report, false, false), HasSubstr("with 1 warning\n"));
}

TEST(LinksReport, WarnsIfTimeRanOut) {
  LinkMeasurement one = measured({.hosts = 4});
  one.verdict = survey_of({.hosts = 4}, 2).verdict;
  EXPECT_FALSE(all_links_fine(one.verdict)) << "nothing to learn from";
  const auto report = report_on(one);
  EXPECT_TRUE(all_ok(report));
  EXPECT_THAT(render_preflight(report, false, false),
              HasSubstr("WARN n1  links (all): 2 of 6 pairs were not measured in time\n"));
  EXPECT_EQ(to_json(one, {})["missed"], Json(2));
}

TEST(LinksReport, WarnsIfAllAreSlowerThanBefore) {
  const auto one = measured({.hosts = 4});
  const LinkBaseline before{.measurements = 9, .gbit_per_s = 95, .us = 2, .slow = true};
  const auto report = report_on(one, before);
  EXPECT_TRUE(all_ok(report));
  EXPECT_THAT(render_preflight(report, false, false),
              HasSubstr("9 earlier measurements here had 95 Gbit/s, 2 us"));
  EXPECT_THAT(render_links(one, before), HasSubstr("9 earlier measurements  95 Gbit/s"));
  EXPECT_THAT(render_preflight(report_on(one), false, true), HasSubstr("OK   n4  links: "));
}

}  // namespace
}  // namespace dllaunch
