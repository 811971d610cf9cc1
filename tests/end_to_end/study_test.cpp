// Scaling studies: of the built-in trainer and of commands, here and on a real Slurm.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "tests/end_to_end/local_run.hpp"
#include "tests/end_to_end/test_cluster.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class StudyHere : public LocalRun {
 protected:
  std::vector<std::string> study(const std::string& file, std::vector<std::string> more) {
    std::vector<std::string> all = {"study", file, "--local", "--run-dir", dir()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string dir() const { return work_.path() + "/study"; }
  Json result() { return Json::parse(work_.text_of("study/study.json")); }
};

TEST_F(StudyHere, OfATrainingAtOneAndTwoRanks) {
  const auto ended = work_.run(study(job(), {"--ranks", "1,2", "--repeats", "2"}));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("2 ranks on 1 node, repeat 1: "));
  EXPECT_THAT(ended.out, HasSubstr("speed-up"));
  EXPECT_THAT(ended.out, HasSubstr(" %, predicted"));
  const auto json = result();
  ASSERT_EQ(json["points"].size(), 2u);
  for (const auto& point : json["points"]) {
    EXPECT_GT(point["images_per_s"], 0);
    EXPECT_GT(point["epoch_s"], 0);
    EXPECT_GT(point["parts"]["forward"], 0);
    EXPECT_EQ(point["repeats"], 2);
  }
  EXPECT_EQ(json["predictions"].size(), 3u);
  // Strong scaling: the global batch of both is the job file's.
  const auto at = [&](const std::string& run) {
    return Json::parse(work_.text_of("study/" + run + "/train.json"))["batch_size"];
  };
  EXPECT_EQ(at("ranks-00001-repeat-01"), 32);
  EXPECT_EQ(at("ranks-00002-repeat-02"), 16);
  for (const char* name : {"study.csv", "study.html", "throughput.svg", "efficiency.svg"})
    EXPECT_GT(fs::file_size(dir() + "/" + name), 100u) << name;

  const auto again = work_.run(study(job(), {"--ranks", "1,2", "--repeats", "2", "--json"}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(Json::parse(again.out)["points"], json["points"]) << "nothing was measured again";
}

TEST_F(StudyHere, TakesAMeasuredAllReduce) {
  const auto bench = work_.run({"bench", "allreduce", "--ranks", "2", "--max-bytes", "1048576",
                                "--iterations", "2", "--json"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  const auto last = Json::parse(bench.out).back();
  ASSERT_EQ(last["models"].size(), 1u) << bench.out;
  EXPECT_GT(last["models"][0]["beta_gbs"], 0);
  const auto file = work_.file("allreduce.json", bench.out);
  const auto ended = work_.run(study(job(), {"--ranks", "1,2", "--allreduce", file}));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("the exchange is bounded by the measured all-reduce"));
  const auto fit = result()["fit"];
  EXPECT_EQ(fit["exchange_from"], "bench allreduce");
  EXPECT_EQ(fit["allreduce"]["bytes"], 4 * 61'706) << "LeNet's parameters";
  EXPECT_GE(fit["exchange"], 0);
  EXPECT_LE(fit["exchange"], 1);
  EXPECT_THAT(work_.text_of("study/study.html"), HasSubstr("the measured all-reduce"));
  const auto bad = work_.run(study(job(), {"--ranks", "1,2", "--allreduce", job()}));
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("no model of an all-reduce is in it"));
}

TEST_F(StudyHere, OfACommandThatIsInterruptedContinues) {
  const std::string go = work_.path() + "/go";
  const auto file = work_.file(
      "command.yaml",
      "name: items\nresources: {ranks_per_node: 2, device: cpu}\nrun: [bash, -c, 'test -e \"" + go +
          "\" || { echo done 7 items/s; sleep 300; }; echo done $((100 * WORLD_SIZE)) items/s']\n"
          "study: {value: 'done ([0-9]+)', unit: items/s}\n");
  work_.start(study(file, {"--ranks", "1,2"}));
  const auto begun = [&] { return !processes_of(dir() + "/ranks-00002-repeat-01", 1).empty(); };
  ASSERT_TRUE(happens_within(60s, begun));
  work_.signal(SIGINT);
  const auto stopped = work_.wait(60s);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("the same command with --run-dir " + dir() + " continues"));
  EXPECT_TRUE(all_end(dir() + "/ranks-00002-repeat-01"));
  std::ofstream(go) << "";
  const auto ended = work_.run(study(file, {"--ranks", "1,2"}));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto json = result();
  EXPECT_EQ(json["points"][0]["value"], 100);
  EXPECT_EQ(json["points"][1]["value"], 200);
  EXPECT_EQ(json["points"][1]["efficiency"], 1);
  EXPECT_EQ(json["unit"], "items/s");
  EXPECT_EQ(json["runs"][0]["run"], "ranks-00002-repeat-01-attempt-02") << "begun anew";
}

TEST_F(StudyHere, ASizeThatFailsHasItsReasonAndTheOthersTheirValues) {
  const auto file = work_.file("command.yaml",
                               "name: fails\nresources: {ranks_per_node: 2, device: cpu}\n"
                               "run: [bash, -c, 'test $WORLD_SIZE = 1 || exit 7; echo 5 items']\n"
                               "study: {value: '([0-9]+) items'}\n");
  const auto ended = work_.run(study(file, {"--ranks", "1,2"}));
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.out, HasSubstr("2 ranks, repeat 1: failed: rank "));
  EXPECT_EQ(result()["points"].size(), 1u);
  EXPECT_EQ(work_.run({"study", file, "--ranks", "64", "--local"}).exit_code, 3);
  EXPECT_EQ(work_.run({"study", file}).exit_code, 2);
  EXPECT_EQ(work_.run({"study", file, "--ranks", "1,x"}).exit_code, 2);
}

/// Of a job file that has changed, of another repeat, or of `dllaunch retry --set`.
TEST_F(StudyHere, ARunThatIsAnotherJobsOrAnotherRunsIsNotMeasured) {
  const auto of = [&](const std::string& value) {
    return work_.file("command.yaml",
                      "name: items\nresources: {ranks_per_node: 1, device: cpu}\n"
                      "run: [bash, -c, 'echo done " +
                          value + " items']\nstudy: {value: 'done ([0-9]+)', unit: items}\n");
  };
  const std::vector<std::string> sizes = {"--ranks", "1", "--repeats", "2"};
  ASSERT_EQ(work_.run(study(of("6"), sizes)).exit_code, 0);
  fs::remove(dir() + "/study.json");
  ASSERT_EQ(work_.run(study(of("60"), sizes)).exit_code, 0);
  EXPECT_EQ(result()["points"][0]["value"], 60);
  EXPECT_EQ(result()["runs"][1]["run"], "ranks-00001-repeat-02-attempt-02");

  fs::remove_all(dir());
  ASSERT_EQ(work_.run(study(of("6"), sizes)).exit_code, 0);
  fs::remove(dir() + "/study.json");
  fs::remove_all(dir() + "/ranks-00001-repeat-02");
  fs::create_directory_symlink("ranks-00001-repeat-01", dir() + "/ranks-00001-repeat-02");
  ASSERT_EQ(work_.run(study(of("6"), sizes)).exit_code, 0);
  EXPECT_EQ(result()["points"][0]["repeats"], 2);
  EXPECT_EQ(result()["runs"][1]["run"], "ranks-00001-repeat-02-attempt-02") << "measured twice";
}

/// A workload with a planted serial part, divisible work and latency: what 1, 2 and 4 ranks say of
/// eight is what eight do.
class SlurmStudy : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ =
        std::make_unique<TestCluster>(std::vector<std::string>{"--nodes", "2", "--cpus", "4"});
  }
  static void TearDownTestSuite() { cluster_.reset(); }
  void SetUp() override {
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
    work_ = std::make_unique<Workplace>(cluster_->share() + "/study");
    work_->before = cluster_->login();
    work_->environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", work_->path() + "/cache"}};
  }

  inline static std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<Workplace> work_;
};

