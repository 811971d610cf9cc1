// Slurm runs a job twice at once: the earlier start keeps running on an unreachable node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "launcher/daemon/client/client.hpp"
#include "launcher/run/history.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/run_dir.hpp"
#include "support/json.hpp"
#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A training of one rank, of epochs_of_seconds(), that saves ten times a second.
constexpr const char* training = R"(name: twice
resources: {nodes: 1, ranks_per_node: 1, cpus_per_rank: 1, device: cpu, time: 5}
environment: {variables: {OMP_NUM_THREADS: "1"}}
train:
  model: lenet
  backend: reference
  dataset: {kind: synthetic, images: 512, classes: 10, channels: 1, image_size: 28}
  batch_size: 8
  optimizer: {lr: 0.05, momentum: 0.9}
  checkpoint: {every_epochs: 1, every_minutes: 0.002}
)";

/// Of the newest checkpoint, its name before them; empty: there is none.
std::string weights_of(const std::string& run_dir) {
  const auto newest = newest_checkpoint({.path = run_dir});
  std::ifstream file(newest + "/model.safetensors", std::ios::binary);
  return std::filesystem::path(newest).filename().string() +
         std::string(std::istreambuf_iterator<char>(file), {});
}

/// Whatever both wrote, and in whatever order.
void expect_each_step_once(const std::string& run_dir) {
  History history;
  std::int64_t before = 0;  // the last step of the earlier incarnation
  EventTail tail(run_dir + "/events.jsonl");
  for (auto events = tail.read(); !events.empty(); events = tail.read()) {
    for (const auto& event : events) {
      const auto last = history.step();
      if (!history.take(event)) continue;
      if (const auto* step = std::get_if<StepEvent>(&event)) {
        EXPECT_GT(step->step, last);
      }
      if (fencing_token_of(event) == 1) before = history.step();
    }
  }
  ASSERT_EQ(history.restarts().size(), 1u);
  const auto& restart = history.restarts()[0];
  EXPECT_GT(restart.step, 0);
  EXPECT_EQ(restart.lost_steps, std::max<std::int64_t>(0, before - restart.step));
  EXPECT_EQ(history.step(), 64 * epochs_of_seconds());
}

