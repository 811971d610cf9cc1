#include "launcher/monitor/run_status.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "launcher/postmortem/finalize.hpp"
#include "launcher/run/journal.hpp"
#include "support/json.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

class RunStatusTest : public testing::Test {
 protected:
  RunStatusView status(const std::string& path, const std::string& queue) {
    auto run = read_stored_run(place_.system, path);
    EXPECT_TRUE(run);
    const auto next = command_to_go_on(place_.system, run->dir);
    const Queue jobs{.answered = true, .jobs = parse_queue(queue)};
    const auto now = static_cast<double>(std::time(nullptr));
    auto view = status_of(run_state_of(*std::move(run), jobs, now), now + 100);
    view.next = next;
    return view;
  }
  std::string shown(const std::string& path, const std::string& queue) {
    std::string text = render_status(status(path, queue));
    for (auto at = text.find(path); at != std::string::npos; at = text.find(path))
      text.replace(at, path.size(), "RUN");
    return text;
  }

  RunPlace place_;
};

TEST_F(RunStatusTest, ARunningRun) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  place_.append(path, "out/rank-0001-n1.log", "step 12\n");
  const auto text = shown(path, "7|RUNNING|N/A|1:05|n[1-2]|None\n");
  EXPECT_EQ(text.substr(0, text.find("quiet for")),
            "sleepy: running, 1:05 on n[1-2]\n"
            "  run         RUN\n"
            "  job         7\n"
            "  ranks       4 on 2 nodes\n"
            "  progress    step 12\n"
            "  logs        out/rank-0001-n1.log  8 B, ");
  EXPECT_NE(text.find("  follow      dllaunch logs -f RUN\n"
                      "  attach      dllaunch run RUN\n"
                      "  cancel      dllaunch cancel RUN\n"),
            std::string::npos)
      << text;
}

TEST_F(RunStatusTest, RanksThatEndedWhileOthersGoOnAreNamed) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  for (const char* folder : {"/.lease", "/ranks"}) std::filesystem::create_directory(path + folder);
  place_.append(path, ".lease/3", "");
  place_.append(path, "ranks/n1.jsonl",
                R"({"time": 1, "rank": 0, "generation": 3, "ranks": 2})"
                "\n"
                R"({"time": 1, "rank": 1, "generation": 3, "ranks": 2})"
                "\n"
                R"({"time": 9, "rank": 1, "generation": 3, "exit_code": 0})"
                "\n");
  place_.append(path, "out/rank-0000-n1.log",
                "srun: Job 7 step creation still disabled, retrying (Requested nodes are busy)\n");
  const auto text = shown(path, "7|RUNNING|N/A|1:05|n[1-2]|None\n");
  EXPECT_NE(text.find("srun of rank 0 on n1 waits for CPUs that the ranks of the job hold: srun "
                      "--overlap"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("rank 1 on n1 ended with exit code 0 at "), std::string::npos) << text;
  EXPECT_NE(text.find("; rank 0 has not ended\n"), std::string::npos) << text;
}

TEST_F(RunStatusTest, SpareNodesAreSaid) {
  RunStatusView status;
  status.run_state.run.plan.nodes = 2;
  status.run_state.run.plan.ranks_per_node = 2;
  status.run_state.run.plan.recovery.spare_nodes = 1;
  EXPECT_NE(render_status(status).find("  ranks       4 on 2 nodes + 1 spare\n"),
            std::string::npos);
}

TEST_F(RunStatusTest, AnElasticRunSaysTheRanksThatThereAre) {
  RunStatusView status;
  auto& plan = status.run_state.run.plan;
  plan.nodes = 4;
  plan.ranks_per_node = 2;
  plan.recovery.min_nodes = 2;
  const auto says = [&status](const char* words) {
    return render_status(status).find(words) != std::string::npos;
  };
  EXPECT_TRUE(says("  ranks       8 on 4 nodes, at least 2\n"));
  EXPECT_FALSE(to_json(status).contains("ranks_now"));
  status.run_state.sizes = {4, 3};
  EXPECT_TRUE(says("  ranks       6 on 3 of 4 nodes, at least 2\n"));
  EXPECT_EQ(to_json(status)["ranks_now"], 6);
  EXPECT_EQ(to_json(status)["nodes_now"], 3);
}