TEST_F(SlurmStudy, OneToFourRanksForetellEight) {
  // The clock of a busy machine is not the model's: only the full tier sleeps and measures.
  std::string job = R"(name: planted
resources: {nodes: 2, ranks_per_node: 4, device: cpu, time: 5}
run:
  - bash
  - -c
  - |
    seconds=$(awk -v p="$WORLD_SIZE" 'BEGIN { print 0.4 + 3 / p + 0.1 * log(p) / log(2) }')
    began=$(date +%s%N)
    [ -z "$MEASURED" ] || sleep "$seconds"
    [ -z "$MEASURED" ] || seconds=$(awk -v ns=$(($(date +%s%N) - began)) 'BEGIN { print ns / 1e9 }')
    [ "$RANK" != 0 ] || echo "took $seconds s"
environment: {variables: {MEASURED: "@"}}
study: {value: 'took ([0-9.]+) s', unit: s, better: lower}
)";
  job.replace(job.find('@'), 1, full_tier() ? "1" : "");
  const auto file = work_->file("planted.yaml", job);
  const auto dir = work_->path() + "/study";
  const auto dry = work_->run({"study", file, "--ranks", "1,2,4,8", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_THAT(
      dry.out,
      HasSubstr("one job of 2 nodes for all runs: at most 0.6667 node-hours, 2.667 core-hours\n"));
  const auto apart = work_->run({"study", file, "--ranks", "1,2,4,8", "--dry-run", "--separate"});
  EXPECT_THAT(apart.out,
              HasSubstr("one run after another: at most 0.4167 node-hours, 1.667 core-hours\n"));
  work_->start({"study", file, "--ranks", "1,2,4", "--run-dir", dir});
  const auto ended = work_->wait(240s);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto foretold = Json::parse(work_->text_of("study/study.json"))["predictions"][0];
  EXPECT_EQ(foretold["ranks"], 8);
  work_->start({"study", file, "--ranks", "1,2,4,8", "--run-dir", dir, "--json"});
  const auto measured = work_->wait(240s);
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  const auto eight = Json::parse(measured.out)["points"][3];
  EXPECT_EQ(eight["ranks"], 8);
  EXPECT_EQ(eight["nodes"], 2);
  EXPECT_NEAR(foretold["value"].get<double>() / eight["value"].get<double>(), 1, 0.1);
}

/// Every size starts on the first nodes of one allocation, which outlives the dllaunch that asked
/// for it.
TEST_F(SlurmStudy, OneJobHoldsTheNodesOfEverySize) {
  const std::string go = work_->path() + "/go";
  const auto file =
      work_->file("nested.yaml",
                  "name: nested\nresources: {nodes: 2, ranks_per_node: 2, device: cpu, time: 5}\n"
                  "run: [bash, -c, 'until [ -e " +
                      go +
                      " ]; do sleep 0.1; done; hostname; echo 7 items/s']\n"
                      "study: {value: '([0-9]+) items/s', unit: items/s}\n");
  const auto dir = work_->path() + "/nested";
  const std::vector<std::string> words = {"study", file, "--ranks", "1,2,4", "--run-dir", dir};
  work_->start(words);
  const auto begun = [&] { return !processes_of(dir + "/ranks-00004-repeat-01", 3).empty(); };
  ASSERT_TRUE(happens_within(60s, begun));
  kill(work_->pid(), SIGKILL);
  (void)work_->wait();
  work_->start(words);
  ASSERT_TRUE(happens_within(60s, [&] {
    return work_->text_of("stderr").find(" is RUNNING: following it") != std::string::npos;
  })) << work_->text_of("stderr");
  std::ofstream(go) << "";
  const auto ended = work_->wait(240s);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("1 rank on 1 node, repeat 1: 7 items/s"));
  const auto job = work_->text_of("nested/allocation/job.id");
  for (const char* run : {"ranks-00001", "ranks-00002", "ranks-00004"}) {
    const auto of_run = std::string("nested/") + run + "-repeat-01/";
    EXPECT_EQ(work_->text_of(of_run + "job.id"), job);
    EXPECT_THAT(work_->text_of(of_run + "out/rank-0000-n1.log"), EndsWith("n1\n7 items/s\n"));
  }
  auto apart = words;
  apart.back() += "-apart";
  apart.emplace_back("--separate");
  work_->start(apart);
  EXPECT_EQ(work_->wait(240s).exit_code, 0);
  EXPECT_NE(work_->text_of("nested-apart/ranks-00001-repeat-01/job.id"),
            work_->text_of("nested-apart/ranks-00002-repeat-01/job.id"));
}

