// What the sbatch script says is what a real Slurm does: masks, node kinds, arrays, requeueing, and
// text that Slurm must take as it is. One cluster for all of it: n1 and n2 alike, n3 of two
// sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "tests/end_to_end/launched.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

/// Each rank writes its node, local rank and mask.
constexpr const char* where_text = R"yaml(name: where
resources: {nodes: 2, ranks_per_node: 2, device: cpu, time: 2}
run: [sh, -c, "echo $LOCAL_RANK $(sed -n s/^Cpus_allowed_list:.//p /proc/self/status)"]
)yaml";

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SlurmRender : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    share_ = std::make_unique<TemporaryFolder>();
    const auto up = cluster({"up", folder_->path(), "--owner", std::to_string(getpid()), "--nodes",
                             "3", "--cpus", "2", "--odd-node", "n3:sockets=2", "--partition",
                             "alike Nodes=n[1-2]", "--partition", "mixed Nodes=n[2-3]", "--share",
                             share_->path(), "--share", DLLAUNCH_BIN_DIR});
    reason_ = !up ? up.error().what : up->exit_code == 0 ? "" : up->err;
    absent_ = up && up->exit_code == 77;
  }
  static void TearDownTestSuite() {
    if (reason_.empty()) {
      const auto down = cluster({"down", folder_->path()});
      EXPECT_TRUE(down && down->exit_code == 0);
    }
    share_.reset();
    folder_.reset();
  }

  void SetUp() override {
    if (absent_) GTEST_SKIP() << reason_;
    ASSERT_EQ(reason_, "");
    fs::permissions(share_->path(), fs::perms::all);
    work_.before = {program(), "run", folder_->path(), "--", "env", "-C", share_->path()};
    work_.environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", share_->path() + "/cache"}};
    run_ = share_->path() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  static std::string program() {
    return std::string(DLLAUNCH_SOURCE_DIR) + "/tests/cluster/cluster";
  }
  static Result<CommandOutput> cluster(std::vector<std::string> argv) {
    argv.insert(argv.begin(), program());
    return PosixSystem(Console{}).run(argv, patience * 90s);
  }
  static std::string on_head(std::vector<std::string> argv) {
    std::vector<std::string> all = {"run", folder_->path(), "--", "env",
                                    "XDG_STATE_HOME=" + share_->path() + "/state"};
    all.insert(all.end(), argv.begin(), argv.end());
    const auto output = cluster(all);
    return output ? output->out + output->err : output.error().what;
  }

  std::string share_file(const std::string& name, const std::string& text) {
    std::ofstream(share_->path() + "/" + name, std::ios::binary) << text;
    return share_->path() + "/" + name;
  }
  /// All that the ranks of a run have written.
  static std::string logs_in(const fs::path& run) {
    std::string logs;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(run / "out", none))
      logs += text_of(entry.path());
    return logs;
  }

  /// "n1" -> local rank -> its CPUs, from the logs of where_text.
  static std::map<std::string, std::map<int, std::string>> masks_in(const std::string& run) {
    std::map<std::string, std::map<int, std::string>> masks;
    for (const auto& entry : fs::directory_iterator(run + "/out")) {
      const auto name = entry.path().stem().string();  // rank-0000-n1
      std::istringstream log(text_of(entry.path()));
      int local_rank = -1;
      std::string cpus;
      log >> local_rank >> cpus;
      masks[name.substr(name.rfind('-') + 1)][local_rank] = cpus;
    }
    return masks;
  }

  Json plan_of(const std::vector<std::string>& argv) {
    std::vector<std::string> all = {"plan", "--json"};
    all.insert(all.end(), argv.begin(), argv.end());
    const auto ended = work_.run(all);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return Json::parse(ended.out, nullptr, false);
  }

  static inline std::unique_ptr<TemporaryFolder> folder_;
  static inline std::unique_ptr<TemporaryFolder> share_;
  static inline std::string reason_;
  static inline bool absent_ = false;
  Workplace work_;
  std::string run_;
};

