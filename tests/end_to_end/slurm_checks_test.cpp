// What is looked at before a job waits in the queue, on a real Slurm with real accounting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "launcher/cluster/facts.hpp"
#include "launcher/cluster/slurm_facts.hpp"
#include "launcher/os/posix_system.hpp"
#include "launcher/slurm/input_variables.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "launcher/slurm/slurm_json.hpp"
#include "tests/end_to_end/launched.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string program = std::string(DLLAUNCH_SOURCE_DIR) + "/tests/cluster/cluster";

Result<CommandOutput> call_cluster(std::vector<std::string> argv) {
  argv.insert(argv.begin(), program);
  return PosixSystem(Console{}).run(argv, patience * 90s);
}

/// One cluster for all: accounting is slow to start. Where there is none, without.
class SlurmChecks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    place_ = new Workplace;
    std::vector<std::string> argv = {"up",          folder_->path(),
                                     "--owner",     std::to_string(getpid()),
                                     "--nodes",     "3",
                                     "--cpus",      "2",
                                     "--gpus",      "2",
                                     "--gpu-type",  "a100",
                                     "--odd-node",  "n3:gpu-type=a100+v100",
                                     "--user",      "alice",
                                     "--share",     place_->path(),
                                     "--share",     DLLAUNCH_BIN_DIR,
                                     "--partition", "batch MaxTime=60 DefaultTime=10",
                                     "--partition", "pairs MinNodes=2 MaxNodes=2",
                                     "--partition", "shut State=DRAIN",
                                     "--partition", "bioq"};
    auto with = argv;
    with.insert(with.end(),
                {"--accounting", "--conf", "AccountingStorageEnforce=associations,limits"});
    auto up = call_cluster(with);
    accounting_ = up && up->exit_code == 0;
    if (!accounting_) up = call_cluster(argv);
    if (!up || up->exit_code != 0) {
      why_not_ = up ? up->err : up.error().what;
      skipped_ = up && up->exit_code == 77;
      return;
    }
    up_ = true;
    if (accounting_)
      as_root(
          "sacctmgr -i add account physics; sacctmgr -i add account bio; "
          "sacctmgr -i add user alice account=physics defaultaccount=physics");
    place_->before = {program, "run", folder_->path(), "--user", "alice", "--"};
    place_->environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", place_->path() + "/cache"}};
    std::filesystem::permissions(place_->path(), std::filesystem::perms::all);
  }
  static void TearDownTestSuite() {
    if (up_) {
      const auto down = call_cluster({"down", folder_->path()});
      EXPECT_TRUE(down && down->exit_code == 0);
    }
    delete place_;
    delete folder_;
  }
  void SetUp() override {
    if (!up_ && skipped_) GTEST_SKIP() << why_not_;
    ASSERT_TRUE(up_) << why_not_;
  }

  static std::string as_root(const std::string& commands) {
    const auto output = call_cluster({"run", folder_->path(), "--", "bash", "-c", commands});
    return output ? output->out : "";
  }
  static Ended plan(const std::string& job, std::vector<std::string> more = {}) {
    std::vector<std::string> argv = {"plan", place_->file("job.yaml", job), "--check"};
    argv.insert(argv.end(), more.begin(), more.end());
    return place_->run(argv);
  }

  static TemporaryFolder* folder_;
  static Workplace* place_;
  static bool up_;
  static bool skipped_;
  static bool accounting_;
  static std::string why_not_;
};

TemporaryFolder* SlurmChecks::folder_ = nullptr;
Workplace* SlurmChecks::place_ = nullptr;
bool SlurmChecks::up_ = false;
bool SlurmChecks::skipped_ = false;
bool SlurmChecks::accounting_ = false;
std::string SlurmChecks::why_not_;

constexpr const char* good = R"(name: good
resources: {nodes: 2, gpus_per_node: 2, time: "00:05:00", account: physics}
run: [sleep, "0"]
)";

TEST_F(SlurmChecks, AGoodJobGetsSlurmsEstimate) {
  const auto ended = plan(good);
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("Slurm expects it to start at 20"));
  EXPECT_THAT(ended.out, testing::Not(HasSubstr("error")));
}

