#include "trainer/reports/epoch_gpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "support/json.hpp"
#include "tests/trainer/reports/event_file.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "trainer/reports/events.hpp"

namespace dllaunch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A GPU over 10 seconds.
GpuUse used(double utilisation, double power_w, double clock_mhz, GpuSlowdowns slowdowns = {},
            double slowed_s = 0) {
  GpuUseMeter meter;
  GpuReading reading{.utilisation = utilisation,
                     .memory_used_bytes = 10ULL << 30,
                     .memory_total_bytes = 80ULL << 30,
                     .power_w = power_w,
                     .power_limit_w = 700,
                     .sm_clock_mhz = clock_mhz,
                     .most_sm_clock_mhz = 1980,
                     .temperature_c = 60,
                     .slowdowns = slowdowns,
                     .ecc_errors = 0,
                     .xids = std::vector<unsigned>{}};
  meter.add(reading, 0);
  meter.add(reading, slowed_s);
  reading.slowdowns = GpuSlowdowns{};
  meter.add(reading, 10);
  return meter.take(10);
}

EpochGpus gpus_of(std::vector<GpuUse> uses) {
  EpochGpus gpus;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    gpus.hosts.push_back("n" + std::to_string(i / 2));
    gpus.pci.push_back(i % 2 == 0 ? "0000:07:00.0" : "0000:0f:00.0");
  }
  gpus.ranks = std::move(uses);
  return gpus;
}

GpuSlowdowns only(GpuSlowdown reason) {
  GpuSlowdowns set;
  set.add(reason);
  return set;
}

TEST(EpochGpus, HaveQuantilesAndTheWorst) {
  std::vector<GpuUse> uses(100, used(0.9, 500, 1900));
  uses[7] = used(0.5, 300, 900, only(GpuSlowdown::thermal), 3);
  uses[40].xids = 1;
  uses[40].first_xids[0] = 79;
  const auto fields = gpu_fields(gpus_of(uses));
  EXPECT_EQ(fields["ranks"], 100);
  EXPECT_EQ(fields["answered"], 100);
  EXPECT_EQ(fields["utilisation"], Json::parse("[0.5, 0.9, 0.9, 0.9, 0.9]"));
  EXPECT_EQ(fields["throttled"], Json::parse("[0.0, 0.0, 0.0, 0.0, 0.3]"));
  EXPECT_EQ(fields["sm_clock_mhz"][0], 900);
  EXPECT_EQ(fields["energy_j"], 99 * 5000 + 3000);
  EXPECT_EQ(fields["throttled_seconds"], Json::parse(R"({"thermal": 3.0})"));
  EXPECT_EQ(fields["ecc_errors"], 0);
  EXPECT_EQ(fields["xids"], 1);
  ASSERT_EQ(fields["worst"].size(), 8u) << "however many there are";
  const auto& first = fields["worst"][0];
  EXPECT_EQ(first["rank"], 40);
  EXPECT_EQ(first["host"], "n20");
  EXPECT_EQ(first["pci"], "0000:07:00.0");
  EXPECT_EQ(first["xids"], Json::parse("[79]"));
  const auto& second = fields["worst"][1];
  EXPECT_EQ(second["rank"], 7);
  EXPECT_EQ(second["throttled_seconds"]["thermal"], 3);
  EXPECT_EQ(second["memory_total_bytes"], 80.0 * (1 << 30));
}

TEST(EpochGpus, UnknownValuesAreNull) {
  GpuUseMeter meter;
  meter.add({.power_w = 100}, 0);
  meter.add({.power_w = 100}, 10);
  const auto gpus = gpus_of({meter.take(10), GpuUse{}});
  const auto fields = gpu_fields(gpus);
  EXPECT_EQ(fields["ranks"], 2);
  EXPECT_EQ(fields["answered"], 1);
  for (const char* key :
       {"utilisation", "memory_bytes", "sm_clock_mhz", "temperature_c", "throttled",
        "throttled_seconds", "ecc_errors", "xids", "idle_between_steps", "exposed_ms"}) {
    EXPECT_TRUE(fields[key].is_null()) << key;
  }
  EXPECT_EQ(fields["power_w"][4], 100);
  EXPECT_EQ(fields["worst"][0]["rank"], 1) << "the silent one";
  EXPECT_TRUE(fields["worst"][0]["energy_j"].is_null());
  const auto scalars = gpu_scalars(gpus);
  ASSERT_EQ(scalars.size(), 1u);
  EXPECT_EQ(scalars[0].tag, "gpu/power_W");
}

TEST(EpochGpus, CountASharedGpuOnce) {
  auto gpus = gpus_of({used(1, 400, 1900), used(1, 400, 1900)});
  gpus.pci[1] = gpus.pci[0];
  EXPECT_EQ(gpu_fields(gpus)["energy_j"], 4000);
  gpus.pci[1] = "";  // computes on the CPU
  const auto fields = gpu_fields(gpus);
  EXPECT_EQ(fields["ranks"], 1);
  EXPECT_EQ(fields["worst"].size(), 1u);
}