TEST_F(SlurmStudy, InterruptedItCancelsItsJobAndContinuesInAnother) {
  const std::string go = work_->path() + "/go2";
  const auto file =
      work_->file("stopped.yaml",
                  "name: stopped\nresources: {nodes: 1, ranks_per_node: 2, device: cpu, time: 5}\n"
                  "run: [bash, -c, 'until [ $WORLD_SIZE = 2 -o -e " +
                      go +
                      " ]; do sleep 0.1; done; echo 7 items/s']\n"
                      "study: {value: '([0-9]+) items/s'}\n");
  const auto dir = work_->path() + "/stopped";
  const std::vector<std::string> words = {"study", file, "--ranks", "1,2", "--run-dir", dir};
  work_->start(words);
  const auto begun = [&] { return !processes_of(dir + "/ranks-00001-repeat-01", 0).empty(); };
  ASSERT_TRUE(happens_within(60s, begun));
  work_->signal(SIGINT);
  const auto stopped = work_->wait(90s);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_TRUE(all_end(dir + "/ranks-00001-repeat-01"));
  std::ofstream(go) << "";
  work_->start(words);
  const auto ended = work_->wait(240s);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto runs = Json::parse(work_->text_of("stopped/study.json"))["runs"];
  EXPECT_EQ(runs[0]["run"], "ranks-00002-repeat-01") << "measured before";
  EXPECT_EQ(runs[1]["run"], "ranks-00001-repeat-01-attempt-02");
}

