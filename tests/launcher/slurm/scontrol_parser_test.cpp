#include "launcher/slurm/scontrol_parser.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Words = std::vector<std::string>;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string fixture(const std::string& name) {
  return read(std::filesystem::path(DLLAUNCH_SOURCE_DIR) / "tests/fixtures/slurm" / name);
}

TEST(ScontrolParser, ReadsTheConfiguration) {
  const auto config = parse_slurm_config(fixture("22.05/config.txt"));
  EXPECT_EQ(config.version, "22.05.8");
  EXPECT_EQ(config.cluster, "aurochs");
  EXPECT_EQ(parse_slurm_config("nothing of the kind").version, "");
}

TEST(ScontrolParser, ReadsTheMpiTypesOfOldAndNewSrun) {
  EXPECT_THAT(parse_mpi_list(fixture("20.11/mpi-list.txt")),
              ElementsAre("none", "pmi2", "pmix", "pmix_v3"));
  EXPECT_THAT(parse_mpi_list(fixture("22.05/mpi-list.txt")),
              ElementsAre("pmix", "none", "cray_shasta", "pmi2", "pmix_v4"));
  EXPECT_THAT(parse_mpi_list(fixture("24.11/mpi-list.txt")),
              ElementsAre("cray_shasta", "none", "pmi2", "pmix", "pmix_v3", "pmix_v4", "pmix_v5"));
  EXPECT_THAT(parse_mpi_list(""), IsEmpty());
}

TEST(ScontrolParser, ReadsReservations) {
  const auto both = parse_slurm_reservations(fixture("22.05/reservation.txt"));
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].name, "course");
  EXPECT_TRUE(both[0].active);
  EXPECT_THAT(both[0].hosts, ElementsAre("n1", "n2"));
  EXPECT_EQ(both[0].partition, "gpu");
  EXPECT_EQ(both[0].end - both[0].start, 3600);
  EXPECT_THAT(both[0].users, ElementsAre("alice", "bob"));
  EXPECT_THAT(both[0].flags, ElementsAre("SPEC_NODES", "FLEX"));
  EXPECT_FALSE(both[1].active);
  EXPECT_EQ(both[1].partition, "");
  EXPECT_THAT(both[1].accounts, ElementsAre("physics", "-bio"));
  EXPECT_THAT(parse_slurm_reservations("No reservations in the system\n"), IsEmpty());
}

/// Slurm 22.05.
TEST(ScontrolParser, FindsTheHostOfAStepThatWaitsBesideOneThatRuns) {
  const std::string script = "StepId=39.batch UserId=60101\n   State=RUNNING NodeList=n1\n\n";
  const std::string ranks =
      "StepId=39.0 UserId=60101\n   State=RUNNING NodeList=n[1-2]\n"
      "   SrunHost:Pid=n1:1336\n\n";
  const std::string waits =
      "StepId=39.TDB UserId=60101\n   State=PENDING NodeList=n[1-2]\n"
      "   SrunHost:Pid=n2:1357\n\n";
  EXPECT_EQ(host_of_waiting_step(script + ranks + waits), "n2");
  EXPECT_EQ(host_of_waiting_step(script + ranks), "");
  EXPECT_EQ(host_of_waiting_step(script + waits), "") << "the ranks' own";
  EXPECT_EQ(host_of_waiting_step("slurm_load_job_steps error: Invalid job id specified\n"), "");
}

TEST(ScontrolParser, ReadsAssociations) {
  const auto all = parse_associations("physics||normal,fast\nbio|big|\n\n|x|\nno bars\n");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].account, "physics");
  EXPECT_THAT(all[0].qos, ElementsAre("normal", "fast"));
  EXPECT_EQ(all[1].partition, "big");
  EXPECT_THAT(all[1].qos, IsEmpty());
}

TEST(ScontrolParser, ReadsWhoMayUseAPartition) {
  const auto all = parse_slurm_partitions(
      "PartitionName=p AllowGroups=hpc,ml AllowAccounts=ALL DenyAccounts=guests AllowQos=a,b "
      "DefaultTime=01:00:00 MaxNodes=16 MinNodes=2 MaxTime=1-00:00:00 State=INACTIVE\n");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_THAT(all[0].groups.allowed, ElementsAre("hpc", "ml"));
  EXPECT_THAT(all[0].accounts.allowed, IsEmpty());
  EXPECT_THAT(all[0].accounts.denied, ElementsAre("guests"));
  EXPECT_THAT(all[0].qos.allowed, ElementsAre("a", "b"));
  EXPECT_EQ(all[0].default_minutes, 60);
  EXPECT_EQ(all[0].min_nodes, 2);
  EXPECT_EQ(all[0].max_nodes, 16);
  EXPECT_EQ(all[0].state, "INACTIVE");
}

