#include "launcher/daemon/api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/json.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

class ApiTest : public testing::Test {
 protected:
  void SetUp() override {
    store_ = *Store::open(place_.path_of("store.db"), 1);
    snapshot_ = std::make_shared<Snapshot>();
    api_ = std::make_unique<Api>(place_.system, *store_,
                                 DaemonFacts{.began_s = 100, .host = "login1", .interval_s = 10},
                                 Api::Hooks{.snapshot = [this] { return snapshot_; },
                                            .wake = [this] { ++woken_; },
                                            .stop = [this] { ++stopped_; },
                                            .now_s = [] { return 200.0; },
                                            .answers = [this](const auto&) { return !away_; }});
  }
  RunRecord add(const std::string& name, bool over = false) {
    RunRecord run{.name = name, .job = "sleepy", .launcher = "slurm"};
    run.dir = place_.store({.folder = name, .job_id = "7", .trains = true});
    run.state = over ? "completed" : "running";
    run.over = over;
    run.id = *store_->save(run);
    return run;
  }
  ApiAnswer get(const std::string& path, std::map<std::string, std::string> query = {}) {
    return api_->answer({.method = "GET", .path = path, .query = std::move(query)});
  }
  Json json(const std::string& path, std::map<std::string, std::string> query = {}) {
    const auto answer = get(path, std::move(query));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return Json::parse(answer.body, nullptr, false);
  }
  int post(const std::string& path) {
    return api_->answer({.method = "POST", .path = path}).status;
  }

  RunPlace place_;
  std::unique_ptr<Store> store_;
  std::shared_ptr<Snapshot> snapshot_;
  std::unique_ptr<Api> api_;
  int woken_ = 0;
  int stopped_ = 0;
  bool away_ = false;  // the file system of the runs' folders
};

TEST_F(ApiTest, OfARunWhoseDirectoryHangsTheStoresWordIsTold) {
  add("r");
  away_ = true;
  const auto run = json("/v1/runs/r");
  EXPECT_EQ(run["state"], "running");
  EXPECT_EQ(run["files"], "the run's directory does not answer");
  EXPECT_FALSE(run.contains("status"));
  for (const char* part : {"curve", "report", "events", "logs", "logs/rank-0000-n1.log"})
    EXPECT_EQ(get(std::string("/v1/runs/r/") + part).status, 503) << part;
  EXPECT_EQ(post("/v1/runs/r/cancel"), 202) << "a wish needs no file";
}

TEST_F(ApiTest, TellsOfTheDaemon) {
  snapshot_->slurm = {.answers = false, .last_error = "silence", .questions = 4};
  const auto daemon = json("/v1/daemon");
  EXPECT_EQ(daemon["host"], "login1");
  EXPECT_EQ(daemon["uptime_seconds"], 100);
  EXPECT_EQ(daemon["slurm"]["last_error"], "silence");
  EXPECT_EQ(daemon["port"], nullptr);
}

TEST_F(ApiTest, ListsRunsNewestFirstAndWhatGoesOnAlways) {
  auto first = add("first");
  for (int i = 0; i < 5; ++i) add("r" + std::to_string(i), true);
  first.step = 42;
  snapshot_->live = {first};
  const auto page = json("/v1/runs", {{"limit", "2"}});
  ASSERT_EQ(page["runs"].size(), 3u);
  EXPECT_EQ(page["runs"][0]["run"], "r4");
  EXPECT_EQ(page["runs"][2]["run"], "first");
  EXPECT_EQ(page["runs"][2]["step"], 42);
  const auto rest = json("/v1/runs", {{"limit", "10"}, {"before", page["next"].dump()}});
  EXPECT_EQ(rest["runs"].size(), 4u);
  EXPECT_EQ(rest["next"], nullptr);
  for (const char* bad : {"0", "-1", "1001", "x", "99999999999999999999", ""})
    EXPECT_EQ(get("/v1/runs", {{"limit", bad}}).status, 400) << bad;
}

TEST_F(ApiTest, OneRunWithEverything) {
  const auto run = add("a");
  std::ofstream(run.dir + "/plan.json")
      << R"({"name": "sleepy", "launcher": "slurm", "nodes": 2, "ranks_per_node": 2,
             "binding": {"ranks": [{"local_rank": 0, "cpus": "0-3"}]}})";
  std::ofstream(run.dir + "/out/rank-0000-n1.log") << "hello";
  ASSERT_TRUE(store_->save(Submission{
      .token = "t", .run = run.id, .reason = "why", .state = SubmissionState::submitted}));
  for (const auto& name : {std::string("a"), std::to_string(run.id)}) {
    const auto shown = json("/v1/runs/" + name);
    EXPECT_EQ(shown["run"], "a");
    EXPECT_EQ(shown["binding"]["ranks"][0]["cpus"], "0-3");
    EXPECT_EQ(shown["status"]["ranks"], 4);
    EXPECT_EQ(shown["submitted"][0]["reason"], "why");
  }
  EXPECT_EQ(get("/v1/runs/a/logs/rank-0000-n1.log").body, "hello");
  EXPECT_EQ(json("/v1/runs/a/logs")["logs"][0], "rank-0000-n1.log");
  std::filesystem::rename(run.dir, run.dir + ".away");
  const auto away = json("/v1/runs/a");
  EXPECT_THAT(away["files"].get<std::string>(), HasSubstr("holds no run"));
}