TEST_F(SlurmChecks, AllProblemsAreInOneMessageAndNothingIsSubmitted) {
  const auto job = place_->file("bad.yaml", R"(name: bad
resources:
  nodes: 9
  time: "9:00:00"
  account: phisics
  reservation: nope
  sbatch_extra: ["--gres=gpu:h100:2"]
stage: [no-such-data.tar]
run: [./no-such-program]
)");
  const auto ended = place_->run({"run", job, "--run-dir", "/proc/run"});
  EXPECT_EQ(ended.exit_code, 2) << ended.err;
  for (const char* message :
       {"problems, nothing was submitted", "asked for 9 nodes", "partition batch has 3",
        "asked for 9:00:00, the limit of partition batch is 60 minutes", "no reservation 'nope'",
        "GPUs of type h100, partition batch has GPUs of type a100 v100", "no file",
        "no-such-program", "stage: no file or folder", "/proc/run", "try: "})
    EXPECT_THAT(ended.err, HasSubstr(message));
  if (accounting_) {
    EXPECT_THAT(ended.err, HasSubstr("you are not a member of account phisics"));
    EXPECT_THAT(ended.err, HasSubstr("set resources.account: physics"));
  }
  EXPECT_EQ(as_root("squeue --noheader --all"), "");
}

/// Only accounting records the canceller; here an administrator cancels an ordinary user's job.
TEST_F(SlurmChecks, AJobCancelledByAnotherUserSaysWho) {
  if (!accounting_) GTEST_SKIP() << "no accounting on this machine, so the canceller is unknown";
  const auto run_dir = place_->path() + "/cancelled";
  place_->start({"run", place_->file("job.yaml", good), "--run-dir", run_dir, "--set",
                 "resources.sbatch_extra=[--begin=now+1hour]"});
  ASSERT_TRUE(happens_within(40s, [] {
    return place_->text_of("stderr").find("waiting for its start time") != std::string::npos;
  })) << place_->text_of("stderr");
  as_root("scancel --user=alice");
  const auto ended = place_->wait(60s);
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(" was cancelled by root\n"));
  const auto told = place_->run({"status", run_dir});
  EXPECT_THAT(told.out, HasSubstr("good: cancelled"));
  EXPECT_THAT(told.out, HasSubstr("was cancelled by root"));
}

TEST_F(SlurmChecks, PartitionsThatAreShutOrOfAnotherSize) {
  const auto shut = plan(good, {"--set", "resources.partition=shut"});
  EXPECT_EQ(shut.exit_code, 3) << shut.out;
  EXPECT_THAT(shut.out, HasSubstr("partition shut is being drained and accepts no jobs"));
  const auto pairs =
      plan(good, {"--set", "resources.partition=pairs", "--set", "resources.nodes=1"});
  EXPECT_EQ(pairs.exit_code, 3) << pairs.out;
  EXPECT_THAT(pairs.out, HasSubstr("partition pairs is for jobs of at least 2"));
}

TEST_F(SlurmChecks, AReservationOfOthersThatHasNotBegun) {
  as_root(
      "scontrol create reservation reservationname=later starttime=now+1hour duration=60 "
      "users=root nodes=n1");
  const auto ended = plan(good, {"--set", "resources.reservation=later"});
  as_root("scontrol delete reservationname=later");
  EXPECT_EQ(ended.exit_code, 3) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("reservation later is not for alice"));
  EXPECT_THAT(ended.out, HasSubstr("reservation later is not active"));
  EXPECT_THAT(ended.out, HasSubstr("asked for 2 nodes, reservation later has 1"));
}

TEST_F(SlurmChecks, DrainedNodesAreThereButNotNow) {
  as_root("scontrol update nodename=n2,n3 state=drain reason='bad fan'");
  const auto ended = plan(good);
  as_root("scontrol update nodename=n2,n3 state=resume");
  EXPECT_EQ(ended.exit_code, 0) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("2 of the 3 there are out of order"));
  EXPECT_THAT(ended.out, HasSubstr("bad fan"));
}

constexpr const char* short_job = R"(name: short
resources: {nodes: 1, ranks_per_node: 1, device: cpu, time: "00:05:00"}
run: 'echo "ran in $SLURM_JOB_PARTITION for $SLURM_JOB_ACCOUNT"'
)";

