#include "launcher/monitor/run_report.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "launcher/run/journal.hpp"
#include "support/json.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

StoredRun finished_run() {
  StoredRun run;
  run.dir.path = "/runs/x";
  run.summary = Json::parse(
      R"({"status":"failed","seconds":61.25,"ranks":2,"epochs":3,"images_per_s":12345.6,
          "val_accuracy":null,"goodput":0.91,"reason":"rank 1 on n1 exited with code 1"})");
  return run;
}

constexpr const char* two_ranks =
    R"({"time":9,"event":"ranks","epoch":2,"steps":50,"ranks":2,"quantiles":[0,0.05,0.5,0.95,1],
"seconds":{"data":[1,1,1,1,2]},"slowest":[
{"rank":1,"host":"n1","data":0.5,"forward":10,"backward":20.25,"update":1,"between":0.1,
"communication":0.3,"waiting":0.01,"delayed":6.5},
{"rank":0,"host":"n0","data":0.4,"forward":8,"backward":14,"update":1,"between":0.1,
"communication":0.3,"waiting":6.5,"delayed":0.01}],
"stragglers":[],"stragglers_total":1,"notes":["rank 1 on n1: computes 1.36 x the median"]})";

TEST(RunReport, TellsSummaryAndRanks) {
  EXPECT_EQ(render_run_report(finished_run(), {}, Json::parse(two_ranks)),
            R"(/runs/x
  failed, 2 ranks, 3 epochs, 61.2 s, 12,346 images/s, goodput 91 %
  rank 1 on n1 exited with code 1

seconds of epoch 2 on 2 ranks
                             data  forward  backward   update  between     comm  waiting  waited for
  rank 1 on n1              0.500   10.000    20.250    1.000    0.100    0.300    0.010       6.500
  rank 0 on n0              0.400    8.000    14.000    1.000    0.100    0.300    6.500       0.010
  rank 1 on n1: computes 1.36 x the median
)");
}

TEST(RunReport, OfTokensTellsTheirRateAndThePerplexity) {
  auto run = finished_run();
  run.summary.update(Json::parse(R"({"tokens_per_s":98765.4,"val_perplexity":21.25})"));
  EXPECT_NE(render_run_report(run, {}, {})
                .find("61.2 s, val_perplexity 21.25, 98,765 tokens/s, goodput 91 %"),
            std::string::npos);
}

TEST(RunReport, TellsWhatItCost) {
  auto run = finished_run();
  run.summary.update(Json::parse(
      R"({"core_hours":0.5,"gpu_hours":null,"peak_memory_bytes":1610612736,
          "peak_memory_by_rank":[1,1610612736],"energy_joules":null,
          "wasted":{"seconds":3,"core_hours":0.25,"gpu_hours":null}})"));
  const auto text = render_run_report(run, {}, {});
  EXPECT_NE(text.find("\n  core-hours 0.5, GPU-hours unknown, peak memory of a rank 1.50 GiB (rank "
                      "1), energy unknown, wasted by interruptions 3.0 s, 0.25 core-hours\n"),
            std::string::npos)
      << text;
}

TEST(RunReport, TellsWhatARunningRunHasCostSoFar) {
  StoredRun run;
  run.dir.path = "/runs/x";
  const Json so_far = {{"core_hours", 0.5}, {"gpu_hours", nullptr}, {"submissions", 2}};
  EXPECT_EQ(render_run_report(run, {}, {}, so_far),
            "/runs/x\n  no summary yet; see dllaunch status\n"
            "  so far: core-hours 0.5 in 2 submissions, GPU-hours unknown\n");
}

TEST(RunReport, OnlyARunningRunHasACostSoFar) {
  const TemporaryFolder folder;
  FakeSystem system;
  RunState one{.run = {.dir = {.path = folder.path()}, .plan = {}, .summary = {}},
               .state = "running",
               .seconds = 900};
  one.run.plan.occupies = {.cores = 4, .gpus = 0};
  EXPECT_EQ(cost_so_far(system, one),
            Json({{"core_hours", 1.0}, {"gpu_hours", 0.0}, {"submissions", 1}}));
  one.seconds.reset();
  EXPECT_TRUE(cost_so_far(system, one)["core_hours"].is_null()) << "nothing tells how long";
  one.seconds = 900;
  one.run.summary = {{"status", "completed"}};
  EXPECT_TRUE(cost_so_far(system, one).is_null());
  one.run.summary = {};
  for (const char* state : {"pending", "died", "ended", "unknown"}) {
    one.state = state;
    EXPECT_TRUE(cost_so_far(system, one).is_null()) << state;
  }
}

TEST(RunReport, OneIsSingular) {
  auto run = finished_run();
  run.summary["ranks"] = 1;
  run.summary["epochs"] = 1;
  const auto text = render_run_report(run, {}, {{"epoch", 1}, {"ranks", 1}});
  EXPECT_NE(text.find("  failed, 1 rank, 1 epoch, 61.2 s"), std::string::npos) << text;
  EXPECT_NE(text.find("seconds of epoch 1 on 1 rank\n"), std::string::npos) << text;
}