TEST_F(ApiTest, PartsOfFiles) {
  const auto run = add("a");
  std::ofstream(run.dir + "/events.jsonl") << "{\"a\": 1}\n{\"b\": 2}\n";
  const auto part = get("/v1/runs/a/events", {{"from", "9"}});
  EXPECT_EQ(part.body, "{\"b\": 2}\n");
  EXPECT_THAT(part.headers, testing::Contains(testing::Pair("X-Next", "18")));
  EXPECT_EQ(get("/v1/runs/a/events", {{"from", "x"}}).status, 400);
  EXPECT_EQ(get("/v1/runs/a/events", {{"limit", "-1"}}).status, 400);
  for (const char* path :
       {"/v1/runs/a/logs/..", "/v1/runs/a/logs/../plan.json", "/v1/runs/a/logs/plan.json",
        "/v1/runs/a/logs//etc/passwd", "/v1/runs/../../etc/passwd", "/v1/runs/a/out",
        "/v1/runs/none", "/v1/runs/", "/v1", "/v2/runs", "/etc/passwd", "", "//", "/v1/runs/a/"})
    EXPECT_EQ(get(path).status, 404) << path;
}

TEST_F(ApiTest, ACurve) {
  const auto run = add("a");
  std::ofstream(run.dir + "/events.jsonl")
      << R"({"time": 1, "event": "step", "epoch": 1, "step": 3, "loss": 0.5})"
      << "\n"
      << R"({"time": 1, "event": "epoch", "epoch": 1, "val_accuracy": 0.25})"
      << "\n";
  const auto curve = json("/v1/runs/a/curve");
  EXPECT_EQ(curve["steps"].dump(), "[[3,0.5,null,null]]");
  EXPECT_EQ(curve["epochs"].dump(), "[[1,null,0.25]]");
  ASSERT_EQ(curve["charts"].size(), 1u) << "accuracy: of one step there is no curve";
  EXPECT_THAT(curve["charts"][0]["svg"].get<std::string>(), testing::StartsWith("<svg"));
  const auto page = get("/v1/runs/a/report");
  EXPECT_EQ(page.type, "text/html; charset=utf-8");
  EXPECT_THAT(page.body, testing::HasSubstr("<style>"));
  EXPECT_THAT(page.body, testing::HasSubstr("</html>"));
}

TEST_F(ApiTest, WishesAreOnTheDiskBeforeTheyAreAnswered) {
  const auto run = add("a");
  EXPECT_EQ(post("/v1/runs/a/cancel"), 202);
  EXPECT_EQ((*store_->find("a"))->wish, "cancel");
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(post("/v1/runs/a/cancel"), 202);
  EXPECT_EQ(woken_, 1) << "it is wished for already";
  add("over", true);
  EXPECT_EQ(post("/v1/runs/over/cancel"), 409);
  EXPECT_EQ(post("/v1/runs/over/requeue"), 202);
  EXPECT_EQ(post("/v1/runs/none/requeue"), 404);
  EXPECT_EQ(get("/v1/runs/a/cancel").status, 405);
  EXPECT_EQ(post("/v1/runs/a"), 405);
  EXPECT_EQ(post("/v1/runs"), 405);
  EXPECT_EQ(post("/v1/daemon/stop"), 202);
  EXPECT_EQ(get("/v1/daemon/stop").status, 405);
  EXPECT_EQ(stopped_, 1);
}

TEST_F(ApiTest, OtherMethods) {
  add("a");
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "get", ""})
    EXPECT_EQ(api_->answer({.method = method, .path = "/v1/runs/a"}).status, 405) << method;
}

TEST_F(ApiTest, NamesThatAreMeantToBreakSomething) {
  for (const char* name : {"'", "' OR '1'='1", "%", "_", "1; DROP TABLE runs", "<script>", "\xff",
                           "-1", "9223372036854775808", "1e3", "0x1"})
    EXPECT_EQ(get(std::string("/v1/runs/") + name).status, 404) << name;
  EXPECT_EQ(get("/v1/runs/" + std::string(100'000, 'a')).status, 404);
}

TEST_F(ApiTest, BytesThatAreNoTextComeAsJson) {
  auto run = add("a");
  run.reason = "\xff\xfe</script>";
  ASSERT_TRUE(store_->save(run));
  EXPECT_FALSE(json("/v1/runs").is_discarded());
  EXPECT_FALSE(json("/v1/runs/a").is_discarded());
}

TEST_F(ApiTest, WhatATerminalWouldObeyComesAsEscapes) {
  auto run = add("a");
  run.reason = "\x1b[31m \u009b \u202e";
  ASSERT_TRUE(store_->save(run));
  EXPECT_THAT(get("/v1/runs").body, HasSubstr(R"("\u001b[31m \u009b \u202e")"));
  EXPECT_EQ(json("/v1/runs")["runs"][0]["reason"], run.reason);
}

TEST_F(ApiTest, PageAndMetrics) {
  add("a");
  EXPECT_THAT(get("/").body, HasSubstr("<script>"));
  EXPECT_THAT(get("/metrics").body, HasSubstr("dllaunch_runs{state=\"running\"} 1"));
}

/// What the page may not do, since names and logs are strangers' text.
TEST_F(ApiTest, ThePageMakesNoMarkupOfText) {
  const auto page = get("/").body;
  for (const char* banned : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                             "eval(", " style=", "onclick=", "http://", "https://"}) {
    auto at = page.find(banned);
    // The namespace of SVG is a name, not an address.
    if (at != std::string::npos && page.compare(at, 17, "http://www.w3.org") == 0)
      at = page.find(banned, at + 1);
    EXPECT_EQ(at, std::string::npos) << banned;
  }
}

}  // namespace
}  // namespace dllaunch