TEST(ScontrolParser, ReadsPartitions) {
  const auto both = parse_slurm_partitions(fixture("22.05/partition.txt"));
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].name, "batch");
  EXPECT_TRUE(both[0].is_default);
  EXPECT_TRUE(both[0].up);
  EXPECT_EQ(both[0].max_minutes, std::nullopt);
  EXPECT_EQ(both[1].name, "gpu");
  EXPECT_FALSE(both[1].is_default);
  EXPECT_FALSE(both[1].up);
  EXPECT_EQ(both[1].max_minutes, 60 * 60);
  const auto lines = parse_slurm_partitions(fixture("24.11/partition.txt"));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].name, "standard-g");
  EXPECT_EQ(lines[0].max_minutes, 2 * 24 * 60);
}

TEST(ScontrolParser, ReadsNodes) {
  const auto nodes = parse_slurm_nodes(fixture("22.05/node.txt"));
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[0].name, "n1");
  EXPECT_EQ(nodes[0].gpus, 0);
  EXPECT_THAT(nodes[0].features, IsEmpty());
  EXPECT_EQ(nodes[1].gpus, 0) << "what stands in Reason= is not Slurm's";
  EXPECT_EQ(nodes[2].gpus, 4);
  EXPECT_EQ(nodes[2].gpu_type, "a100");
  EXPECT_THAT(nodes[2].features, ElementsAre("a100", "big"));
  EXPECT_THAT(nodes[2].partitions, ElementsAre("batch", "gpu"));
  EXPECT_EQ(nodes[3].cpus, 112) << "specialised cores are not for jobs";
  EXPECT_EQ(nodes[3].cores_per_socket, 64);
  EXPECT_EQ(nodes[3].threads_per_core, 2);
  EXPECT_EQ(nodes[3].memory_mib, 512000U);
}

TEST(ScontrolParser, ReadsNodesOfAnOldSlurm) {
  const auto nodes = parse_slurm_nodes(fixture("20.11/node.txt"));
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].cpus, 76) << "80 less two specialised cores of two threads";
  EXPECT_EQ(nodes[0].gpus, 3) << "of two types; MPS shares are no GPUs";
  EXPECT_EQ(nodes[0].gpu_type, "tesla");
  EXPECT_EQ(nodes[0].sockets, 2);
}

TEST(ScontrolParser, ReadsTheQueue) {
  const auto jobs = parse_queue(fixture("22.05/queue.txt"));
  ASSERT_EQ(jobs.size(), 3U) << "neither the header nor a wrapper's line is a job";
  EXPECT_EQ(jobs[0].id, "97");
  EXPECT_EQ(jobs[0].state, "RUNNING");
  EXPECT_EQ(jobs[0].nodes, "n[1-2]");
  EXPECT_EQ(jobs[0].reason, "");
  EXPECT_EQ(jobs[0].elapsed, "1:02");
  EXPECT_EQ(jobs[1].id, "98_[0-3%2]");
  EXPECT_EQ(jobs[1].start, "");
  EXPECT_EQ(jobs[2].start, "2026-11-20T20:07:21");
  EXPECT_EQ(jobs[2].reason, "Priority");
}

TEST(ScontrolParser, ReadsWhereAJobComesFrom) {
  const auto jobs = parse_queue(
      "1|RUNNING|N/A|0:05|n1|None|mine | too dllaunch:00000000000000ab|a b|/r/job.sbatch\n"
      "2|RUNNING|N/A|0:05|n1|None|(null)|wrap|(null)\n");
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].origin.words, "mine | too dllaunch:00000000000000ab|a b|/r/job.sbatch");
  EXPECT_EQ(jobs[0].origin.token, "dllaunch:00000000000000ab");
  EXPECT_EQ(jobs[1].origin.token, "");
  const auto shown = parse_slurm_jobs(
      "JobId=1 JobName=a b\n   JobState=RUNNING\n   Command=/r/job.sbatch\n"
      "   Comment=Reason=mine dllaunch:00000000000000ab \n");
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].origin.words, "|a b|/r/job.sbatch");
  EXPECT_EQ(shown[0].origin.token, "dllaunch:00000000000000ab");
}

TEST(ScontrolParser, ATokenIsWholeOrNone) {
  EXPECT_EQ(token_in("dllaunch:0123456789abcdef"), "dllaunch:0123456789abcdef");
  EXPECT_EQ(token_in("dllaunch:0123456789abcdef dllaunch:"), "dllaunch:0123456789abcdef");
  for (const char* text :
       {"", "dllaunch:", "dllaunch:0123456789abcde", "dllaunch:0123456789abcdeg"})
    EXPECT_EQ(token_in(text), "") << text;
}