TEST(RunReport, TellsJobsAndNodes) {
  const TemporaryFolder folder;
  StoredRun run;
  run.dir.path = folder.path();
  std::filesystem::create_directory(run.dir.out());
  for (const char* log : {"rank-0000-n1.log", "rank-0001-n2.log"})
    std::ofstream(run.dir.out() + "/" + log) << "hello\n";
  const auto shown = [&] {
    const auto text = render_run_report(run, places_of(run), Json());
    return text.substr(text.find('\n') + 1);
  };
  EXPECT_EQ(shown(), "  on n[1-2]\n  no summary yet; see dllaunch status\n");
  run.job_id = "9";
  EXPECT_TRUE(shown().starts_with("  Slurm job 9 on n[1-2]\n")) << shown();
  for (const char* job : {"7", "7", "9"})
    ASSERT_TRUE(append_to_journal(run.dir, line_of(JournalAttempt{.time = 1, .job = job})));
  EXPECT_TRUE(shown().starts_with("  Slurm jobs 7, 9 on n[1-2]\n")) << shown();
}

TEST(RunReport, TellsHowManyRanksAnElasticRunHad) {
  const TemporaryFolder folder;
  auto run = finished_run();
  run.dir.path = folder.path();
  run.job_id = "9";
  run.plan.nodes = 2;
  run.plan.recovery.min_nodes = 1;
  run.summary["planned_ranks"] = 3;
  for (const int nodes : {2, 1})
    ASSERT_TRUE(append_to_journal(
        run.dir, line_of(JournalAttempt{.time = 1, .job = "9", .nodes = nodes, .held = nodes})));
  const auto text = render_run_report(run, places_of(run), Json());
  EXPECT_NE(text.find("\n  ranks 2, then 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("failed, 2 of 3 ranks, 3 epochs"), std::string::npos) << text;
}

TEST(RunReport, SaysWhetherThroughputHasTheFirstEpoch) {
  auto run = finished_run();
  run.summary["first_epoch_excluded"] = true;
  EXPECT_NE(
      render_run_report(run, {}, Json()).find("12,346 images/s (first epoch excluded), goodput"),
      std::string::npos);
  run.summary["first_epoch_excluded"] = false;
  EXPECT_NE(
      render_run_report(run, {}, Json()).find("12,346 images/s (first epoch included), goodput"),
      std::string::npos);
}

TEST(RunReport, OfManyRanksTellsQuantilesAndTheSlowest) {
  auto ranks = Json::parse(two_ranks);
  ranks["ranks"] = 4000;
  ranks["notes"] = Json::array();
  const auto text = render_run_report(finished_run(), {}, ranks);
  EXPECT_NE(text.find("  median                    1.000  "), std::string::npos) << text;
  EXPECT_NE(text.find("  most                      2.000  "), std::string::npos);
  EXPECT_NE(text.find("no rank held up the others"), std::string::npos);
}

TEST(RunReport, MissesNothingThatIsMissing) {
  StoredRun run;
  run.dir.path = "/runs/y";
  EXPECT_EQ(render_run_report(run, {}, Json()), "/runs/y\n  no summary yet; see dllaunch status\n");
  for (const char* odd : {"[]", "{}", "{\"slowest\":3,\"notes\":7,\"seconds\":[]}",
                          "{\"slowest\":[1,null],\"notes\":[null],\"epoch\":\"x\",\"ranks\":2}"}) {
    EXPECT_TRUE(render_run_report(run, {}, Json::parse(odd)).starts_with("/runs/y\n"));
  }
}

TEST(RunReport, TakesTheLastEventOfRanks) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  EXPECT_TRUE(last_ranks_event(path).is_null());
  std::ofstream(path) << R"({"time":1,"event":"ranks","epoch":1})"
                      << "\n"
                      << R"({"time":2,"event":"ranks","epoch":2})"
                      << "\n"
                      << R"({"time":3,"event":"step","epoch":3})"
                      << "\n";
  EXPECT_EQ(last_ranks_event(path)["epoch"], 2);
  // Being written.
  std::ofstream(path, std::ios::app) << R"({"time":2,"event":"ranks","epo)";
  EXPECT_EQ(last_ranks_event(path)["epoch"], 2);
}

TEST(RunReport, APipeIsNotWaitedFor) {
  const TemporaryFolder folder;
  const auto path = folder.path() + "/events.jsonl";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(last_ranks_event(path).is_null());
}

TEST(RunReport, TakesTheLastEventOfRanksThatCounts) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  std::ofstream(path) << R"({"time":1,"event":"start","generation":1}
{"time":2,"event":"step","epoch":1,"step":7,"generation":1}
{"time":2,"event":"ranks","epoch":1,"generation":1}
{"time":3,"event":"step","epoch":2,"step":14,"generation":1}
{"time":3,"event":"ranks","epoch":2,"generation":1}
)";
  EXPECT_EQ(last_ranks_event(path)["epoch"], 2);
  std::ofstream(path, std::ios::app) << R"({"time":4,"event":"start","generation":2}
{"time":4,"event":"restart","reason":"resume","step":7,"generation":2}
{"time":5,"event":"ranks","epoch":3,"generation":1}
)";
  EXPECT_EQ(last_ranks_event(path)["epoch"], 1)
      << "the second epoch was lost, the third is an orphan's";
}

}  // namespace
}  // namespace dllaunch