TEST_F(SlurmRender, SrunsMasksAreThePlans) {
  const auto job = share_file("where.yaml", where_text);
  ASSERT_EQ(work_.run({"probe", "alike"}).exit_code, 0);
  const auto plan = plan_of({job});
  const auto bind = plan["binding"]["srun"]["cpu_bind"].get<std::string>();
  EXPECT_THAT(bind, HasSubstr("mask_cpu:0x"));
  EXPECT_THAT(plan["srun"], testing::Contains("--cpu-bind=" + bind));
  const auto ended = work_.run({"run", job, "--run-dir", run_});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto masks = masks_in(run_);
  ASSERT_EQ(masks.size(), 2u);
  for (const auto& [node, ranks] : masks)
    for (const auto& rank : plan["binding"]["ranks"])
      EXPECT_EQ(ranks.at(rank["local_rank"].get<int>()), rank["cpus"].get<std::string>()) << node;
}

TEST_F(SlurmRender, OnSharedNodesTheShimBinds) {
  const auto job = share_file("where.yaml", where_text);
  const std::vector<std::string> argv = {job, "--set", "resources.exclusive=false"};
  const auto plan = plan_of(argv);
  EXPECT_THAT(plan["srun"], testing::Contains("--cpu-bind=none"));
  EXPECT_FALSE(plan["sbatch"].contains("--mem"));
  auto run = argv;
  run.insert(run.begin(), "run");
  run.insert(run.end(), {"--run-dir", run_});
  const auto ended = work_.run(run);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  for (const auto& [node, ranks] : masks_in(run_))
    for (const auto& rank : plan["binding"]["ranks"])
      EXPECT_EQ(ranks.at(rank["local_rank"].get<int>()), rank["cpus"].get<std::string>()) << node;
}

TEST_F(SlurmRender, JobsThatShareANodeShareNoCpu) {
  const auto job = share_file("part.yaml", R"yaml(name: part
resources: {nodes: 1, ranks_per_node: 1, cpus_per_rank: 1, device: cpu, exclusive: false, time: 10,
            sbatch_extra: [--nodelist=n1]}
run: [sh, -c, "echo $(sed -n s/^Cpus_allowed_list:.//p /proc/self/status); exec sleep 600"]
)yaml");
  for (const auto* side : {"-a", "-b"})
    ASSERT_EQ(work_.run({"run", job, "--detach", "--run-dir", run_ + side}).exit_code, 0);
  const auto both = [&] { return logs_in(run_ + "-a") != "" && logs_in(run_ + "-b") != ""; };
  EXPECT_TRUE(happens_within(20s, both));
  const std::set<std::string> cpus = {logs_in(run_ + "-a"), logs_in(run_ + "-b")};
  EXPECT_EQ(cpus, (std::set<std::string>{"0\n", "1\n"})) << "without a word on it";
  on_head({"scancel", "--user=root"});
}

TEST_F(SlurmRender, NodesThatDifferBindThemselves) {
  const auto job = share_file("where.yaml", where_text);
  const std::vector<std::string> argv = {job, "--set", "resources.partition=mixed"};
  const auto plan = plan_of(argv);
  EXPECT_THAT(plan["srun"], testing::Contains("--cpu-bind=none"));
  EXPECT_EQ(plan["topology"]["exact"], false);
  auto run = argv;
  run.insert(run.begin(), "run");
  run.insert(run.end(), {"--run-dir", run_});
  const auto ended = work_.run(run);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("differ"));
  const auto masks = masks_in(run_);
  ASSERT_TRUE(masks.contains("n2") && masks.contains("n3"));
  for (const auto& [node, ranks] : masks) {
    ASSERT_EQ(ranks.size(), 2u) << node;
    EXPECT_NE(ranks.at(0), "") << node;
    EXPECT_NE(ranks.at(0), ranks.at(1)) << node << ": no two ranks share a CPU";
  }
}

TEST_F(SlurmRender, ARequeuedJobGoesOnInItsLogs) {
  const auto job = share_file("again.yaml", R"yaml(name: again
resources: {nodes: 1, ranks_per_node: 1, device: cpu, time: 5}
run: [bash, -c, 'echo "start ${SLURM_RESTART_COUNT:-0}"; ((SLURM_RESTART_COUNT > 0)) || sleep 100']
)yaml");
  work_.start({"run", job, "--run-dir", run_});
  const auto started = [&] {
    return logs_in(run_) == "start 0\n" &&
           work_.text_of("stderr").find("running on") != std::string::npos;
  };
  ASSERT_TRUE(happens_within(30s, started)) << work_.text_of("stderr");
  std::string id = text_of(run_ + "/job.id");
  id.pop_back();
  EXPECT_EQ(on_head({"scontrol", "requeue", id}), "");
  const auto ended = work_.wait(60s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("back in the queue"));
  EXPECT_THAT(logs_in(run_), HasSubstr("start 0\n"));
  EXPECT_THAT(logs_in(run_), HasSubstr("start 1\n"));
}