/// batch ends jobs after an hour, bioq does not. (With AllowAccounts and two accounts of one user
/// slurmctld 22.05 dies.)
TEST_F(SlurmChecks, WishesThatStandElsewhereCount) {
  const std::vector<std::string> long_time = {"--set", "resources.time=2:00:00"};
  auto extras = long_time;
  extras.insert(extras.end(), {"--set", R"(resources.sbatch_extra=[-p bioq, "-A physics"])"});
  const auto by_extras = plan(short_job, extras);
  EXPECT_EQ(by_extras.exit_code, 0) << by_extras.out << by_extras.err;
  EXPECT_THAT(by_extras.out, testing::Not(HasSubstr("error")));
  EXPECT_THAT(by_extras.out, HasSubstr("in partition bioq"));
  EXPECT_EQ(plan(short_job, long_time).exit_code, 3) << "batch ends it";

  const auto before = place_->environment;
  place_->environment.insert(place_->environment.end(),
                             {{"SBATCH_PARTITION", "bioq"}, {"SBATCH_ACCOUNT", "physics"}});
  const auto by_variables = plan(short_job, long_time);
  const auto file = place_->file("short.yaml", short_job);
  const auto ran = place_->run({"run", file, "--run-dir", place_->path() + "/by-variables"});
  place_->environment.back().second = "nobodys";
  const auto own = place_->run({"run", file, "--run-dir", place_->path() + "/own", "--set",
                                "resources.partition=batch", "--set", "resources.account=physics"});
  place_->environment = before;
  EXPECT_EQ(by_variables.exit_code, 0) << by_variables.out << by_variables.err;
  EXPECT_THAT(by_variables.out, HasSubstr("in partition bioq"));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("ran in bioq"));
  EXPECT_EQ(own.exit_code, 0) << own.err;
  EXPECT_THAT(own.err, HasSubstr("ran in batch")) << "the job file says so";
  EXPECT_THAT(own.err, HasSubstr("SBATCH_PARTITION=bioq is set here"));
  if (!accounting_) return;
  EXPECT_THAT(ran.err, HasSubstr("for physics"));
  EXPECT_THAT(own.err, HasSubstr("for physics"));
}

/// Slurm has no memory per task: the job asks for that of all ranks of a node.
TEST_F(SlurmChecks, MemoryOfRanksIsThatOfTheirNode) {
  constexpr const char* job = R"(name: memory
resources: {ranks_per_node: 2, gpus_per_node: 0, time: 5, memory: {per_rank: 64MB}}
run: 'echo "$SLURM_MEM_PER_NODE MiB"'
)";
  const auto too_much = plan(job, {"--set", "resources.memory.per_rank=9TB"});
  EXPECT_EQ(too_much.exit_code, 3) << too_much.out;
  EXPECT_THAT(too_much.out, HasSubstr("asked for 9T of memory for each of 2 ranks on a node, "
                                      "18432 GiB together, nodes of partition batch have "));
  const auto run_dir = place_->path() + "/memory";
  const auto ran = place_->run({"run", place_->file("memory.yaml", job), "--run-dir", run_dir});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("128 MiB"));
  const auto summary = Json::parse(place_->text_of("memory/summary.json"), nullptr, false);
  EXPECT_GT(summary["core_hours"], 0) << summary;
  EXPECT_TRUE(summary["energy_joules"].is_null()) << "no plug-in of this cluster measures it";
  EXPECT_EQ(summary["wasted"]["seconds"], 0);
}

