#include "launcher/failures/past_run.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// Ten steps of 10 s, lost node; 60 s later, after 20 s in the queue, four of them again and ten
/// more.
void write_interrupted(RunPlace& place, const std::string& path, double begin) {
  std::string events;
  const auto add = [&](double time, const std::string& rest) {
    events += fmt::format("{{\"time\": {:.1f}, {}}}\n", begin + time, rest);
  };
  add(0, R"("event": "start", "generation": 1)");
  for (int step = 1; step <= 10; ++step)
    add(10 * step, fmt::format(R"("event": "step", "step": {}, "generation": 1)", step));
  add(155, R"("event": "restart", "reason": "lost node n2", "from": null, "queue_seconds": 20, )"
           R"("generation": 2)");
  add(155, R"("event": "start", "generation": 2)");
  add(160, R"("event": "restart", "reason": "resume", "from": "c", "step": 6, "generation": 2)");
  for (int step = 7; step <= 20; ++step)
    add(160 + 10 * (step - 6),
        fmt::format(R"("event": "step", "step": {}, "generation": 2)", step));
  place.append(path, "events.jsonl", events);
  std::string journal;
  const auto note = [&](double time, int allocation, const std::string& rest) {
    journal += fmt::format("{{\"time\": {:.1f}, \"job\": \"7\", \"allocation\": {}, {}}}\n",
                           begin + time, allocation, rest);
  };
  note(-10, 0, R"("event": "attempt", "attempt": 1)");
  note(130, 0, R"("event": "ended", "cause": "lost_node", "detail": "n2")");
  note(150, 1, R"("event": "attempt", "attempt": 1)");
  note(300, 1, R"("event": "ended", "cause": "completed")");
  place.append(path, "supervisor.jsonl", journal);
}

TEST(PastRun, IsWhatItsRecordsTell) {
  RunPlace place;
  const auto path = place.store({.folder = "r", .job_id = "7", .trains = true});
  auto run = read_stored_run(place.system, path);
  ASSERT_TRUE(run);
  write_interrupted(place, path, run->began_at_s + 1);
  run->summary = {{"seconds", 360}};  // Slurm took a minute to end the job
  const auto past = read_past_run(*run);
  EXPECT_EQ(past.interruptions, 1);
  EXPECT_DOUBLE_EQ(past.work_s.value(), 200) << "20 steps";
  EXPECT_NEAR(past.elapsed_s.value(), 310, 0.2) << "with the launch and the queue";
  EXPECT_DOUBLE_EQ(past.lost_s, 40);
  EXPECT_EQ(past.requeues, 1);
  EXPECT_DOUBLE_EQ(past.queue_s, 20);
  EXPECT_FALSE(past.restart_s) << "none in the same allocation";
  EXPECT_DOUBLE_EQ(past.requeue_s.value(), 70) << "from step 10 to the next step";
  EXPECT_NEAR(past.effective().value(), 200.0 / 310, 0.001);
  const auto text = render_past_run(past, nullptr);
  EXPECT_THAT(text,
              HasSubstr("failures     1 interruption, effective training time 64.5 %: lost 40 s,"));
}

TEST(PastRun, WhatItMetIsWhatFailuresCost) {
  const FailureCosts otherwise{.save_s = 7, .detect_s = 1, .restart_s = 2, .queue_s = 3};
  const auto met = costs_met({.restart_s = 25, .requeue_s = 1500}, otherwise);
  EXPECT_EQ(met.save_s, 7) << "no record tells it";
  EXPECT_EQ(met.restart_s, 25);
  EXPECT_EQ(met.detect_s + met.node_down_s, 0) << "in the restart";
  EXPECT_EQ(met.queue_s, 1500);
  const auto queued = costs_met({.requeue_s = 1500}, otherwise);
  EXPECT_EQ(queued.restart_s, 2) << "of those in the allocation, which it did not meet";
  EXPECT_EQ(queued.node_down_s, 300);
  EXPECT_EQ(queued.queue_s, 1198) << "the rest: no second is counted twice";
  const auto quick = costs_met({.requeue_s = 52}, otherwise);
  EXPECT_EQ(quick.restart_s + quick.node_down_s, 52);
  EXPECT_EQ(quick.queue_s, 0);
  EXPECT_EQ(costs_met({}, otherwise).restart_s, 2);
  EXPECT_EQ(costs_met({}, otherwise).queue_s, 3);
}

/// The attempt on a node that was lost with the script has no end in the journal.
TEST(PastRun, WhatEndedWithTheScriptsNodeCounts) {
  RunPlace place;
  const auto path = place.store({.folder = "r", .job_id = "7"});
  const auto run = read_stored_run(place.system, path);
  ASSERT_TRUE(run);
  const auto begin = [&](int allocation) {
    place.append(path, "supervisor.jsonl",
                 fmt::format("{{\"time\": {}, \"event\": \"attempt\", \"job\": \"7\", "
                             "\"allocation\": {}, \"attempt\": 1}}\n",
                             100 + allocation, allocation));
  };
  begin(0);
  EXPECT_EQ(read_past_run(*run).interruptions, 0) << "it runs";
  begin(1);
  EXPECT_EQ(read_past_run(*run).interruptions, 1);
}

TEST(PastRun, WhatWentBackForCorruptedDataCounts) {
  RunPlace place;
  const auto path = place.store({.folder = "r", .job_id = "7"});
  const auto run = read_stored_run(place.system, path);
  ASSERT_TRUE(run);
  std::string journal;
  for (const char* cause : {"corrupted", "completed"})
    journal += fmt::format(
        R"({{"time": 100, "event": "attempt", "job": "7", "allocation": 0, "attempt": 1}}
{{"time": 110, "event": "ended", "job": "7", "allocation": 0, "cause": "{}"}}
)",
        cause);
  place.append(path, "supervisor.jsonl", journal);
  EXPECT_EQ(read_past_run(*run).interruptions, 1);
}

TEST(PastRun, IsComparedWithAForecast) {
  const PastRun past{.interruptions = 1, .work_s = 200, .elapsed_s = 300, .lost_s = 40};
  const auto forecast =
      forecast_failures({.node_mtbf_s = 1e4, .source = "seen"}, {.nodes = 2, .interval_s = 50},
                        {.save_s = 0, .restart_s = 5, .queue_s = 20}, 200);
  const auto text = render_past_run(past, &forecast);
  EXPECT_THAT(text, HasSubstr("forecast "));
  EXPECT_THAT(text, HasSubstr(": it was worse\n               than 9 of 10 simulated runs"));
  const auto json = to_json(past, &forecast);
  EXPECT_EQ(json.at("interruptions"), 1);
  EXPECT_TRUE(json.at("forecast").at("this_job").at("finish").is_null()) << "it is over";
}

TEST(PastRun, OfACommandTheTimesAreUnknown) {
  RunPlace place;
  const auto path = place.store({.folder = "r", .job_id = "7"});
  const auto run = read_stored_run(place.system, path);
  ASSERT_TRUE(run);
  EXPECT_EQ(render_past_run(read_past_run(*run), nullptr), "");
  EXPECT_TRUE(to_json(read_past_run(*run), nullptr).is_null());
  write_interrupted(place, path, run->began_at_s + 1);
  const auto past = read_past_run(*run);
  EXPECT_EQ(past.interruptions, 1);
  EXPECT_FALSE(past.effective());
  EXPECT_EQ(render_past_run(past, nullptr), "  failures     1 interruption\n");
}

}  // namespace
}  // namespace dllaunch