/// Of a sweep, on the cluster that is there.
TEST_F(SlurmStudy, ASweepsTrialsAreJobs) {
  const auto file =
      work_->file("sweep.yaml",
                  "name: sweep\nresources: {nodes: 1, ranks_per_node: 1, device: cpu, "
                  "exclusive: false, cpus_per_rank: 1, time: 5}\n"
                  "run: \"echo acc={x}\"\n"
                  "sweep: {parameters: {x: {int: [1, 3]}}, sampler: grid, metric: acc, "
                  "value: 'acc=([0-9]+)', concurrent: 3}\n");
  work_->start({"sweep", file, "--run-dir", work_->path() + "/sweep"});
  const auto ended = work_->wait(240s);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto json = Json::parse(work_->text_of("sweep/sweep.json"));
  ASSERT_EQ(json["trials"].size(), 3u);
  EXPECT_EQ(json["best"]["value"], 3);
  for (const auto& trial : json["trials"]) {
    const std::string run = trial["run"];
    EXPECT_FALSE(work_->text_of("sweep/" + run + "/job.id").empty()) << "a Slurm job";
  }
}

/// Three trials in jobs that wait for a file.
class SlurmSweepUnseen : public SlurmStudy {
 protected:
  void begin(const std::string& name) {
    dir_ = work_->path() + "/" + name;
    const auto file = work_->file(
        name + ".yaml", "name: " + name +
                            "\nresources: {nodes: 1, ranks_per_node: 1, device: cpu, "
                            "exclusive: false, cpus_per_rank: 1, time: 5}\n"
                            "run: \"echo begun >> " +
                            dir_ + "-{x}; until [ -e " + dir_ +
                            "-go ]; do sleep 0.1; done; echo acc={x}\"\n"
                            "sweep: {parameters: {x: {int: [1, 3]}}, sampler: grid, metric: acc, "
                            "value: 'acc=([0-9]+)', concurrent: 3}\n");
    words_ = {"sweep", file, "--run-dir", dir_};
  }
  bool all_begun() {
    return happens_within(60s, [&] {
      return std::ranges::all_of(std::array{1, 2, 3}, [&](int x) {
        return !work_->text_of(fs::path(dir_).filename().string() + fmt::format("-{}", x)).empty();
      });
    });
  }
  void end_of_all_jobs() {
    std::ofstream(dir_ + "-go") << "";
    ASSERT_TRUE(happens_within(60s, [&] {
      return cluster_->on_head({"squeue", "--noheader"}).empty();
    }));
  }
  void expect_each_trial_once() {
    const auto name = fs::path(dir_).filename().string();
    const auto json = Json::parse(work_->text_of(name + "/sweep.json"));
    ASSERT_EQ(json["trials"].size(), 3U);
    for (const auto& trial : json["trials"]) {
      EXPECT_EQ(trial["state"], "completed") << trial;
      EXPECT_EQ(trial["value"], trial["parameters"]["x"]) << trial;
    }
    for (const int x : {1, 2, 3})
      EXPECT_EQ(work_->text_of(fmt::format("{}-{}", name, x)), "begun\n") << "computed once";
  }