TEST_F(SlurmChecks, AnAccountInCapitalsIsTheSame) {
  const auto ended = plan(good, {"--set", "resources.account=PHYSICS"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, testing::Not(HasSubstr("not a member")));
}

TEST_F(SlurmChecks, WithoutADefaultPartition) {
  as_root("scontrol update partitionname=batch default=no");
  const auto none = plan(short_job);
  const auto named = plan(short_job, {"--set", "resources.sbatch_extra=[-p batch]"});
  as_root("scontrol update partitionname=batch default=yes");
  EXPECT_EQ(none.exit_code, 3) << none.out;
  EXPECT_THAT(none.out, HasSubstr("this cluster has no default partition"));
  EXPECT_EQ(named.exit_code, 0) << named.out << named.err;
  EXPECT_THAT(named.out, testing::Not(HasSubstr("no default partition")));
}

/// n3 has one of each.
TEST_F(SlurmChecks, ANodeWithTwoKindsOfGpu) {
  constexpr const char* job = R"(name: v
resources: {time: 5, sbatch_extra: ["--gres=gpu:v100:1"]}
run: 'echo "$SLURM_JOB_NODELIST has $SLURM_GPUS_ON_NODE for $SLURM_NTASKS"'
)";
  const auto checked = plan(job);
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("this plan counts 1 x v100"));
  EXPECT_THAT(checked.out, HasSubstr("on nodes n3"));
  const auto ran =
      place_->run({"run", place_->file("v100.yaml", job), "--run-dir", place_->path() + "/v100"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("n3 has 1 for 1"));
}

/// As a controller with ten thousand nodes and a thousand users is.
TEST_F(SlurmChecks, ASlowControllerIsWaitedFor) {
  const auto site = place_->path() + "/slow";
  std::filesystem::create_directories(site);
  std::ofstream(site + "/scontrol") << "#!/bin/bash\n"
                                       "case \"$*\" in *'show node'*) sleep 12 ;; esac\n"
                                       "exec /usr/bin/scontrol \"$@\"\n";
  std::filesystem::permissions(site + "/scontrol", std::filesystem::perms::all);
  const auto before = place_->before;
  place_->before.insert(place_->before.end(), {"env", "PATH=" + site + ":/usr/bin:/bin:/usr/sbin"});
  const auto ended = plan(short_job);
  place_->before = before;
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("Slurm is slow: waiting up to 60 s for `scontrol --all"));
}

TEST_F(SlurmChecks, RecordedFactsSayTheSameElsewhere) {
  const auto recorded = place_->run({"info", "--facts"});
  ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
  const auto facts = place_->file("facts.json", recorded.out);
  const auto text = place_->file(
      "recording.txt", as_root("scontrol show config; scontrol show partition; scontrol show node; "
                               "srun --mpi=list"));
  const auto json = place_->file("recording.json", as_root("sinfo --json"));
  Workplace elsewhere;
  for (const auto& file : {facts, text, json}) {
    const auto ended = elsewhere.run({"plan", elsewhere.file("job.yaml", good), "--facts", file,
                                      "--set", "resources.partition=pairs", "--json"});
    ASSERT_EQ(ended.exit_code, 0) << file << ended.err;
    const auto document = Json::parse(ended.out);
    EXPECT_EQ(document["ranks"], 4) << file;
    const auto checked =
        elsewhere.run({"plan", elsewhere.path() + "/job.yaml", "--facts", file, "--set",
                       "resources.nodes=4", "--set", "resources.partition=pairs", "--check"});
    EXPECT_EQ(checked.exit_code, 3) << file;
    EXPECT_THAT(checked.out, HasSubstr("asked for 4 nodes")) << file;
  }
}

TEST_F(SlurmChecks, InfoKnowsTheNetworkOfTheClustersProfile) {
  const auto folder = place_->path() + "/config/dllaunch/clusters";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/mine.yaml")
      << "name: mine\nrecognise: {clusters: [cluster]}\nnetwork:\n  kind: dragonfly\n"
         "  levels: [groups]\n  units:\n"
         "    - {name: g0, nodes: \"n[1,3]\"}\n    - {name: g1, nodes: n2}\n";
  place_->environment.emplace_back("XDG_CONFIG_HOME", place_->path() + "/config");
  const auto ended = place_->run({"info"});
  place_->environment.pop_back();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("dragonfly of 3 nodes: "));
  EXPECT_THAT(ended.out, HasSubstr("2 of 3 ring edges leave groups"));
}

