#include "launcher/queue/past_estimates.hpp"

#include <gtest/gtest.h>

#include "support/json_fields.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

TEST(PastEstimates, ComeBackFromTheRunsKnownHere) {
  RunPlace place;
  const auto late = place.store({.folder = "late", .job_id = "5"});
  const auto waits = place.store({.folder = "waits", .job_id = "6"});
  const auto plain = place.store({.folder = "plain", .job_id = "7"});
  const auto broken = place.store({.folder = "broken", .job_id = "8"});
  ASSERT_TRUE(keep_estimate({.path = late}, {.made_s = 1000, .start_s = 2000, .shape = "x"}));
  ASSERT_TRUE(keep_estimate({.path = waits}, {.made_s = 1000, .start_s = 2000}));
  place.append(late, "supervisor.jsonl",
               "{\"time\": 2720.5, \"event\": \"attempt\"}\n{\"time\": 9}\n");
  place.append(plain, "supervisor.jsonl", "{\"time\": 2720.5, \"event\": \"attempt\"}\n");
  const auto absurd = place.store({.folder = "absurd", .job_id = "9"});
  ASSERT_TRUE(keep_estimate({.path = absurd}, {.made_s = 1000, .start_s = 1e300}));
  place.append(absurd, "supervisor.jsonl", "{\"time\": 2720.5, \"event\": \"attempt\"}\n");
  place.append(broken, "estimate.json", "{\"made\": \"?\", \"start\": []}");
  place.append(broken, "supervisor.jsonl", "garbage");
  const auto past = past_estimates(place.system);
  ASSERT_EQ(past.size(), 1u) << "only what was estimated and has started";
  EXPECT_EQ(past[0].estimated_s, 2000);
  EXPECT_EQ(past[0].started_s, 2720.5);
}

TEST(PastEstimates, RecordRoundTrips) {
  const StartRecord record{.made_s = 1,
                           .start_s = 2,
                           .finish_s = 3,
                           .slurm_s = 4,
                           .by_backfill = true,
                           .shape = "2 nodes"};
  EXPECT_EQ(to_json(start_record_from(to_json(record))), to_json(record));
  EXPECT_EQ(start_record_from(Json(7)).start_s, 0);
}

TEST(PastEstimates, AreWorthTheirMedianError) {
  EXPECT_NE(words_of(worth_of({})).find("not known"), std::string::npos);
  const auto worth = worth_of({{.made_s = 0, .estimated_s = 1000, .started_s = 1000 - 720},
                               {.made_s = 0, .estimated_s = 1000, .started_s = 1030},
                               {.made_s = 0, .estimated_s = 1000, .started_s = 1000 + 1500}});
  EXPECT_EQ(worth.runs, 3);
  EXPECT_EQ(worth.earlier, 1);
  EXPECT_EQ(worth.later, 1) << "half a minute is no error";
  EXPECT_EQ(
      words_of(worth),
      "start estimates here were off by a median of 12 min over 3 runs, at most by 25 min; "
      "1 started earlier than estimated, 1 later; start times above are not corrected for this");
}

}  // namespace
}  // namespace dllaunch