  std::string dir_;
  std::vector<std::string> words_;
};

/// A closed terminal, or a lost ssh; what a terminal sends is a signal to its foreground.
TEST_F(SlurmSweepUnseen, TrialsOutliveATerminalThatIsClosed) {
  begin("hangup");
  int terminal = -1;
  const pid_t shell = forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(shell, 0);
  if (shell == 0) {
    std::vector<std::string> all = work_->before;
    all.insert(all.end(), {"env", "TERM=dumb", "XDG_CACHE_HOME=" + work_->path() + "/cache",
                           DLLAUNCH_BIN_DIR "/dllaunch"});
    all.insert(all.end(), words_.begin(), words_.end());
    std::vector<char*> argv;
    for (auto& word : all) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(99);
  }
  const bool begun = all_begun();
  close(terminal);
  EXPECT_EQ(waitpid(shell, nullptr, 0), shell);
  ASSERT_TRUE(begun);
  ASSERT_TRUE(happens_within(60s, [&] { return programs_of(dir_, "/dllaunch", "sweep").empty(); }));
  const auto status = work_->run({"status", dir_});
  EXPECT_THAT(status.out, HasSubstr("its run: running"));
  EXPECT_THAT(status.out, HasSubstr("no dllaunch carries it out: the same command with --run-dir"));
  work_->start(words_);
  ASSERT_TRUE(happens_within(60s, [&] { return trials_of(dir_).size() == 3; }))
      << "they are followed";
  end_of_all_jobs();
  EXPECT_EQ(work_->wait(240s).exit_code, 0);
  expect_each_trial_once();
}