/// One moment in both forms.
TEST_F(SlurmChecks, JsonAndTextSayTheSame) {
  as_root("scontrol update nodename=n3 state=drain reason='bad fan'");
  const auto text = parse_slurm_nodes(as_root("scontrol --oneliner show node"));
  auto json = parse_slurm_json(as_root("sinfo --json")).nodes;
  std::ranges::sort(json, {}, &SlurmNode::name);  // 24.11 lists them in any order
  as_root("scontrol update nodename=n3 state=resume");
  ASSERT_EQ(text.size(), 3U);
  if (json.empty()) GTEST_SKIP() << "this sinfo has no --json";
  ASSERT_EQ(json.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(json[i].name, text[i].name);
    EXPECT_EQ(json[i].cpus, text[i].cpus);
    EXPECT_EQ(json[i].gpus, text[i].gpus);
    EXPECT_EQ(json[i].gpu_type, text[i].gpu_type);
    EXPECT_EQ(json[i].memory_mib, text[i].memory_mib);
    // 24.11 keeps the reason of a node that is well again; JSON tells that of the first node alike.
    if (is_out_of_order(text[i].state)) {
      EXPECT_EQ(json[i].reason, text[i].reason);
    }
    EXPECT_EQ(is_out_of_order(json[i].state), is_out_of_order(text[i].state)) << text[i].state;
  }
  const auto held =
      call_cluster({"run", folder_->path(), "--user", "alice", "--", "sbatch", "--hold",
                    "--job-name=a JobState=COMPLETED", "--output=/dev/null", "--wrap=true"});
  ASSERT_TRUE(held && held->exit_code == 0) << held->err;
  // JSON shows jobs that ended a moment ago as well.
  auto jobs = parse_slurm_json(as_root("squeue --json")).jobs;
  std::erase_if(jobs, [](const SlurmJob& job) { return is_final_state(job.state); });
  const auto queue =
      parse_queue(as_root("squeue --noheader --format='" + std::string(queue_format) + "'"));
  as_root("scancel --user=alice");
  ASSERT_EQ(jobs.size(), queue.size());
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].id, queue[0].id);
  EXPECT_EQ(jobs[0].state, queue[0].state);
  EXPECT_EQ(jobs[0].reason, queue[0].reason);
}

/// What a value of another kind than a number must look like; it would end or move a job.
std::string harmful_value(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("PROLOG") || has("EPILOG")) return "/bin/false";
  if (has("_DIR") || has("_CWD")) return "/";
  if (has("OUTPUT") || has("ERROR") || has("INPUT") || has("MODE")) return "/nowhere/file";
  return has("EXPORT") ? "NONE" : "1";
}

/// The job and the ranks of a job file are the same from any shell: each variable that sbatch or
/// srun reads is removed or named, unless the job file leaves the option open.
TEST_F(SlurmChecks, JobAndRanksAreTheSameWhateverVariablesTheShellHas) {
  constexpr const char* job = R"(name: same
resources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 5, account: physics}
run: |
  env | grep -E '^(SLURM|SRUN|PYTHONUNB)' | grep -vE '(ID|PORT|TIME|HOST|JOBID)=' | sort
  pwd
  scontrol --oneliner show job $SLURM_JOB_ID | tr ' ' '\n' |
    grep -vE '(Id|Time|Eval|Sid|StdOut|StdErr|Command|Comment)=' |
    grep -vE '(NodeList|BatchHost|Scheduler|Priority)='
)";
  const auto file = place_->file("same.yaml", job);
  const auto ranks_of = [&](const std::string& name) {
    const auto ran = place_->run({"run", file, "--run-dir", place_->path() + "/" + name});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    std::string text;
    for (const char* log : {"rank-0000-n1.log", "rank-0001-n2.log"})
      text += place_->text_of(name + "/out/" + log);
    return std::pair(text, ran.err);
  };
  const auto clean = ranks_of("clean").first;
  EXPECT_THAT(clean, HasSubstr("PYTHONUNBUFFERED=1"));
  EXPECT_THAT(clean, HasSubstr("Requeue=1"));

  const auto before = place_->environment;
  // Those that the job file leaves open count, and another cluster has none of these nodes.
  const std::set<std::string_view> open = {"SBATCH_ACCTG_FREQ",   "SBATCH_BATCH",
                                           "SBATCH_BURST_BUFFER", "SBATCH_CLUSTER_CONSTRAINT",
                                           "SBATCH_CONSTRAINT",   "SBATCH_CPU_FREQ_REQ",
                                           "SBATCH_DELAY_BOOT",   "SBATCH_EXPORT",
                                           "SBATCH_GPU_FREQ",     "SBATCH_GRES",
                                           "SBATCH_NETWORK",      "SBATCH_PARTITION",
                                           "SBATCH_POWER",        "SBATCH_PROFILE",
                                           "SBATCH_QOS",          "SBATCH_REQ_SWITCH",
                                           "SBATCH_RESERVATION",  "SBATCH_WCKEY",
                                           "SLURM_CLUSTERS"};
  std::set<std::string> set;
  for (const auto reader : {SlurmProgram::sbatch, SlurmProgram::srun})
    for (const auto name : variables_of(reader))
      if (!open.contains(name) && set.emplace(name).second)
        place_->environment.emplace_back(name, harmful_value(name));
  const auto [text, said] = ranks_of("harmful");
  place_->environment = before;
  EXPECT_EQ(text, clean);
  // These change nothing, or say what the script says.
  for (const char* same : {"SBATCH_DEBUG", "SBATCH_EXCLUSIVE", "SBATCH_IGNORE_PBS",
                           "SBATCH_REQUEUE", "SBATCH_WAIT4SWITCH"})
    set.erase(same);
  std::erase_if(set, [](const auto& name) { return !name.starts_with("SBATCH_"); });
  for (const auto& name : set)
    EXPECT_THAT(said, HasSubstr(name + "=" + harmful_value(name) + " is set here"));
}

