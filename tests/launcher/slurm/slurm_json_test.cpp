#include "launcher/slurm/slurm_json.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "support/json.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// One node in the words of 22.05 (plain) and of 24.11 (lists, and numbers in three parts).
constexpr const char* plain_nodes = R"json(
{"meta": {"Slurm": {"release": "22.05.8"}}, "errors": [], "nodes": [
 {"name": "n4", "cpus": 128, "sockets": 2, "cores": 32, "threads": 2, "real_memory": 512000,
  "specialized_cores": 4, "features": "a100,big", "gres": "gpu:a100:4(S:0,1),craynetwork:4",
  "state": "idle", "state_flags": ["DRAIN"], "partitions": ["batch", "gpu"],
  "reason": "bad fan"}]})json";
constexpr const char* nested_nodes = R"json(
{"meta": {"slurm": {"release": "24.11.5", "cluster": "dlc"}}, "nodes": [
 {"name": "n4", "cpus": 128, "effective_cpus": 120, "sockets": 2, "cores": 32, "threads": 2,
  "real_memory": {"set": true, "infinite": false, "number": 512000}, "features": ["a100", "big"],
  "gres": "gpu:a100:4(S:0,1)", "state": ["IDLE", "DRAIN"], "partitions": ["batch", "gpu"],
  "reason": "bad fan", "brand_new": {"field": [1]}}]})json";

TEST(SlurmJson, ReadsNodesOfOldAndNewSlurm) {
  for (const auto* text : {plain_nodes, nested_nodes}) {
    const auto report = parse_slurm_json(text);
    ASSERT_EQ(report.nodes.size(), 1U) << text;
    const auto& node = report.nodes[0];
    EXPECT_EQ(node.name, "n4");
    EXPECT_EQ(node.cpus, 120) << "less what Slurm keeps to itself";
    EXPECT_EQ(node.sockets, 2);
    EXPECT_EQ(node.cores_per_socket, 32);
    EXPECT_EQ(node.threads_per_core, 2);
    EXPECT_EQ(node.memory_mib, 512000U);
    EXPECT_EQ(node.gpus, 4);
    EXPECT_EQ(node.gpu_type, "a100");
    EXPECT_THAT(node.features, ElementsAre("a100", "big"));
    EXPECT_THAT(node.partitions, ElementsAre("batch", "gpu"));
    EXPECT_EQ(node.state, "IDLE+DRAIN");
    EXPECT_TRUE(is_out_of_order(node.state));
    EXPECT_EQ(node.reason, "bad fan");
  }
  EXPECT_EQ(parse_slurm_json(plain_nodes).version, "22.05.8");
  EXPECT_EQ(parse_slurm_json(nested_nodes).cluster, "dlc");
}

TEST(SlurmJson, ReadsPartitionsAndTheirLimits) {
  const auto report = parse_slurm_json(R"({"partitions": [
    {"name": "gpu", "partition": {"state": ["UP"]},
     "accounts": {"allowed": "physics,bio", "deny": ""},
     "qos": {"allowed": "", "deny": "slow"}, "groups": {"allowed": "ALL"},
     "maximums": {"nodes": {"set": true, "infinite": false, "number": 8},
                  "time": {"set": true, "infinite": false, "number": 90}},
     "defaults": {"time": {"set": true, "infinite": false, "number": 30}},
     "minimums": {"nodes": 2}},
    {"name": "open", "partition": {"state": ["DRAIN"]},
     "maximums": {"nodes": {"set": false, "infinite": true, "number": 0},
                  "time": {"set": false, "infinite": true, "number": 0}}},
    {"no": "name"}, 7]})");
  ASSERT_EQ(report.partitions.size(), 2U);
  const auto& gpu = report.partitions[0];
  EXPECT_TRUE(gpu.up);
  EXPECT_EQ(gpu.max_minutes, 90);
  EXPECT_EQ(gpu.default_minutes, 30);
  EXPECT_EQ(gpu.min_nodes, 2);
  EXPECT_EQ(gpu.max_nodes, 8);
  EXPECT_THAT(gpu.accounts.allowed, ElementsAre("physics", "bio"));
  EXPECT_THAT(gpu.qos.denied, ElementsAre("slow"));
  EXPECT_THAT(gpu.groups.allowed, IsEmpty());
  EXPECT_EQ(report.partitions[1].state, "DRAIN");
  EXPECT_FALSE(report.partitions[1].up);
  EXPECT_EQ(report.partitions[1].max_minutes, std::nullopt);
  EXPECT_EQ(report.partitions[1].max_nodes, std::nullopt);
}

