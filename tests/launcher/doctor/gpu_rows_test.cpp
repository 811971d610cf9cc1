#include "launcher/doctor/gpu_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "launcher/doctor/report.hpp"
#include "tests/runtime/gpu/sensors/fake_sensors.hpp"
#include "tests/topology/discovery/damage.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Optional;

Gpu gpu_at(const std::string& pci, int index, const std::string& vendor = "nvidia") {
  return {.index = index, .name = "Fake GPU", .vendor = vendor, .pci = pci};
}

Topology two_gpus() {
  Topology node;
  node.gpus = {gpu_at("0000:07:00.0", 0), gpu_at("0000:0f:00.0", 1)};
  return node;
}

TEST(GpuRows, AreWhatTheSensorsTell) {
  const FakeSensors fault("hot");
  const auto rows = read_gpu_rows(two_gpus(), "n1", fake_libraries());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].pci, "0000:0f:00.0");
  EXPECT_EQ(rows[1].host, "n1");
  EXPECT_THAT(rows[0].reading.power_w, Optional(412.5));
  EXPECT_THAT(rows[0].reading.memory_total_bytes, Optional(80ULL << 30));
  EXPECT_EQ(to_string(*rows[1].reading.slowdowns), "thermal, hardware");
  const auto page = render_gpus(rows, false);
  EXPECT_EQ(page,
            "GPU             HOST  NAME      BUSY  MEMORY           POWER         "
            "CLOCK             TEMP  SLOWED BY          ECC ERRORS\n"
            "1 0000:0f:00.0  n1    Fake GPU  50 %  0.5 of 80.0 GiB  300 of 700 W  "
            "660 of 1980 MHz   91 C  thermal, hardware  0\n"
            "0 0000:07:00.0  n1    Fake GPU  75 %  0.5 of 80.0 GiB  412 of 700 W  "
            "1755 of 1980 MHz  54 C  no                 0\n"
            "\n");
}

TEST(GpuRows, OfBothVendorsAndOncePerDevice) {
  Topology node = two_gpus();
  node.gpus.push_back(gpu_at("0000:07:00.0", 2));  // a MIG instance
  node.gpus.push_back(gpu_at("0002:c1:00.0", 0, "amd"));
  node.gpus.push_back(gpu_at("0000:55:00.0", 0, "intel"));
  const auto rows = read_gpu_rows(node, "n1", fake_libraries());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[2].reading.power_w, Optional(310.0));
}

TEST(GpuRows, SayWhatIsWrongWithTheDriver) {
  auto libraries = fake_libraries();
  libraries.deadline = std::chrono::milliseconds(500);
  for (const std::string behaviour : {"hang", "lost"}) {
    const FakeSensors fault(behaviour.c_str());
    const auto rows = read_gpu_rows(two_gpus(), "n1", libraries);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_NE(rows[1].reading.trouble, "") << behaviour;
    EXPECT_THAT(render_gpus(rows, false), HasSubstr(rows[1].reading.trouble));
    if (behaviour == "hang") continue;
    EXPECT_THAT(rows[1].reading.trouble, HasSubstr("GPU is lost"));
    EXPECT_EQ(rows[0].reading.trouble, "");
  }
}

TEST(GpuRows, NothingIsOpenedWithoutGpus) {
  const FakeSensors fault("hang");
  EXPECT_TRUE(read_gpu_rows(Topology{}, "n1", fake_libraries()).empty());
  EXPECT_EQ(render_gpus({}, true), "");
}

TEST(GpuRows, GoThroughJsonUnchanged) {
  for (const char* behaviour : {"", "hot", "old", "lost", "ecc"}) {
    const FakeSensors fault(behaviour);
    for (const auto& row : read_gpu_rows(two_gpus(), "n1", fake_libraries())) {
      const auto document = to_json(row);
      const auto back = gpu_row_from_json(Json::parse(document.dump()));
      ASSERT_TRUE(back);
      EXPECT_EQ(to_json(*back), document) << behaviour;
    }
  }
}

TEST(GpuRows, WhatIsNotToldIsNull) {
  const FakeSensors old("old");
  const auto row = to_json(read_gpu_rows(two_gpus(), "n1", fake_libraries())[0]);
  EXPECT_TRUE(row["utilisation"].is_null());
  EXPECT_TRUE(row["throttled"].is_null());
  EXPECT_TRUE(row["trouble"].is_null());
}

/// An answer of another node may be anything.
TEST(GpuRows, DamageIsRefusedOrReads) {
  const auto sound = to_json(read_gpu_rows(two_gpus(), "n1", fake_libraries())[0]).dump();
  with_damaged({sound}, 2000, 11, [](const std::string& damaged) {
    const auto document = Json::parse(damaged, nullptr, false);
    const auto row = gpu_row_from_json(document);
    if (!row) return;
    EXPECT_FALSE(to_json(*row).dump().empty()) << "dump() throws at what is no UTF-8";
    EXPECT_FALSE(render_gpus({*row}, false).empty());
  });
}

TEST(GpuRows, AreBoundedAndTheWorstComeFirst) {
  std::vector<GpuRow> rows;
  for (int i = 0; i < 800; ++i)
    rows.push_back({.host = "n" + std::to_string(i / 8), .index = i % 8, .pci = "0000:07:00.0"});
  rows[700].reading.ecc_errors = 3;
  const auto page = render_gpus(rows, false);
  EXPECT_LT(page.find("n87 "), page.find("n0 "));
  EXPECT_THAT(page, HasSubstr("and 784 more GPUs"));
  EXPECT_EQ(std::count(page.begin(), page.end(), '\n'), 19);
}

TEST(GpuRows, AreInTheReportOncePerNode) {
  Report report;
  report.hosts = {"n1"};
  report.gpus = read_gpu_rows(two_gpus(), "n1", fake_libraries());
  Report other = report;
  merge(report, other);
  EXPECT_EQ(report.gpus.size(), 2u) << "two steps on one node";
  for (auto& row : other.gpus) row.host = "n2";
  merge(report, other);
  EXPECT_EQ(report.gpus.size(), 4u);
  const auto document = to_json(report);
  EXPECT_EQ(document["gpus"].size(), 4u);
  const auto back = report_from_json(document);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(to_json(*back), document);
  EXPECT_THAT(render_report(*back, 100, false), HasSubstr("0000:0f:00.0  n2"));
  auto broken = document;
  broken["gpus"][0].erase("pci");
  EXPECT_FALSE(report_from_json(broken));
}

}  // namespace
}  // namespace dllaunch