/// What the job file leaves open is taken over, and shown.
TEST_F(SlurmChecks, AVariableThatTheJobFileLeavesOpenIsAnOptionOfTheScript) {
  const auto before = place_->environment;
  place_->environment.insert(place_->environment.end(),
                             {{"SBATCH_WCKEY", "mine"}, {"SBATCH_MEM_PER_NODE", "100M"}});
  const auto shared = plan(good, {"--set", "resources.exclusive=false"});
  const auto whole = plan(good);
  place_->environment = before;
  EXPECT_THAT(shared.out, HasSubstr("--wckey=mine"));
  EXPECT_THAT(shared.out, HasSubstr("--mem=100M"));
  EXPECT_THAT(whole.out, HasSubstr("SBATCH_MEM_PER_NODE=100M is set here"));
}

/// `module purge` may unload Slurm's own commands, and a job may set a PATH without them.
TEST_F(SlurmChecks, RanksStartThoughTheJobLosesThePathOfSrun) {
  const auto site =
      place_->file("site.sh",
                   "module() {\n"
                   "  case $1 in purge) PATH=/nowhere ;; load) export LOADEDMODULES=$2 ;; esac\n"
                   "}\nexport -f module\n");
  const auto before = place_->environment;
  place_->environment.emplace_back("BASH_ENV", site);
  const auto file = place_->file("modules.yaml", R"(name: modules
resources: {device: cpu, ranks_per_node: 1, time: 5, account: physics}
environment: {modules: [fw/1.0]}
run: echo "with $LOADEDMODULES"
)");
  const auto ran = place_->run({"run", file, "--run-dir", place_->path() + "/modules"});
  const auto reset =
      place_->run({"run", file, "--run-dir", place_->path() + "/reset", "--set",
                   "environment.modules=[]", "--set", "environment.setup=PATH=/nowhere"});
  place_->environment = before;
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("with fw/1.0"));
  EXPECT_EQ(reset.exit_code, 0) << reset.err;
}

/// Only the first node has the folder: its rank must not wait for the other.
TEST_F(SlurmChecks, AFolderThatANodeDoesNotSeeIsNamed) {
  const auto ran = call_cluster(
      {"exec", folder_->path(), "n1", "--user", "alice", "--", "bash", "-c",
       "cd \"$(mktemp -d)\" && printf '%s\\n' 'name: here' "
       "'resources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 5, account: physics}' "
       "'run: sleep 600' > here.yaml && " DLLAUNCH_BIN_DIR "/dllaunch run here.yaml 2>&1"});
  ASSERT_TRUE(ran) << ran.error().what;
  EXPECT_NE(ran->exit_code, 0) << ran->out;
  EXPECT_THAT(ran->out, HasSubstr("rank 1 on n2: the run directory /tmp/"));
  EXPECT_THAT(ran->out, HasSubstr("does not exist on this node"));
}

}  // namespace
}  // namespace dllaunch