TEST_F(SlurmRender, ARequeuedTrainingGoesOnFromItsCheckpoint) {
  const auto job = share_file("train.yaml", R"yaml(name: train
resources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 5}
environment: {variables: {OMP_NUM_THREADS: "1"}}
train:
  model: lenet
  backend: reference
  dataset: {kind: synthetic, images: 1024, classes: 10, channels: 1, image_size: 28}
  batch_size: 8
)yaml");
  const int count = epochs_of_seconds();
  work_.start({"run", job, "--run-dir", run_, "--set=train.epochs=" + std::to_string(count)});
  const auto saved = [&] { return !events_of(run_, "checkpoint").empty(); };
  ASSERT_TRUE(happens_within(40s, saved)) << work_.text_of("stderr");
  std::string id = text_of(run_ + "/job.id");
  id.pop_back();
  EXPECT_EQ(on_head({"scontrol", "requeue", id}), "");
  const auto ended = work_.wait(90s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(events_of(run_, "start").size(), 2u);
  const auto restarts = events_of(run_, "restart");
  ASSERT_EQ(restarts.size(), 2u) << ended.err;
  EXPECT_EQ(restarts[0]["reason"], "requeued by scontrol") << "the supervisor's";
  EXPECT_THAT(restarts[1]["from"].dump(), HasSubstr("step-")) << "the trainer's";
  EXPECT_THAT(text_of(run_ + "/summary.json"), HasSubstr("\"restarts\": 1,"));
  // No epoch is missing, and only one that the requeueing cut may have been made twice.
  std::set<int> epochs;
  for (const auto& event : events_of(run_, "epoch")) epochs.insert(event["epoch"].get<int>());
  EXPECT_EQ(epochs.size(), static_cast<std::size_t>(count));
}

TEST_F(SlurmRender, AnArraysTasksKeepApartByHandToo) {
  const auto job = share_file("array.yaml", R"yaml(name: array
resources: {nodes: 1, ranks_per_node: 1, device: cpu, time: 2}
array: 0-3%2
run: [bash, -c, 'echo "$SLURM_ARRAY_TASK_ID in $DLLAUNCH_RUN_DIR"']
)yaml");
  const auto script = work_.run({"script", job});
  ASSERT_EQ(script.exit_code, 0) << script.err;
  const auto path = share_file("array.sbatch", script.out);
  const auto said =
      on_head({"sh", "-c", "cd \"$0\" && sbatch --wait array.sbatch; ls", share_->path()});
  EXPECT_THAT(said, HasSubstr("slurm-")) << "the output lies where sbatch was called";
  std::vector<fs::path> runs;
  for (const auto& entry : fs::directory_iterator(share_->path() + "/runs"))
    if (entry.path().filename().string().starts_with("array-")) runs.push_back(entry.path());
  ASSERT_EQ(runs.size(), 1u) << said;
  for (const std::string task : {"0", "1", "2", "3"}) {
    const auto directory = runs[0] / ("task-" + task);
    EXPECT_EQ(logs_in(directory), task + " in " + directory.string() + "\n");
  }
}