TEST(SlurmJson, ReadsJobsOfOldAndNewSlurm) {
  const auto old = parse_slurm_json(R"({"jobs": [
    {"job_id": 5, "job_state": "PENDING", "state_reason": "Priority", "nodes": "", "start_time": 0,
     "array_job_id": 0, "array_task_id": null, "array_task_string": "", "exit_code": 0},
    {"job_id": 6, "job_state": "FAILED", "state_reason": "None", "nodes": "n[1-2]",
     "exit_code": 1024,
     "array_job_id": 4, "array_task_id": 0, "array_task_string": "", "batch_host": "n1"},
    {"job_id": 4, "job_state": "PENDING", "state_reason": "JobArrayTaskLimit", "array_job_id": 4,
     "array_task_id": null, "array_task_string": "1-3%1", "restart_cnt": 2}]})");
  ASSERT_EQ(old.jobs.size(), 3U);
  EXPECT_EQ(old.jobs[0].id, "5");
  EXPECT_EQ(old.jobs[0].state, "PENDING");
  EXPECT_EQ(old.jobs[0].reason, "Priority");
  EXPECT_EQ(old.jobs[0].start, "");
  EXPECT_EQ(old.jobs[1].id, "4_0");
  EXPECT_EQ(old.jobs[1].exit_code, 4);
  EXPECT_EQ(old.jobs[1].reason, "");
  EXPECT_EQ(old.jobs[2].id, "4_[1-3%1]");
  EXPECT_EQ(old.jobs[2].restarts, 2);

  const auto now = parse_slurm_json(R"({"jobs": [
    {"job_id": 8, "job_state": ["CANCELLED", "COMPLETING"], "nodes": "n1", "state_reason": "None",
     "start_time": {"set": true, "infinite": false, "number": 1795204887},
     "exit_code": {"return_code": {"set": true, "infinite": false, "number": 0},
                   "signal": {"id": {"set": true, "infinite": false, "number": 15},
                              "name": "TERM"}},
     "array_job_id": {"set": true, "infinite": false, "number": 0},
     "array_task_id": {"set": false, "infinite": false, "number": 0}},
    {"job_id": 9, "state": {"current": ["TIMEOUT"], "reason": "None"}, "nodes": "None assigned",
     "time": {"start": 0, "submission": 1795204880}}]})");
  ASSERT_EQ(now.jobs.size(), 2U);
  EXPECT_EQ(now.jobs[0].id, "8");
  EXPECT_EQ(now.jobs[0].state, "CANCELLED");
  EXPECT_EQ(now.jobs[0].signal, 15);
  EXPECT_EQ(parse_slurm_time(now.jobs[0].start), 1795204887) << now.jobs[0].start;
  EXPECT_EQ(now.jobs[1].state, "TIMEOUT");
  EXPECT_EQ(now.jobs[1].nodes, "");
  EXPECT_EQ(as_queued(now.jobs[0]).nodes, "n1");
}

TEST(SlurmJson, ReadsReservations) {
  const auto report = parse_slurm_json(R"(a wrapper's line
{"reservations": [
    {"name": "course", "start_time": {"set": true, "infinite": false, "number": 1000},
     "end_time": {"set": true, "infinite": false, "number": 4102444800}, "node_list": "n[1-2]",
     "partition": "", "users": "alice,bob", "accounts": "", "flags": ["SPEC_NODES", "FLEX"]}]})");
  ASSERT_EQ(report.reservations.size(), 1U);
  EXPECT_TRUE(report.reservations[0].active);
  EXPECT_THAT(report.reservations[0].users, ElementsAre("alice", "bob"));
  EXPECT_THAT(report.reservations[0].flags, ElementsAre("SPEC_NODES", "FLEX"));
}

TEST(SlurmJson, TextThatIsNoJsonYieldsNothing) {
  for (const auto* text :
       {"", "{", "[1]", "JobId=5", "{\"jobs\": {\"a\": 1}}", "{\"nodes\": [[]]}"}) {
    const auto report = parse_slurm_json(text);
    EXPECT_TRUE(report.nodes.empty() && report.jobs.empty()) << text;
  }
}

/// Outputs captured on real clusters, in both forms at one moment.
class SlurmSamples : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << "no " << folder_;
  }
  std::string text(const std::string& name) const {
    std::ifstream file(folder_ / name);
    EXPECT_TRUE(file) << name;
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }
  const std::filesystem::path folder_ =
      std::filesystem::path(DLLAUNCH_SOURCE_DIR) / "../shared/slurm-samples";
};