TEST(EpochGpus, AreTensorBoardScalars) {
  std::map<std::string, double> shown;
  const auto gpus =
      gpus_of({used(1, 600, 1980), used(0.5, 300, 990, only(GpuSlowdown::power_cap), 4)});
  for (const Scalar& scalar : gpu_scalars(gpus)) shown[scalar.tag] = scalar.value;
  EXPECT_EQ(shown.size(), 5u);
  EXPECT_DOUBLE_EQ(shown["gpu/utilisation"], 0.75);
  EXPECT_DOUBLE_EQ(shown["gpu/memory_GiB"], 10);
  EXPECT_DOUBLE_EQ(shown["gpu/power_W"], 450);
  EXPECT_DOUBLE_EQ(shown["gpu/sm_clock_MHz"], 1485);
  EXPECT_DOUBLE_EQ(shown["gpu/throttled"], 0.4);
  EXPECT_TRUE(gpu_scalars({}).empty());
}

TEST(EpochGpus, ShowWhereTheTimeOfStepsGoes) {
  std::vector<GpuUse> uses(2, used(1, 600, 1980));
  for (GpuUse& use : uses) {
    use.steps = 10;
    use.busy_s = 0.9;
    use.gaps = 9;
    use.idle_s = 0.009;
  }
  uses[1].exposed_s = 0.05;
  uses[1].idle_s = 0.09;
  const auto gpus = gpus_of(uses);
  const auto fields = gpu_fields(gpus);
  EXPECT_EQ(fields["idle_between_steps"], Json::parse("[0.011, 0.011, 0.1, 0.1, 0.1]"));
  EXPECT_EQ(fields["exposed_ms"][4], 5);
  std::map<std::string, double> shown;
  for (const Scalar& scalar : gpu_scalars(gpus)) shown[scalar.tag] = scalar.value;
  EXPECT_DOUBLE_EQ(shown["gpu/idle_between_steps"], 0.1);
  EXPECT_DOUBLE_EQ(shown["gpu/exposed_communication_ms"], 5);
}

TEST(EpochGpus, AreOneEventAndNoneWithoutGpus) {
  const ScratchFolder folder;
  {
    auto log = EventLog::open(folder / "events.jsonl", 3);
    ASSERT_TRUE(log);
    log->gpus(1, {});
    auto gpus = gpus_of({used(0.9, 500, 1900)});
    gpus.notes = {"hot"};
    log->gpus(2, gpus);
  }
  const auto event = Json::parse(read_text(folder / "events.jsonl"));
  EXPECT_EQ(event["event"], "gpus");
  EXPECT_EQ(event["epoch"], 2);
  EXPECT_EQ(event["generation"], 3);
  EXPECT_EQ(event["notes"], Json::parse(R"(["hot"])"));
  EXPECT_EQ(event["worst"][0]["power_limit_w"], 700);
}

TEST(GpuNews, ReportsASlowGpuOnce) {
  GpuNews news;
  const auto well = gpus_of({used(0.9, 500, 1900), used(0.9, 500, 1900)});
  EXPECT_THAT(news.of(1, well, ""), IsEmpty());
  // 4 % of an epoch is not worth a line.
  EXPECT_THAT(news.of(1, gpus_of({used(0.9, 500, 900, only(GpuSlowdown::thermal), 0.4)}), ""),
              IsEmpty());
  const auto hot = gpus_of({used(0.9, 500, 1900, only(GpuSlowdown::thermal), 1),
                            used(0.9, 500, 660, only(GpuSlowdown::thermal), 5)});
  EXPECT_THAT(news.of(2, hot, ""),
              ElementsAre(AllOf(
                  HasSubstr("rank 1 on n0, GPU 0000:0f:00.0: slowed down 50 % of epoch 2 (thermal "
                            "50 %), its clock down to 660 MHz of 1980; 1 more alike"),
                  HasSubstr("dllaunch doctor"))));
  EXPECT_THAT(news.of(3, hot, ""), IsEmpty());
}

TEST(GpuNews, SaysThatAPowerLimitIsNormal) {
  GpuNews news;
  const auto full = gpus_of({used(1, 700, 1700, only(GpuSlowdown::power_cap), 9)});
  EXPECT_THAT(news.of(1, full, ""), ElementsAre(AllOf(HasSubstr("at full load a power limit"),
                                                      Not(HasSubstr("cooling")))));
}

TEST(GpuNews, ReportsMissingReadings) {
  GpuUse silent;
  silent.unanswered = 31;
  EXPECT_THAT(GpuNews().of(1, gpus_of({used(1, 1, 1), silent}), ""),
              ElementsAre(HasSubstr("rank 1 on n0, GPU 0000:0f:00.0: its use is not known: no "
                                    "answer for 31 s; training continues")));
  GpuUse failed;
  failed.failed = 1;
  EXPECT_THAT(GpuNews().of(1, gpus_of({failed, failed}), "libnvidia-ml.so.1 is not here"),
              ElementsAre(HasSubstr("not known: libnvidia-ml.so.1 is not here; 1 more alike")));
}

}  // namespace
}  // namespace dllaunch
