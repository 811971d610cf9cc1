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

}  // namespace
}  // namespace dllaunch
