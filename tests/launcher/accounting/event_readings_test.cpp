#include "launcher/accounting/event_readings.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace dllaunch {
namespace {

const std::string fixtures = std::string(DLLAUNCH_SOURCE_DIR) + "/tests/fixtures/gpu_events/";

EventReadings readings_of(std::initializer_list<std::string_view> lines, double since_s = 0) {
  EventMeter meter(since_s);
  for (const auto line : lines) meter.take(line);
  return meter.readings();
}

TEST(EventReadings, OfAnH100AreItsEnergyInBothEpochs) {
  const auto readings = read_event_readings(fixtures + "h100-resnet50.jsonl", 0);
  EXPECT_NEAR(readings.gpu_joules.value_or(0), 1518.377 + 1496.923, 1e-6);
  EXPECT_NEAR(readings.gpu_seconds, 4.01 + 4.011, 1e-6);
  EXPECT_EQ(readings.gpu_source, "nvml");
  EXPECT_FALSE(readings.peak_memory_bytes) << "that trainer did not report it";
}

TEST(EventReadings, OfASingleReadingNoEnergyIsKnown) {
  const auto readings = read_event_readings(fixtures + "h100-shared.jsonl", 0);
  EXPECT_FALSE(readings.gpu_joules) << "its energy_j is 0.0, after no time";
}

TEST(EventReadings, CountASharedGpuOnce) {
  const auto readings = readings_of({R"({"time":1,"event":"start","backend":"hip"})",
                                     R"({"time":2,"event":"gpus","epoch":1,"energy_j":300,"worst":[
           {"rank":0,"pci":"a","energy_j":300,"seconds":2},
           {"rank":1,"pci":"a","energy_j":300,"seconds":3}]})"});
  EXPECT_EQ(readings.gpu_joules, 300);
  EXPECT_EQ(readings.gpu_seconds, 3);
  EXPECT_EQ(readings.gpu_source, "rocm_smi");
}

TEST(EventReadings, CountWhatARestartLost) {
  const auto readings = readings_of(
      {R"({"time":2,"event":"gpus","energy_j":300,"worst":[{"seconds":2}],"generation":1})",
       R"({"time":9,"event":"gpus","energy_j":310,"worst":[{"seconds":2}],"generation":2})"});
  EXPECT_EQ(readings.gpu_joules, 610);
  EXPECT_EQ(readings.gpu_seconds, 4);
}

TEST(EventReadings, TakeTheMostMemoryOfEachRank) {
  const auto readings = readings_of(
      {R"({"time":2,"event":"ranks","peak_memory_bytes":90,"peak_memory_by_rank":[90,null,40]})",
       R"({"time":3,"event":"ranks","peak_memory_bytes":80,"peak_memory_by_rank":[70,80,"x"]})"});
  EXPECT_EQ(readings.peak_memory_bytes, 90);
  EXPECT_EQ(readings.peak_memory_by_rank, (std::vector<std::optional<std::int64_t>>{90, 80, 40}));
}

TEST(EventReadings, SkipEarlierRunsAndNonsense) {
  const auto readings = readings_of(
      {R"({"time":2,"event":"ranks","peak_memory_bytes":90,"peak_memory_by_rank":[90]})",
       R"({"time":7,"event":"gpus","energy_j":-5,"worst":7})", R"("event":"gpus" and no JSON)",
       R"({"time":8,"event":"ranks","peak_memory_bytes":0,"peak_memory_by_rank":[0]})"},
      5);
  EXPECT_FALSE(readings.peak_memory_bytes);
  EXPECT_FALSE(readings.gpu_joules);
  for (const auto& peak : readings.peak_memory_by_rank) EXPECT_FALSE(peak);
  EXPECT_FALSE(read_event_readings("/nowhere/events.jsonl", 0).gpu_joules);
}

}  // namespace
}  // namespace dllaunch
