// Modular jobs on this machine: the examples, ends, signals, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "support/id_set.hpp"
#include "support/json.hpp"
#include "tests/end_to_end/launched.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string examples = std::string(DLLAUNCH_SOURCE_DIR) + "/examples/";

class LocalComponents : public testing::Test {
 protected:
  LocalComponents() { work_.environment = {{"XDG_STATE_HOME", work_.path() + "/state"}}; }

  Ended run(const std::string& components, const std::string& more = "") {
    const auto job = work_.file("job.yaml",
                                "name: both\nresources: {device: cpu, ranks_per_node: "
                                "1}\n" +
                                    more + "components:\n" + components);
    return work_.run({"run", job, "--local", "--run-dir", work_.run_dir()});
  }
  Json status() {
    return Json::parse(work_.run({"status", work_.run_dir(), "--json"}).out, nullptr, false);
  }

  Workplace work_;
};

TEST_F(LocalComponents, TheLoaderFeedsTheTrainer) {
  const auto ended = work_.run(
      {"run", examples + "data-loading/job.yaml", "--local", "--run-dir", work_.run_dir(), "--set",
       "components.loader.run=[python3, " + examples + "data-loading/load.py]", "--set",
       "components.trainer.run=[python3, " + examples + "data-loading/train.py]"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, testing::ContainsRegex("trainer \\[[^]]*:0\\] step 50 loss"));
  EXPECT_THAT(ended.err, HasSubstr("loader: told to stop"));
  const auto told = status();
  EXPECT_EQ(told["state"], "completed");
  EXPECT_EQ(told["components"][0]["state"], "stopped");
  EXPECT_EQ(told["components"][1]["state"], "completed");
}

/// Where others can replace the run's directory.
TEST_F(LocalComponents, RunFromCopiesOrWithout) {
  std::filesystem::permissions(std::filesystem::path(work_.path()), std::filesystem::perms::all);
  for (const bool writable : {true, false}) {
    work_.before = {"env", "XDG_STATE_HOME=" + (writable ? work_.path() + "-state" : "/proc")};
    const auto ended = run("  - {name: a, run: [\"true\"]}\n  - {name: b, run: [\"true\"]}\n");
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(writable ? "what the run executes is taken from "
                                              : "no copies of what the run executes can be kept"));
    std::filesystem::remove_all(work_.run_dir());
  }
  std::filesystem::remove_all(work_.path() + "-state");
}

