#include "launcher/report/run_charts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/report/written_events.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

using RunChartsTest = WrittenEvents;

TEST_F(RunChartsTest, ChartsShowWhatIsKnown) {
  EXPECT_TRUE(curves_of(read_series("/nowhere")).empty());
  EXPECT_TRUE(starts_of(read_series("/nowhere")).rows.empty());
  steps(1, 10);
  epoch(1);
  const auto series = read();
  std::string titles;
  for (const auto& chart : curves_of(series)) titles += chart.title + ",";
  EXPECT_EQ(titles, "Loss,Accuracy,Throughput,Learning rate,");
  const auto gpus = gpu_charts_of(series);
  ASSERT_EQ(gpus.size(), 1u) << "power; of the utilisation the median is unknown";
  EXPECT_EQ(gpus[0].series[0].points[0].y, 3);
  EXPECT_EQ(gpus[0].series[0].points[0].high, 5);
}

TEST_F(RunChartsTest, ARestartLosesStepsAndTime) {
  steps(1, 17);
  add(R"("event":"restart","reason":"rank 1 was killed")");
  time_ += 20;
  resume(10);
  steps(11, 20);
  const auto series = read();
  const auto bars = starts_of(series);
  ASSERT_EQ(bars.rows.size(), 2u);
  ASSERT_EQ(bars.rows[0].parts.size(), 3u) << "training, lost, down";
  EXPECT_NEAR(bars.rows[0].parts[1].to_s - bars.rows[0].parts[1].from_s, 7, 1.01) << "7 steps lost";
  EXPECT_THAT(bars.rows[0].text, HasSubstr("rank 1 was killed"));
  EXPECT_EQ(bars.rows[1].parts.size(), 1u);
}

}  // namespace
}  // namespace dllaunch