TEST_F(RunStatusTest, APendingOneSaysWhyAndUntilWhen) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  const auto text = shown(path, "7|PENDING|2026-11-20T20:07:21|0:00||Priority\n");
  EXPECT_EQ(text.substr(0, text.find("  run ")),
            "sleepy: pending: jobs with higher priority are ahead (Priority), expected to start "
            "2026-11-20T20:07:21\n");
}

TEST_F(RunStatusTest, AFailedOneSaysWhy) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  place_.append(path, "summary.json",
                R"({"status":"failed","seconds":60,"reason":"rank 3 died","first_error":"boom"})");
  const auto text = shown(path, "");
  EXPECT_EQ(text.substr(0, text.find("  run ")),
            "sleepy: failed, 1:00\n"
            "  first error boom\n"
            "  why         rank 3 died\n");
  EXPECT_NE(text.find("  next        dllaunch run RUN   starts the program again\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(to_json(status(path, ""))["reason"], "rank 3 died");
}

TEST_F(RunStatusTest, AnArrayShowsItsTasks) {
  const auto path = place_.store({.folder = "r", .job_id = "7", .array = "0-3%1"});
  const auto text = shown(path,
                          "7_[2-3%1]|PENDING|N/A|0:00||JobArrayTaskLimit\n"
                          "7_1|RUNNING|N/A|0:05|n1|None\n");
  EXPECT_NE(text.find("  tasks       [2-3%1] pending: "), std::string::npos) << text;
  EXPECT_NE(text.find("              1 running on n1\n"), std::string::npos) << text;
}

TEST_F(RunStatusTest, WhatTheSupervisorDidLastHasALine) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  const char* queue = "7|RUNNING|N/A|1:05|n[1-2]|None\n";
  EXPECT_EQ(shown(path, queue).find("supervisor"), std::string::npos);
  const RunDir run{.path = path};
  const double now = 9e9;
  for (int start = 0; start < 2; ++start)
    ASSERT_TRUE(append_to_journal(run, line_of(JournalAttempt{.time = now, .job = "7"})));
  ASSERT_TRUE(append_to_journal(
      run, line_of(JournalDecision{.time = now,
                                   .job = "7",
                                   .next = Next::restart,
                                   .reason = "rank 1 on n2 was killed; restart 1 of 3"},
                   1.0)));
  const auto text = shown(path, queue);
  EXPECT_NE(text.find("  supervisor  restarted at "), std::string::npos) << text;
  EXPECT_NE(text.find(": rank 1 on n2 was killed; restart 1 of 3\n  restarts    1\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(to_json(status(path, queue))["restarts"], 1);
}

TEST_F(RunStatusTest, WhatARunningRunWaitsForComesFirst) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  place_.append(path, "supervisor.jsonl",
                line_of(JournalWait{.time = 2e10, .job = "7", .reason = "node n2 is dark"}));
  EXPECT_NE(shown(path, "7|RUNNING|N/A|1:05|n[1-2]|None\n").find("  supervisor  waits since "),
            std::string::npos);
  EXPECT_EQ(status(path, "7|PENDING|N/A|0:00||Priority\n").supervisor, "")
      << "it was requeued meanwhile";
}

constexpr const char* two_lives =
    R"({"time":9e9,"event":"start","epochs":3,"generation":1}
{"time":9000000010,"event":"step","epoch":1,"step":10,"generation":1}
{"time":9000000011,"event":"epoch","epoch":1,"val_accuracy":0.5,"step":10,"generation":1}
{"time":9000000021,"event":"step","epoch":2,"step":20,"generation":1}
{"time":9000000022,"event":"epoch","epoch":2,"val_accuracy":0.75,"step":20,"generation":1}
{"time":9000000030,"event":"restart","reason":"rank 1 was killed","generation":2}
{"time":9000000031,"event":"start","epochs":3,"generation":2}
{"time":9000000031,"event":"restart","reason":"resume","from":"c","step":12,"generation":2}
{"time":9000000032,"event":"step","epoch":3,"step":25,"generation":1}
{"time":9000000035,"event":"step","epoch":2,"step":13,"generation":2}
{"time":9000000040,"event":"end","status":"completed","generation":1}
)";