TEST_F(LocalComponents, WorkersMeetTheirParameterServer) {
  const auto ended = work_.run({"run", examples + "parameter-server/job.yaml", "--local",
                                "--run-dir", work_.run_dir(), "--set",
                                "run=[python3, " + examples + "parameter-server/train.py]"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("server: 2 workers are done"));
  const auto logs = work_.run({"logs", work_.run_dir()});
  EXPECT_THAT(logs.out, HasSubstr("worker ["));
  EXPECT_THAT(work_.run({"logs", work_.run_dir() + "/components/worker", "--rank", "1"}).out,
              HasSubstr("worker 1: 60 steps"));
  EXPECT_THAT(work_.run({"logs", work_.run_dir(), "--rank", "1"}).err,
              HasSubstr("each component numbers its ranks from 0"));
  EXPECT_THAT(work_.run({"report", work_.run_dir()}).out, HasSubstr("component worker  completed"));
}

TEST_F(LocalComponents, OneThatFailsEndsTheJob) {
  const auto ended =
      run("  - {name: loader, run: 'trap \"echo told; exit 0\" TERM; sleep 600 & wait'}\n"
          "  - {name: trainer, run: 'sleep 1; echo \"ValueError: bad\" >&2; exit 7'}\n");
  EXPECT_EQ(ended.exit_code, 1);
  // Open MPI 5's mpirun does not say which.
  EXPECT_THAT(ended.err, testing::ContainsRegex("component trainer: (rank 0 on .*|a rank) exited "
                                                "with code 7"));
  EXPECT_EQ(status()["state"], "failed");
}

// The cores of the two do not meet, where there are as many.
TEST_F(LocalComponents, HaveSharesOfTheMachine) {
  const auto ended =
      run("  - {name: a, run: 'echo \"cpus $(taskset -cp $$)\"'}\n"
          "  - {name: b-c, run: 'echo \"cpus $(taskset -cp $$)\"; env'}\n");
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto cpus_of = [&](const std::string& name) {
    const auto text = work_.run({"logs", work_.run_dir() + "/components/" + name}).out;
    const auto at = text.find("list: ") + 6;
    return parse_id_list(text.substr(at, text.find('\n', at) - at)).operator*();
  };
  const auto plan = work_.run({"plan", work_.path() + "/job.yaml", "--local", "--json"});
  const auto cores = Json::parse(plan.out, nullptr, false);
  ASSERT_FALSE(cores.is_discarded()) << plan.err;
  if (std::thread::hardware_concurrency() > 1) {
    EXPECT_FALSE(cpus_of("a").intersects(cpus_of("b-c")));
  }
  const auto text = work_.run({"logs", work_.run_dir() + "/components/b-c"}).out;
  EXPECT_THAT(text, HasSubstr("DLLAUNCH_COMPONENT=b-c\n"));
  EXPECT_THAT(text, HasSubstr("DLLAUNCH_COMPONENT_B_C_ADDRESS=127.0.0.1\n"));
  EXPECT_THAT(text, HasSubstr("DLLAUNCH_COMPONENT_A_RANKS=1\n"));
}

TEST_F(LocalComponents, CtrlCEndsAll) {
  const auto job = work_.file("job.yaml",
                              "name: both\nresources: {device: cpu, ranks_per_node: 1}\nrun: "
                              "'touch here-$DLLAUNCH_COMPONENT; "
                              "sleep 600'\ncomponents: [{name: a}, {name: b}]\n");
  work_.start({"run", job, "--local", "--run-dir", work_.run_dir()});
  for (const char* name : {"/here-a", "/here-b"})
    ASSERT_TRUE(happens_within(60s, [&] { return std::filesystem::exists(work_.path() + name); }));
  work_.signal(SIGINT);
  const auto ended = work_.wait();
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  for (const char* name : {"a", "b"}) EXPECT_TRUE(all_end(work_.run_dir() + "/components/" + name));
}

// The first that has saved does not cut the other off.
TEST_F(LocalComponents, CtrlCLetsAllSave) {
  const auto job = work_.file("job.yaml", R"(name: both
resources: {device: cpu, ranks_per_node: 1}
components:
  - {name: a, run: 'trap "exit 0" TERM; touch here-a; while :; do sleep 0.1; done'}
  - name: b
    run: 'trap "sleep 3; touch saved; exit 0" TERM; touch here-b; while :; do sleep 0.1; done'
)");
  work_.start({"run", job, "--local", "--run-dir", work_.run_dir()});
  for (const char* name : {"/here-a", "/here-b"})
    ASSERT_TRUE(happens_within(60s, [&] { return std::filesystem::exists(work_.path() + name); }));
  work_.signal(SIGINT);
  EXPECT_EQ(work_.wait().exit_code, 130);
  EXPECT_TRUE(std::filesystem::exists(work_.path() + "/saved"));
}

TEST_F(LocalComponents, WhatDoesNotCombineIsRefused) {
  const auto job = work_.file("job.yaml",
                              "name: both\nrun: 'true'\ncomponents: [{name: a}, {name: b, "
                              "resources: {nodes: 2}}]\n");
  EXPECT_THAT(work_.run({"run", job, "--local"}).err, HasSubstr("component b: asked for 2 nodes"));
  for (const char* verb : {"sweep", "study"}) {
    const auto refused = work_.run({verb, job});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("is a modular job (components:)")) << verb;
  }
  const auto array = work_.file("array.yaml",
                                "name: x\nrun: 'true'\narray: 0-3\n"
                                "components: [{name: a}, {name: b}]\n");
  EXPECT_THAT(work_.run({"validate", array}).err,
              HasSubstr("4:1: error: components and array do not combine"));
}

}  // namespace
}  // namespace dllaunch
