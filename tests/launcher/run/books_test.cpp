#include "launcher/run/books.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(RunBooks, AreKeysOfTheSummary) {
  Json summary = {{"status", "completed"}};
  add_json({.core_hours = 2,
            .peak_memory_bytes = 5,
            .peak_memory_source = "trainer",
            .peak_memory_by_rank = {5, std::nullopt},
            .wasted = {.seconds = 0}},
           summary);
  EXPECT_EQ(summary.dump(),
            R"({"status":"completed","core_hours":2.0,"gpu_hours":null,"peak_memory_bytes":5,)"
            R"("peak_memory_source":"trainer","peak_memory_by_rank":[5,null],)"
            R"("energy_joules":null,"energy_source":null,"energy_seconds":null,)"
            R"("wasted":{"seconds":0.0,"core_hours":null,"gpu_hours":null}})");
}

TEST(RunBooks, AreReadBack) {
  const Json written = {
      {"core_hours", 2.0},
      {"gpu_hours", nullptr},
      {"peak_memory_bytes", 5},
      {"peak_memory_source", "trainer"},
      {"peak_memory_by_rank", {5, nullptr}},
      {"energy_joules", 3.0},
      {"energy_source", "rapl+nvml"},
      {"energy_seconds", 4.0},
      {"wasted", {{"seconds", 1.0}, {"core_hours", 0.5}, {"gpu_hours", nullptr}}}};
  EXPECT_EQ(books_in(written), written);
}

TEST(RunBooks, OfASummaryAreItsKeysAndAlwaysOfOneShape) {
  const Json books =
      books_in({{"status", "failed"}, {"core_hours", 2.0}, {"wasted", {{"seconds", 1.0}}}});
  EXPECT_EQ(books["core_hours"], 2.0);
  EXPECT_EQ(books["wasted"]["seconds"], 1.0);
  EXPECT_TRUE(books["gpu_hours"].is_null());
  EXPECT_FALSE(books.contains("status"));
  EXPECT_TRUE(books_in(Json())["wasted"]["gpu_hours"].is_null()) << "of no summary";
}

}  // namespace
}  // namespace dllaunch
