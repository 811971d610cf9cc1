#include "launcher/failures/render_forecast.hpp"

#include <gmock/gmock.h>

#include "launcher/base/split.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double day_s = 86400;
constexpr double now_s = 1.8e9;

FailureForecast sample(int nodes, double mtbf_days, RecoveryRules rules = {}) {
  rules.nodes = nodes;
  return forecast_failures({.node_mtbf_s = mtbf_days * day_s, .repair_s = day_s, .source = "seen"},
                           rules, {}, 14 * day_s);
}

TEST(RenderForecast, SaysWhatIsExpectedAndAssumed) {
  const auto text = render_forecast(sample(64, 300, {.spare_nodes = 1, .max_restarts = 9}), now_s);
  EXPECT_THAT(text, HasSubstr("failures: 14 d of training on 64 nodes + 1 spare\n"));
  EXPECT_THAT(text, HasSubstr("  seen\n  a node fails every 300 d, one of the job's every 4 d 17"));
  EXPECT_THAT(text, HasSubstr("this job               plain requeueing\n"));
  EXPECT_THAT(text, HasSubstr(", which is assumed, since the job does not"));
  EXPECT_THAT(text, HasSubstr("0.3 % of the nodes are out at a time"));
  EXPECT_THAT(text,
              HasSubstr("assumed      save 30 s, detect 60 s, node_down 5 min, restart 2 min,\n"
                        "               queue 1 h; change with --assume KEY=TIME\n"));
  for (const auto line : split_lines(text)) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(RenderForecast, SaysWhatWouldBeBetter) {
  const auto text = render_forecast(
      sample(256, 30, {.spare_nodes = 20, .max_restarts = 1, .interval_s = 6 * 3600}), now_s);
  EXPECT_THAT(text, HasSubstr("every 6 h; best every "));
  EXPECT_THAT(text, HasSubstr("interruptions go through the queue; with"));
  EXPECT_THAT(text, HasSubstr(" 20: ")) << "the job's own number of spare nodes";
}

TEST(RenderForecast, SaysThatTheSearchForSpareNodesEnded) {
  const auto forecast = forecast_failures({.node_mtbf_s = 10 * day_s, .source = "seen"},
                                          {.nodes = 256, .spare_nodes = 20, .max_restarts = 1000},
                                          {.queue_s = 12 * 3600}, 14 * day_s);
  EXPECT_THAT(render_forecast(forecast, now_s), HasSubstr("  spare nodes  at least 8 pay with a"));
}

TEST(RenderForecast, WhatDoesNotFinishSaysSo) {
  const auto forecast = sample(256, 30, {.requeue_node_fail = false});
  const auto text = render_forecast(forecast, now_s);
  EXPECT_THAT(text, HasSubstr("never"));
  EXPECT_THAT(text, HasSubstr("times of the finish are those of the runs that finish\n"));
  EXPECT_THAT(text, HasSubstr("100 % of the runs of this job: recovery gives up"));
  EXPECT_TRUE(to_json(forecast, now_s).at("this_job").at("finish").is_null());
}

TEST(RenderForecast, JsonHasUnits) {
  const auto json = to_json(sample(64, 300), now_s);
  EXPECT_EQ(json.at("assumed").at("work_s"), 14 * day_s);
  EXPECT_EQ(json.at("rates").at("node_mtbf_s"), 300 * day_s);
  EXPECT_EQ(json.at("this_job").at("spare_nodes"), 0);
  EXPECT_EQ(json.at("spare_nodes").at(1).at("spare_nodes"), 1);
  const auto& finish = json.at("this_job").at("finish");
  EXPECT_GT(finish.at("p10").get<double>(), now_s + 14 * day_s);
  EXPECT_LE(finish.at("p10").get<double>(), finish.at("p90").get<double>());
  const auto& effective = json.at("plain_requeueing").at("effective_training_time");
  EXPECT_GT(effective.at("mean").get<double>(), 0.5);
  EXPECT_LT(effective.at("mean").get<double>(), 1);
}

}  // namespace
}  // namespace dllaunch