TEST_F(RunStatusTest, OfAStallThatIsOverTheStacksHaveNoLine) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  std::filesystem::create_directories(path + "/autopsy");
  const auto now = static_cast<double>(std::time(nullptr)) + 1;  // not before its start
  place_.append(path, "autopsy/20261127-075900.txt", "tree");
  const auto keep = [&](const char* kind) {
    std::filesystem::remove(path + "/autopsy/20261127-075900.json");
    place_.append(
        path, "autopsy/20261127-075900.json",
        Json{{"time", now}, {"kind", kind}, {"reason", "why"}, {"sentence", "rank 2 is"}}.dump());
  };
  const auto event = [&](const char* state) {
    place_.append(
        path, "events.jsonl",
        Json{{"time", now}, {"event", "stall"}, {"state", state}, {"line", "x"}}.dump() + "\n");
  };
  const std::string queue = "7|RUNNING|N/A|1:05|n[1-2]|None\n";
  const char* shown = "rank 2 is (why): autopsy/20261127-075900.txt";
  keep("stall");
  event("late");
  EXPECT_EQ(status(path, queue).stacks, shown);
  event("over");
  EXPECT_EQ(status(path, queue).stacks, "");
  keep("hang");
  EXPECT_EQ(status(path, queue).stacks, shown);
}

TEST_F(RunStatusTest, OfARestartedRunGoodputAndRestartsHaveALineEach) {
  const auto path = place_.store({.folder = "r", .job_id = "7", .trains = true});
  place_.append(path, "events.jsonl", two_lives);
  const auto text = shown(path, "7|RUNNING|N/A|0:35|n[1-2]|None\n");
  EXPECT_NE(text.find("  progress    epoch 2/3 step 13 val_accuracy 0.5000\n"
                      "  goodput     46 % so far, 0:16 of training steps; 8 steps lost, 0:08\n"
                      "  restarts    rank 1 was killed; from step 12, 8 steps lost, down 13.0 s\n"),
            std::string::npos)
      << text;
  const auto json = to_json(status(path, "7|RUNNING|N/A|0:35|n[1-2]|None\n"));
  EXPECT_EQ(json["restarts"], 1);
  EXPECT_EQ(json["lost_steps"], 8);
  EXPECT_NEAR(json["goodput"].get<double>(), 16.0 / 35, 1e-6);
  EXPECT_EQ(json["restart_list"][0]["reason"], "rank 1 was killed");
  EXPECT_EQ(json["step"], 13);
}

TEST_F(RunStatusTest, OfManyRestartsTheLastAreShown) {
  const auto path = place_.store({.folder = "r", .job_id = "7", .trains = true});
  for (int life = 1; life <= 12; ++life) {
    place_.append(path, "events.jsonl",
                  R"({"time":9e9,"event":"restart","reason":"why )" + std::to_string(life) +
                      "\"}\n" + R"({"time":9e9,"event":"start"})" + "\n");
  }
  const auto text = shown(path, "7|RUNNING|N/A|0:35|n1|None\n");
  EXPECT_NE(text.find("  restarts    11; the latest:\n"
                      "              why 5; from the beginning, 0 steps lost\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("              why 12; "), std::string::npos) << text;
}

TEST_F(RunStatusTest, OfARunThatIsOverTheGoodputIsItsSummarys) {
  const auto path = place_.store({.folder = "r", .job_id = "7", .trains = true});
  place_.append(path, "events.jsonl", two_lives);
  place_.append(path, "summary.json", R"({"status":"completed","seconds":60,"goodput":0.25})");
  EXPECT_NE(shown(path, "").find("  goodput     25 %, 0:16 of training steps; 8 steps lost"),
            std::string::npos)
      << shown(path, "");
}

TEST_F(RunStatusTest, ManyLogsAreCounted) {
  const auto path = place_.store({.folder = "r", .status = "completed"});
  for (int i = 10; i < 40; ++i)
    place_.append(path, "out/rank-00" + std::to_string(i) + "-vm.log", "x\n");
  const auto text = shown(path, "");
  EXPECT_NE(text.find("and 22 more; quiet for longest: out/rank-00"), std::string::npos) << text;
  EXPECT_EQ(to_json(status(path, ""))["logs"].size(), 30u);
}

}  // namespace
}  // namespace dllaunch