/// Its node loses the network: Slurm starts the job again elsewhere, and it works on.
TEST(SlurmTwoIncarnations, OfTwoStartsOfOneJobAtOnceTheLaterWrites) {
  TestCluster cluster({"--nodes", "2", "--cpus", "2"});
  if (cluster.cannot_run_here()) GTEST_SKIP() << cluster.why_not();
  ASSERT_TRUE(cluster.up()) << cluster.why_not();
  Workplace work(cluster.share() + "/work");
  work.before = cluster.login();
  work.environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", work.path() + "/cache"}};
  Workplace alone;
  const auto epochs = "--set=train.epochs=" + std::to_string(epochs_of_seconds());
  alone.start(
      {"run", alone.file("job.yaml", training), "--local", "--run-dir", alone.run_dir(), epochs});
  const std::string run = work.run_dir();
  work.start({"run", work.file("job.yaml", training), "--run-dir", run, epochs});
  ASSERT_TRUE(happens_within(60s, [&] { return !events_of(run, "checkpoint").empty(); }))
      << work.text_of("stderr");
  const auto node = events_of(run, "start").at(0)["host"].get<std::string>();
  const auto orphan = processes_of(run, 0);
  ASSERT_EQ(orphan.size(), 1u);
  // It would be done before Slurm lets the job start again, and its supervisor would end it before
  // it sees for itself.
  kill(orphan[0], SIGSTOP);
  const auto supervisors = programs_of(run, "/dllaunch", "supervise");
  ASSERT_EQ(supervisors.size(), 2u);
  for (const pid_t one : supervisors) kill(one, SIGSTOP);
  const auto first_sruns = programs_of(run, "srun", "");
  ASSERT_TRUE(cluster.tell("cut-network", {node}));
  cluster.on_head({"scontrol", "update", "nodename=" + node, "state=down", "reason=network"});
  const auto again = [&] {
    const auto at = cluster.on_head({"squeue", "--noheader", "--format=%T %N"});
    return at.starts_with("RUNNING") && at != "RUNNING " + node;
  };
  EXPECT_TRUE(happens_within(60s, again)) << work.text_of("stderr");
  // The later one has its token before it trains.
  EXPECT_TRUE(happens_within(60s, [&] { return events_of(run, "start").size() == 2; }));
  kill(orphan[0], SIGCONT);
  EXPECT_TRUE(happens_within(60s, [&] { return kill(orphan[0], 0) != 0; }));
  const auto of_rank = work.text_of("run/out/rank-0000-" + node + ".log");
  EXPECT_THAT(of_rank, HasSubstr("dltrain: stopped: run directory was taken over by job " +
                                 work.job_id() + " on n"));
  EXPECT_THAT(of_rank, HasSubstr("(fencing token 2, ours is 1); nothing more is written\n"));
  // slurmstepd tells srun of the code, which a supervisor that wakes before would not let it say.
  ASSERT_FALSE(first_sruns.empty());
  EXPECT_TRUE(happens_within(30s, [&] {
    const auto left = programs_of(run, "srun", "");
    return std::find_first_of(left.begin(), left.end(), first_sruns.begin(), first_sruns.end()) ==
           left.end();
  }));
  for (const pid_t one : supervisors) kill(one, SIGCONT);

  const auto ended = work.wait(120s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(happens_within(20s, [&] { return processes_of(run).empty(); }));
  EXPECT_TRUE(
      happens_within(20s, [&] { return programs_of(run, "/dllaunch", "supervise").empty(); }));
  EXPECT_TRUE(cluster.tell("kill-node", {node}) && cluster.tell("revive-node", {node}));
  const auto log = work.text_of("run/slurm-" + work.job_id() + ".out");
  EXPECT_THAT(log, HasSubstr(node + ": task 0: Exited with exit code 93"));
  EXPECT_THAT(log, HasSubstr("dllaunch: run directory was taken over by job " + work.job_id()));
  expect_each_step_once(run);
  const auto undisturbed = alone.wait(120s);
  EXPECT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
  EXPECT_FALSE(weights_of(run).empty());
  EXPECT_TRUE(weights_of(run) == weights_of(alone.run_dir()));
}

/// Links move and directories are renamed while jobs wait: each job goes on in its own run's.
TEST(SlurmRunDirectory, AJobWorksInTheRunThatItWasSubmittedFor) {
  namespace fs = std::filesystem;
  TestCluster cluster({"--nodes", "1", "--cpus", "4"});
  if (cluster.cannot_run_here()) GTEST_SKIP() << cluster.why_not();
  ASSERT_TRUE(cluster.up()) << cluster.why_not();
  Workplace work(cluster.share() + "/work");
  work.before = cluster.login();
  work.environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", work.path() + "/cache"}};
  const auto job_file = [&](const std::string& name, const std::string& more) {
    return work.file(name,
                     "name: link\nresources: {nodes: 1, ranks_per_node: 1, cpus_per_rank: 1, "
                     "exclusive: false, device: cpu, time: 5" +
                         more + "}\nrun: 'until [ -e go ]; do sleep 0.1; done'\n");
  };
  const auto job = job_file("job.yaml", "");
  const auto submit = [&](const std::string& file, const std::string& run_dir) {
    const auto ended = work.run({"run", file, "--detach", "--run-dir", run_dir});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
  };
  const auto id_in = [&](const std::string& run) {
    const auto text = work.text_of(run + "/job.id");
    return text.substr(0, text.find('\n'));
  };
  const auto attempts = [&](const std::string& run) {
    return read_journal({.path = work.path() + "/" + run}).history.size();
  };
  const auto cur = work.path() + "/cur";
  for (const char* run : {"a", "b"}) {
    fs::create_directory(work.path() + "/" + run);
    fs::remove(cur);
    fs::create_directory_symlink(run, cur);
    submit(job, cur);
    ASSERT_TRUE(happens_within(30s, [&] { return attempts(run) == 1; }));
  }
  submit(job_file("held.yaml", ", sbatch_extra: ['--hold']"), work.path() + "/c");
  fs::rename(work.path() + "/c", work.path() + "/c.before");
  submit(job, work.path() + "/c");
  const auto former = id_in("c.before");
  ASSERT_TRUE(happens_within(30s, [&] { return attempts("c") == 1; }));

  cluster.on_head({"scontrol", "requeue", id_in("a")});
  cluster.on_head({"scontrol", "release", former});
  const auto log = "c/slurm-" + former + ".out";
  EXPECT_TRUE(happens_within(60s, [&] {
    return work.text_of(log).find("holds another run") != std::string::npos;
  })) << work.text_of(log);
  EXPECT_TRUE(happens_within(90s, [&] { return attempts("a") == 2; }));
  EXPECT_NE(id_in("c"), former);
  EXPECT_EQ(attempts("b"), 1u);
  EXPECT_EQ(attempts("c"), 1u);
  const auto queue = cluster.on_head({"squeue", "--noheader", "--states=RUNNING", "--format=%i"});
  for (const char* run : {"a", "b", "c"})
    EXPECT_THAT(queue, HasSubstr(id_in(run)))
        << work.text_of(run + std::string("/supervisor.jsonl"));
  cluster.on_head({"scancel", "--user=root"});
}

/// A home that two clusters share, and a controller that counts from 1 again.
class SameNumber : public testing::Test {
 protected:
  /// Another user's job that has the number, and stays.
  static void take(TestCluster& cluster, const std::string& number,
                   const std::string& name = "wrap") {
    std::string id;
    while (id != number) {
      id = cluster.on_head({"sbatch", "--parsable", "--job-name", name, "--output=/dev/null",
                            "--wrap", "sleep 300"});
      ASSERT_TRUE(!id.empty() && std::stoi(id) <= std::stoi(number)) << id;
      if (id != number) cluster.on_head({"scancel", id});
    }
  }
  static bool is_there(TestCluster& cluster, const std::string& number) {
    return cluster.on_head({"squeue", "--noheader", "--format=%i"}).find(number) !=
           std::string::npos;
  }
  /// Nothing here takes the other job for the run's.
  static void expect_left_alone(Workplace& work, TestCluster& cluster, const std::string& number,
                                const std::string& why) {
    const auto status = work.run({"status", work.run_dir()});
    EXPECT_EQ(status.out.find("one: running"), std::string::npos) << status.out;
    const auto cancel = work.run({"cancel", work.run_dir(), "--now"});
    EXPECT_THAT(status.out + cancel.out + cancel.err, HasSubstr(why)) << status.err;
    EXPECT_TRUE(is_there(cluster, number)) << cancel.out << cancel.err;
  }
};

void expect_daemon_concludes_nothing(Workplace& work) {
  const auto started = work.run({"daemon", "start", "--interval", "0.3"});
  ASSERT_EQ(started.exit_code, 0) << started.err;
  const DaemonPaths place{.folder = work.path() + "/state/dllaunch/daemon"};
  const auto ask = [&](const std::string& path) {
    const auto answer = ask_daemon(place, "GET", path, 30s);
    return answer ? Json::parse(answer->body, nullptr, false) : Json();
  };
  constexpr int enough = 10;
  EXPECT_TRUE(happens_within(60s, [&] { return ask("/v1/daemon").value("rounds", 0) > enough; }));
  const auto shown = ask("/v1/runs/run");
  EXPECT_EQ(shown.value("job", ""), work.job_id()) << shown;
  EXPECT_FALSE(shown.value("over", true)) << shown;
  EXPECT_TRUE(shown.is_object() && shown["decision"].is_null()) << shown;
  work.run({"daemon", "stop"});
}

TEST_F(SameNumber, OnAnotherClusterOrOfAControllerThatLostItsStateIsAnotherJob) {
  TestCluster first({"--nodes", "1", "--cpus", "2"});
  if (first.cannot_run_here()) GTEST_SKIP() << first.why_not();
  TestCluster second({"--nodes", "1", "--cpus", "2", "--conf", "ClusterName=second"});
  ASSERT_TRUE(first.up() && second.up()) << first.why_not() << second.why_not();
  Workplace work(first.share() + "/work");
  work.before = first.login();
  work.environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", work.path() + "/cache"}};
  const auto job = work.file("job.yaml",
                             "name: one\nresources: {nodes: 1, ranks_per_node: 1, device: cpu, "
                             "time: 5}\nrun: [sleep, '300']\n");
  const auto ended = work.run({"run", job, "--detach", "--run-dir", work.run_dir()});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto number = work.job_id();
  ASSERT_TRUE(happens_within(30s, [&] {
    return work.run({"status", work.run_dir()}).out.find("one: running") != std::string::npos;
  }));

  take(second, number);
  work.before = second.login();
  expect_left_alone(work, second, number,
                    "was submitted on cluster cluster, this is cluster second");
  EXPECT_THAT(work.run({"status", work.run_dir()}).out, HasSubstr("one: elsewhere"));
  const auto again = work.run({"run", job, "--detach", "--run-dir", work.run_dir()});
  EXPECT_EQ(again.exit_code, 3) << again.out;
  expect_daemon_concludes_nothing(work);
  EXPECT_FALSE(std::filesystem::exists(work.run_dir() + "/summary.json"));
  work.before = first.login();
  EXPECT_THAT(work.run({"status", work.run_dir()}).out, HasSubstr("one: running"));

  ASSERT_TRUE(first.tell("stop-controller"));
  std::filesystem::remove_all(first.path() + "/slurm/state");
  std::filesystem::create_directory(first.path() + "/slurm/state");
  std::filesystem::permissions(first.path() + "/slurm/state", std::filesystem::perms::all);
  ASSERT_TRUE(first.tell("start-controller"));
  // The user's own, of the same name: only the token tells them apart.
  take(first, number, "one");
  expect_left_alone(
      work, first, number,
      "Slurm now uses job id " + number + " for another job, which was not cancelled");
}

}  // namespace
}  // namespace dllaunch