TEST(ScontrolParser, ReadsJobsAndBelievesNoName) {
  const auto jobs = parse_slurm_jobs(fixture("22.05/job.txt"));
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].id, "1");
  EXPECT_EQ(jobs[0].state, "NODE_FAIL") << "its name says COMPLETED";
  EXPECT_EQ(jobs[0].reason, "NonZeroExitCode");
  EXPECT_EQ(jobs[0].exit_code, 1);
  EXPECT_EQ(jobs[0].signal, 15);
  EXPECT_EQ(jobs[0].restarts, 2);
  EXPECT_EQ(jobs[0].nodes, "n[1-2]");
  EXPECT_EQ(jobs[0].batch_host, "n1");
  EXPECT_EQ(jobs[0].start, "2026-11-20T19:57:21");
  EXPECT_EQ(jobs[0].submit, "2026-11-20T19:57:20");
  EXPECT_EQ(jobs[0].output, "/shared/train.out");
  EXPECT_EQ(jobs[1].state, "PENDING");
  EXPECT_EQ(jobs[1].nodes, "");
}

TEST(ScontrolParser, ReadsTheRecordedSamples) {
  const auto folder = std::filesystem::path(DLLAUNCH_SOURCE_DIR) / "../shared/slurm-samples";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not on this machine";
  for (const auto* name : {"scontrol-show-node.txt", "scontrol-o-show-node.txt"}) {
    const auto nodes = parse_slurm_nodes(read(folder / name));
    ASSERT_EQ(nodes.size(), 4U) << name;
    EXPECT_EQ(nodes[0].gpus, 2);
    EXPECT_EQ(nodes[3].gpus, 8);
    EXPECT_EQ(nodes[3].gpu_type, "h100");
    EXPECT_THAT(nodes[1].partitions, ElementsAre("batch", "high"));
  }
  const auto partitions = parse_slurm_partitions(read(folder / "scontrol-show-partition.txt"));
  ASSERT_EQ(partitions.size(), 2U);
  EXPECT_TRUE(partitions[0].is_default);
  const auto jobs = parse_slurm_jobs(read(folder / "scontrol-show-job.txt"));
  ASSERT_EQ(jobs.size(), 6U);
  EXPECT_EQ(jobs[2].reason, "Dependency");
  EXPECT_EQ(parse_slurm_jobs(read(folder / "scontrol-d-show-job-and-step.txt")).at(0).id, "1");
}

/// Captured text with bytes changed, cut and repeated: no parser crashes or invents huge numbers.
TEST(ScontrolParser, SurvivesDamagedText) {
  std::mt19937 random(3);
  const Words names = {"20.11/node.txt",      "20.11/mpi-list.txt", "22.05/node.txt",
                       "22.05/partition.txt", "22.05/queue.txt",    "22.05/job.txt",
                       "22.05/config.txt",    "24.11/partition.txt"};
  const std::string noise = "=\n |:,()[]-99 \t\xff\0A";
  for (int round = 0; round < 4000; ++round) {
    auto text = fixture(names[static_cast<std::size_t>(round) % names.size()]);
    for (auto changes = random() % 20; changes > 0 && !text.empty(); --changes) {
      const auto at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = noise[random() % noise.size()];
          break;
        case 1:
          text.erase(at, random() % 40);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
      }
    }
    for (const auto& node : parse_slurm_nodes(text)) {
      EXPECT_GE(node.cpus, 1);
      EXPECT_GE(node.gpus, 0);
      EXPECT_LE(node.gpus, 4096);
    }
    parse_slurm_partitions(text);
    parse_slurm_jobs(text);
    parse_queue(text);
    parse_mpi_list(text);
    parse_slurm_config(text);
    parse_slurm_minutes(text);
  }
}

TEST(JobNumber, OfAComponentFollowsThatOfTheFirst) {
  EXPECT_EQ(job_number("12+0"), "12");
  EXPECT_EQ(job_number("12+1"), "13");
  for (const char* other : {"12", "74_3", "74_[0-3%2]", "", "+", "12+", "+1", "12+x", "a+1",
                            "12+-1", "12+99999999999999999999", "99999999999999999999+1"})
    EXPECT_EQ(job_number(other), other);
}

// Whatever squeue writes: the sum, or the text.
TEST(JobNumber, IsASumOrTheText) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (auto left = random() % 12; left > 0; --left) text += "0123456789+_-x"[random() % 14];
    const auto number = job_number(text);
    const auto plus = text.find('+');
    const bool digits = number.find_first_not_of("0123456789") == std::string::npos;
    EXPECT_TRUE(number == text || (plus != std::string::npos && digits)) << text;
  }
}

}  // namespace
}  // namespace dllaunch