TEST_F(SlurmRender, APlainScriptsRanksAreBoundAsThePlanSays) {
  const auto job =
      share_file("plain.yaml", R"yaml(resources: {nodes: 2, ranks_per_node: 2, device: cpu, time: 2}
framework: pytorch
run:
- sh
- -c
- |
  cpus=$(sed -n s/^Cpus_allowed_list:.//p /proc/self/status)
  echo "$SLURMD_NODENAME $LOCAL_RANK $cpus rank $RANK/$WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT"
  exit 7
)yaml");
  ASSERT_EQ(work_.run({"probe", "alike"}).exit_code, 0);
  const auto plan = plan_of({job});
  const auto script = work_.run({"script", "--plain", job});
  ASSERT_EQ(script.exit_code, 0) << script.err;
  EXPECT_THAT(script.out, Not(HasSubstr(DLLAUNCH_BIN_DIR))) << "it needs no dllaunch";
  share_file("plain.sbatch", script.out);
  const auto output = share_->path() + "/plain.out";
  const auto ended = cluster({"run", folder_->path(), "--", "env", "-C", share_->path(), "sbatch",
                              "--wait", "--output=" + output, "plain.sbatch"});
  ASSERT_TRUE(ended) << ended.error().what;
  EXPECT_EQ(ended->exit_code, 7) << ended->err << text_of(output);
  const auto said = text_of(output);
  for (const auto& rank : plan["binding"]["ranks"])
    for (const std::string node : {"n1", "n2"})
      EXPECT_THAT(said, HasSubstr(node + " " + rank["local_rank"].dump() + " " +
                                  rank["cpus"].get<std::string>() + " rank "));
  EXPECT_THAT(said, HasSubstr("rank 3/4 at n1:2"));
}

TEST_F(SlurmRender, APlainScriptOfATrainingNeedsTheTrainerAlone) {
  const auto job = share_file("trains.yaml", R"yaml(name: trains
resources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 5}
runtime: {transport: tcp}
train:
  model: lenet
  backend: reference
  dataset: {kind: synthetic, images: 64, classes: 10, channels: 1, image_size: 28}
  batch_size: 8
)yaml");
  const auto script = work_.run({"script", "--plain", job});
  ASSERT_EQ(script.exit_code, 0) << script.err;
  share_file("trains.sbatch", script.out);
  const auto output = share_->path() + "/trains.out";
  const auto ended = cluster({"run", folder_->path(), "--", "env", "-C", share_->path(), "sbatch",
                              "--wait", "--output=" + output, "trains.sbatch"});
  ASSERT_TRUE(ended) << ended.error().what;
  EXPECT_EQ(ended->exit_code, 0) << ended->err << text_of(output);
  const auto begin = script.out.find("dllaunch_run=") + std::string("dllaunch_run=").size();
  const auto run = script.out.substr(begin, script.out.find('\n', begin) - begin);
  EXPECT_FALSE(events_of(run, "checkpoint").empty()) << text_of(output);
}

TEST_F(SlurmRender, SlurmTakesHostileTextAsItIs) {
  const std::string hostile = R"--(it's "$(touch pwned)" `x` # \ %j & é ;)--";
  Json job = {{"name", "-n9 " + hostile},
              {"resources",
               {{"device", "cpu"},
                {"ranks_per_node", 1},
                {"sbatch_extra", {"-H", "--comment=" + hostile, "!--requeue"}}}},
              {"run", {"true", hostile}}};
  const auto ended =
      work_.run({"run", share_file("hostile.yaml", job.dump()), "--detach", "--run-dir", run_});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  std::string id = text_of(run_ + "/job.id");
  id.pop_back();
  const auto shown = on_head({"scontrol", "show", "job", id});
  EXPECT_THAT(shown, HasSubstr("JobName=-n9 " + hostile));
  EXPECT_THAT(shown, HasSubstr("Comment=" + hostile));
  EXPECT_THAT(shown, HasSubstr("Reason=JobHeldUser"));
  EXPECT_FALSE(fs::exists(share_->path() + "/pwned"));
  on_head({"scancel", id});
}

/// With Pyxis srun starts the shim inside the image. Here a folder is the image, without a single
/// library: the shim runs on what the script brought along, and starts what is inside.
TEST(PyxisScript, TheShimRunsWhereNoneOfItsLibrariesAre) {
  PosixSystem system{Console{}};
  const auto may = system.run({"unshare", "--mount", "true"}, 10s);
  if (!may || may->exit_code != 0) GTEST_SKIP() << "unavailable: unshare --mount";
  const Workplace work;
  // The script's assignment keeps its variable exported.
  const std::string in_jail = "export dllaunch_run= PATH=\"$PWD/bin:$PATH\"\n";
  fs::create_directory(work.path() + "/bin");
  const auto srun = work.file("bin/srun", R"(#!/bin/bash
  until [[ $1 == */ld.so ]]; do shift || exit 9; done
  jail=$PWD/jail
  mkdir -p "$jail/proc" "$jail/sys" "$jail$dllaunch_run"
  SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NNODES=1 SLURM_STEP_ID=0 \
    unshare --mount bash -c '
    mount --bind /proc "$0/proc" && mount --rbind /sys "$0/sys" &&
      mount --bind "$1" "$0$1" && exec chroot "$0" "${@:2}"' "$jail" "$dllaunch_run" "$@"
)");
  fs::permissions(srun, fs::perms::owner_all);
  const auto facts = Json::parse(
      R"({"host": "head", "slurm": {"cluster": "c", "version": "24.05", "pyxis": true,
          "partitions": [{"name": "p", "default": true,
                          "node_types": [{"hosts": "n1", "cpus": 2, "cores_per_socket": 2}]}]}})");
  const auto job = work.file("job.yaml", R"(name: inside
resources: {device: cpu, ranks_per_node: 1}
environment: {container: {image: "a#b", runtime: enroot}}
framework: none
run: [sh, -c, "the shim's own loader stands in for sh"]
)");
  Workplace login;
  const auto script = login.run({"script", job, "--facts", work.file("facts.json", facts.dump())});
  ASSERT_EQ(script.exit_code, 0) << script.err;
  // The image's program: what came along and needs no library itself.
  const auto text = std::regex_replace(script.out, std::regex("sh -c '[^\n]*"),
                                       "\"$dllaunch_run/shim/ld.so\" --version");
  const auto path = work.file("inside.sbatch", in_jail + text);
  const auto ran =
      system.run({"bash", "-c", "cd \"$0\" && exec bash inside.sbatch", work.path()}, 30s);
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->exit_code, 0) << ran->err << script.out;
  std::string logs;
  for (const auto& entry : fs::recursive_directory_iterator(login.path() + "/runs"))
    if (entry.path().extension() == ".log") logs += text_of(entry.path());
  EXPECT_THAT(logs, HasSubstr("ld.so")) << ran->err;
  EXPECT_THAT(logs, Not(HasSubstr("error"))) << logs;
}