TEST_F(SlurmSweepUnseen, TrialsThatCompleteWhileNoDriverIsThereCount) {
  begin("killed");
  work_->start(words_);
  ASSERT_TRUE(all_begun());
  kill(work_->pid(), SIGKILL);
  (void)work_->wait();
  ASSERT_TRUE(happens_within(60s, [&] { return trials_of(dir_).empty(); }));
  end_of_all_jobs();
  work_->start(words_);
  const auto ended = work_->wait(240s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  expect_each_trial_once();
}

/// What it prints on another node is as long as what it had printed on the first.
TEST_F(SlurmStudy, AshaReadsACommandThatContinuesOnAnotherNode) {
  const auto file =
      work_->file("moves.yaml",
                  "name: moves\nresources: {nodes: 1, ranks_per_node: 1, device: cpu, time: 5}\n"
                  "run: \"[ $EPOCHS = 1 ] && scontrol update nodename=$(hostname) state=drain "
                  "reason=test; echo acc=$(({x} * EPOCHS))\"\n"
                  "environment: {variables: {EPOCHS: '{epochs}'}}\n"
                  "sweep: {parameters: {x: {choice: [4]}}, sampler: grid, metric: acc, "
                  "value: 'acc=([0-9]+)', scheduler: asha, max_epochs: 2}\n");
  work_->start({"sweep", file, "--run-dir", work_->path() + "/moves"});
  const auto ended = work_->wait(240s);
  cluster_->on_head({"bash", "-c", "scontrol update nodename=ALL state=resume"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const auto trial = Json::parse(work_->text_of("moves/sweep.json"))["trials"][0];
  EXPECT_EQ(trial["state"], "completed") << trial;
  EXPECT_EQ(trial["value"], 8) << trial;
  EXPECT_EQ(entries_of(work_->path() + "/moves/trial-00000/out").size(), 2U) << "on two nodes";
}

/// Side by side on both nodes and on parts of each, bound apart; the job outlives the dllaunch that
/// submitted it.
TEST_F(SlurmStudy, ASweepsTrialsShareOneJob) {
  const std::string go = work_->path() + "/go3";
  const auto file =
      work_->file("shared.yaml",
                  "name: shared\nresources: {nodes: 1, ranks_per_node: 1, device: cpu, time: 5}\n"
                  "run: [bash, -c, 'until [ -e " +
                      go +
                      " ]; do sleep 0.1; done; "
                      "echo on $(hostname) cpus $(taskset -pc $$ | sed s/.*://); echo acc={x}']\n"
                      "sweep: {parameters: {x: {int: [1, 6]}}, sampler: grid, metric: acc, "
                      "value: 'acc=([0-9]+)', nodes: 2, concurrent: 4}\n");
  const auto dir = work_->path() + "/shared";
  const std::vector<std::string> words = {"sweep", file, "--run-dir", dir};
  work_->start(words);
  const auto begun = [&] {
    for (const char* trial : {"/trial-00000", "/trial-00001", "/trial-00002", "/trial-00003"})
      if (processes_of(dir + trial, 0).empty()) return false;
    return true;
  };
  ASSERT_TRUE(happens_within(90s, begun));
  kill(work_->pid(), SIGKILL);
  (void)work_->wait();
  std::set<std::string> places;
  work_->start(words);
  std::ofstream(go) << "";
  const auto ended = work_->wait(240s);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto json = Json::parse(work_->text_of("shared/sweep.json"));
  ASSERT_EQ(json["trials"].size(), 6u);
  EXPECT_EQ(json["best"]["value"], 6);
  for (const int trial : {0, 1, 2, 3})
    for (const char* node : {"n1", "n2"})
      places.insert(
          work_->text_of(fmt::format("shared/trial-{:05}/out/rank-0000-{}.log", trial, node))
              .substr(0, 20));
  places.erase("");
  EXPECT_EQ(places.size(), 4u) << testing::PrintToString(places);
}

/// A trial that is promoted starts a second time in the same allocation.
TEST_F(SlurmStudy, AshaInOneJobContinuesFromCheckpoints) {
  const auto file = work_->file(
      "asha.yaml",
      "name: asha\nresources: {nodes: 1, ranks_per_node: 2, device: cpu, time: 5}\n"
      "train: {model: lenet, dataset: {kind: synthetic, images: 64}, epochs: 2, batch_size: 16}\n"
      "sweep: {parameters: {train.optimizer.lr: {log: [0.001, 0.1]}}, trials: 2, "
      "scheduler: asha, nodes: 2}\n");
  const std::vector<std::string> words = {"sweep", file, "--run-dir", work_->path() + "/asha"};
  work_->start(words);
  const auto ended = work_->wait(240s);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto json = Json::parse(work_->text_of("asha/sweep.json"));
  std::map<std::string, int> states;
  for (const auto& trial : json["trials"]) {
    ++states[trial["state"].get<std::string>()];
    EXPECT_EQ(trial["epochs"], trial["state"] == "completed" ? 2 : 1) << trial;
  }
  EXPECT_EQ(states, (std::map<std::string, int>{{"completed", 1}, {"stopped", 1}})) << json;
  work_->start(words);
  EXPECT_THAT(work_->wait(60s).err, Not(HasSubstr("submitted job"))) << "nothing is left to do";
}

/// A stop gives trials behind srun their time to save.
TEST_F(SlurmStudy, TrialsOnPartsOfANodeSaveBeforeTheyStop) {
  const auto file =
      work_->file("saves.yaml",
                  "name: saves\nresources: {nodes: 1, ranks_per_node: 1, device: cpu, time: 5}\n"
                  "run: [bash, -c, 'trap \"sleep 2; echo saved; exit 0\" TERM; echo begun; "
                  "for i in $(seq 900); do sleep 0.1; done; echo acc={x}']\n"
                  "sweep: {parameters: {x: {int: [1, 2]}}, sampler: grid, metric: acc, "
                  "value: 'acc=([0-9]+)', nodes: 1, concurrent: 2}\n");
  const auto dir = work_->path() + "/saves";
  work_->start({"sweep", file, "--run-dir", dir});
  const auto begun = [&] {
    return work_->text_of("saves/trial-00000/out/rank-0000-n1.log") == "begun\n" &&
           work_->text_of("saves/trial-00001/out/rank-0000-n1.log") == "begun\n";
  };
  ASSERT_TRUE(happens_within(90s, begun));
  work_->signal(SIGINT);
  const auto stopped = work_->wait(120s);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  for (const char* trial : {"0", "1"})
    EXPECT_THAT(work_->text_of(std::string("saves/trial-0000") + trial + "/out/rank-0000-n1.log"),
                HasSubstr("saved"))
        << stopped.err << work_->text_of("saves/trial-00000.log");
}

}  // namespace
}  // namespace dllaunch