TEST_F(SlurmSamples, JsonAndTextSayTheSameOfJobs) {
  const auto from_text = parse_slurm_jobs(text("scontrol-show-job.txt"));
  const auto from_json = parse_slurm_json(text("squeue.json")).jobs;
  ASSERT_FALSE(from_json.empty());
  for (const auto& job : from_json) {
    const auto plain = job.id.substr(0, job.id.find('_'));
    const auto same = std::find_if(from_text.begin(), from_text.end(), [&](const SlurmJob& other) {
      return other.id == plain || other.output == job.output;
    });
    ASSERT_NE(same, from_text.end()) << job.id;
    if (same->id != job.id) continue;
    EXPECT_EQ(job.state, same->state) << job.id;
    EXPECT_EQ(job.reason, same->reason) << job.id;
    EXPECT_EQ(job.nodes, same->nodes) << job.id;
  }
}

TEST_F(SlurmSamples, JsonAndTextSayTheSameOfNodes) {
  const auto from_text = parse_slurm_nodes(text("scontrol-o-show-node.txt"));
  const auto from_json = parse_slurm_json(text("sinfo.json")).nodes;
  ASSERT_EQ(from_json.size(), from_text.size());
  for (std::size_t i = 0; i < from_json.size(); ++i) {
    EXPECT_EQ(from_json[i].name, from_text[i].name);
    EXPECT_EQ(from_json[i].cpus, from_text[i].cpus);
    EXPECT_EQ(from_json[i].gpus, from_text[i].gpus);
    EXPECT_EQ(from_json[i].features, from_text[i].features);
    EXPECT_EQ(from_json[i].partitions, from_text[i].partitions);
  }
}

TEST_F(SlurmSamples, SinfoOf2411TellsWhatScontrolTells) {
  const auto sinfo = parse_slurm_json(text("slurm-24.11/sinfo.json"));
  const auto scontrol = parse_slurm_json(text("slurm-24.11/scontrol-show-node.json"));
  ASSERT_EQ(sinfo.nodes.size(), scontrol.nodes.size());
  ASSERT_EQ(sinfo.partitions.size(), 2U);
  for (std::size_t i = 0; i < sinfo.nodes.size(); ++i) {
    EXPECT_EQ(sinfo.nodes[i].name, scontrol.nodes[i].name);
    EXPECT_EQ(sinfo.nodes[i].cpus, scontrol.nodes[i].cpus);
    EXPECT_EQ(sinfo.nodes[i].gpus, scontrol.nodes[i].gpus);
    EXPECT_EQ(sinfo.nodes[i].features, scontrol.nodes[i].features);
    EXPECT_EQ(sinfo.nodes[i].partitions, scontrol.nodes[i].partitions);
    EXPECT_EQ(sinfo.nodes[i].state, scontrol.nodes[i].state);
  }
}

/// Values of documents exchanged for others at random: read without harm, whatever comes.
TEST(SlurmJson, SurvivesDamage) {
  std::mt19937 random(4);
  const auto odd = Json::parse(
      R"([null, -1, 1e300, 18446744073709551615, true, "", "x,y", [], [1, "a", null], {},
          {"set": true, "number": -5}, {"set": true, "number": "7"}, "n[1-", {"set": 1}])");
  const auto damage = [&](auto&& self, Json& value) -> void {
    if (random() % 12 == 0) value = odd[random() % odd.size()];
    if (value.is_structured())
      for (auto& item : value) self(self, item);
  };
  for (int round = 0; round < 3000; ++round) {
    auto document = Json::parse(round % 2 == 0 ? plain_nodes : nested_nodes);
    document["jobs"] = {{{"job_id", 5}, {"job_state", {"PENDING"}}, {"start_time", 17}}};
    document["reservations"] = {{{"name", "r"}, {"start_time", 3}, {"users", "a,b"}}};
    document["sinfo"] = {{{"nodes", {{"nodes", {"n1"}}}}, {"partition", {{"name", "p"}}}}};
    damage(damage, document);
    SlurmReport report;
    add_slurm_json(document, report);
    for (const auto& node : report.nodes) {
      ASSERT_FALSE(node.name.empty());
      ASSERT_GE(node.cpus, 1);
      ASSERT_GE(node.gpus, 0);
    }
    for (const auto& job : report.jobs) ASSERT_FALSE(job.id.empty());
  }
}

}  // namespace
}  // namespace dllaunch