/// As the starter of a bundle does where the C library is old: by a loader, under a name that is no
/// file.
TEST(PyxisScript, TheShimIsCopiedOfAProgramThatALoaderStarted) {
  const Workplace work;
  PosixSystem system{Console{}};
  const std::string first = work.path() + "/first";
  const std::string second = work.path() + "/second";
  const auto copied = system.run({DLLAUNCH_BIN_DIR "/dllaunch", "stage", "--shim", first}, 10s);
  ASSERT_TRUE(copied);
  ASSERT_EQ(copied->exit_code, 0) << copied->err;
  const auto again = system.run({first + "/ld.so", "--library-path", first, "--argv0", "/no/such",
                                 first + "/dllaunch", "stage", "--shim", second},
                                10s);
  ASSERT_TRUE(again);
  ASSERT_EQ(again->exit_code, 0) << again->err;
  fs::remove_all(first);
  const auto ran = system.run(
      {second + "/ld.so", "--inhibit-cache", "--library-path", second, second + "/dllaunch", "-V"},
      10s);
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->exit_code, 0) << ran->err;
  EXPECT_THAT(ran->out, HasSubstr("dllaunch"));
}

/// What ranks find of a script: exported and other variables, arrays, a function, the directory,
/// and what the script evaluates once.
constexpr const char* script_text = R"sh(#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=2 --partition=alike --time=2 --output=%o.out
export GREETING=hello
cd inner
PLAIN="two words"
ARGS=(--a "x y" --b)
say() { echo "$SLURM_PROCID function on $(hostname): $GREETING, $PLAIN, $# arguments: $*"; }
export -f say
ONCE=$(hostname)
srun -l bash -c 'say "$@"; pwd' say "${ARGS[@]}" $PLAIN "from $(hostname)" $ONCE
)sh";

TEST_F(SlurmRender, ConvertedScriptsRunAsBefore) {
  fs::create_directories(share_->path() + "/inner");
  auto script = std::string(script_text);
  const auto output = share_->path() + "/as-before.out";
  script.replace(script.find("%o.out"), 6, output);
  const auto path = share_file("before.sbatch", script);
  on_head({"env", "-C", share_->path(), "sbatch", "--wait", path});
  const auto made = work_.run({"init", "--from", path, "-o", share_->path() + "/after.yaml"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto ended = work_.run({"run", share_->path() + "/after.yaml", "--run-dir", run_});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto lines_in = [](const std::string& text) {
    std::multiset<std::string> lines;
    std::istringstream in(std::regex_replace(text, std::regex("(^|\n)[0-9]: "), "$1"));
    for (std::string line; std::getline(in, line);) lines.insert(line);
    return lines;
  };
  const auto before = lines_in(text_of(output));
  EXPECT_EQ(before.size(), 8u) << text_of(output);
  EXPECT_EQ(lines_in(logs_in(run_)), before) << text_of(share_->path() + "/after.yaml");
}

}  // namespace
}  // namespace dllaunch
