#include "launcher/probe/probe.hpp"

#include <gmock/gmock.h>
#include <signal.h>

#include <map>

#include "launcher/cluster/probed_node.hpp"
#include "launcher/os/atomic_file.hpp"
#include "tests/launcher/disk_system.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/launcher/sample_probes.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Answer = Result<CommandOutput>;

/// A Slurm whose jobs walk through a list of states, one a look; "done" writes the output.
class ProbeTest : public testing::Test {
 protected:
  ProbeTest() {
    settings_ = {.program = "/opt/dllaunch",
                 .folder = system_.folder.path(),
                 .within = 10s,
                 .first_look = 1ms,
                 .longest_look = 2ms,
                 .output_patience = 20ms};
    system_.respond = [this](const auto& argv) { return answer(argv); };
  }

  std::optional<Answer> answer(const std::vector<std::string>& argv) {
    if (argv[0] == "sbatch") return submitted(argv.back());
    if (argv[0] == "scancel") return Answer(CommandOutput{});
    if (argv[0] == "squeue") return looked(argv.back().substr(argv.back().find('=') + 1));
    if (argv[0] == "scontrol")
      return Answer(CommandOutput{0,
                                  "JobId=" + argv.back() + "\n   JobState=" + end_state_ +
                                      " Reason=None\n   ExitCode=0:0\n",
                                  ""});
    return std::nullopt;
  }

  Answer submitted(const std::string& script) {
    const auto text = *system_.read_file(script);
    for (const auto& [partition, words] : refusals_)
      if (text.find("--partition=" + partition + "\n") != std::string::npos)
        return CommandOutput{1, "", words};
    const auto id = std::to_string(100 + scripts_.size());
    scripts_.push_back(text);
    return CommandOutput{0, id + "\n", ""};
  }

  Answer looked(const std::string& id) {
    const auto at = static_cast<std::size_t>(std::stoi(id) - 100);
    const auto state = states_[std::min(looks_[id]++, states_.size() - 1)];
    if (state == "silent") return CommandOutput{1, "", "Unable to contact slurm controller"};
    if (state == "interrupt") raise(SIGINT);
    if (state == "done") {
      if (!output_.empty() || captures_) {
        const auto type = all_[at].type;
        auto node = probe_of(facts_, type);
        node.type = {};  // the job does not know what Slurm says of it
        node.cluster = "";
        write(scripts_[at],
              output_ + (captures_ ? render_capture({.node = node, .xml = "<t/>"}) : ""));
      }
      return CommandOutput{0, "", ""};
    }
    const bool pending = state != "RUNNING";
    return CommandOutput{
        0, fmt(id, pending ? "PENDING" : "RUNNING", pending ? "" : "g1", pending ? state : "None"),
        ""};
  }

  static std::string fmt(const std::string& id, const std::string& state, const std::string& nodes,
                         const std::string& reason) {
    return id + "|" + state + "|N/A|0:00|" + nodes + "|" + reason + "\n";
  }

  static void write(const std::string& script, const std::string& text) {
    const auto begin = script.find("--output=") + 9;
    ASSERT_TRUE(write_file(script.substr(begin, script.find('\n', begin) - begin), text));
  }

  ProbeOutcome probe(const std::string& partition) {
    all_ = *probe_targets(*facts_.slurm, partition);
    return execute_probes(*facts_.slurm, all_, system_, settings_);
  }

  Facts facts_ = mixed_cluster();
  DiskSystem system_;
  ProbeSettings settings_;
  std::vector<ProbeTarget> all_;
  std::vector<std::string> scripts_;
  std::vector<std::string> states_ = {"Priority", "Resources", "RUNNING", "done"};
  std::map<std::string, std::size_t> looks_;
  std::map<std::string, std::string> refusals_;
  std::string output_ = "";
  std::string end_state_ = "COMPLETED";
  bool captures_ = true;
};

TEST_F(ProbeTest, KeepsWhatEveryKindOfNodeSays) {
  const auto outcome = probe("gpu");
  EXPECT_THAT(outcome.missed, IsEmpty());
  ASSERT_EQ(outcome.kept.size(), 2u);
  EXPECT_EQ(outcome.stopped_by, 0);
  EXPECT_EQ(scripts_.size(), 2u);
  const auto cache = read_probe_cache(system_, "cluster");
  ASSERT_EQ(cache.nodes.size(), 2u);
  for (const auto& node : cache.nodes) {
    EXPECT_EQ(node.cluster, "cluster");
    EXPECT_EQ(node.type.sockets, 2);
    EXPECT_GT(node.time, 1'700'000'000) << "when it came here";
  }
  const auto& a100 = outcome.kept[0].node;
  EXPECT_THAT(a100.partitions, ElementsAre("batch", "gpu", "closed")) << "everywhere it is";
  EXPECT_THAT(system_.logged,
              HasSubstr("job 100, partition gpu, 64 CPUs (2 x 16 x 2), 4 GPUs (a100): jobs with "
                        "higher priority are ahead (Priority)\n"));
  EXPECT_THAT(system_.logged, HasSubstr("(a100): running on g1\n"));
  EXPECT_THAT(system_.logged, HasSubstr("(h100): seen on h1\n"));
}

TEST_F(ProbeTest, AsksTheNextPartitionWhereOneRefuses) {
  refusals_["batch"] = "sbatch: error: Invalid account or account/partition combination specified";
  const auto outcome = probe("");
  EXPECT_EQ(outcome.kept.size(), 2u) << "a100 and h100 through gpu";
  ASSERT_EQ(outcome.missed.size(), 1u);
  EXPECT_EQ(outcome.missed[0].target.type.gpus, 0);
  EXPECT_THAT(outcome.missed[0].why, HasSubstr("batch: sbatch refused the job"));
}

TEST_F(ProbeTest, WhatDoesNotComeInTimeIsCancelledAndNamed) {
  states_ = {"Resources"};
  settings_.within = 50ms;
  const auto outcome = probe("gpu");
  EXPECT_THAT(outcome.kept, IsEmpty());
  ASSERT_EQ(outcome.missed.size(), 2u);
  EXPECT_THAT(outcome.missed[0].why, HasSubstr("next in line"));
  EXPECT_THAT(system_.ran, Contains(ElementsAre("scancel", "100")));
  EXPECT_THAT(system_.ran, Contains(ElementsAre("scancel", "101")));
}

TEST_F(ProbeTest, CtrlCCancelsEveryJob) {
  states_ = {"Resources", "interrupt"};
  const auto outcome = probe("gpu");
  EXPECT_EQ(outcome.stopped_by, SIGINT);
  EXPECT_EQ(outcome.missed.size(), 2u);
  EXPECT_THAT(system_.ran, Contains(ElementsAre("scancel", "100")));
  EXPECT_THAT(system_.ran, Contains(ElementsAre("scancel", "101")));
}

TEST_F(ProbeTest, ASilentControllerIsWaitedFor) {
  states_ = {"Resources", "silent", "silent", "RUNNING", "done"};
  const auto outcome = probe("gpu");
  EXPECT_EQ(outcome.kept.size(), 2u);
  EXPECT_THAT(system_.logged, HasSubstr("Slurm does not answer"));
}

TEST_F(ProbeTest, AJobThatFailsIsQuoted) {
  captures_ = false;
  end_state_ = "FAILED";
  output_ = "loading modules\n/bin/bash: line 9: /opt/dllaunch: No such file or directory\n\n";
  const auto outcome = probe("closed");
  ASSERT_EQ(outcome.missed.size(), 1u);
  EXPECT_EQ(outcome.missed[0].why,
            "job 100 ended FAILED: /bin/bash: line 9: /opt/dllaunch: No such file or directory");
}

TEST_F(ProbeTest, AnOutputThatNeverShowsSaysWhereToStart) {
  captures_ = false;
  const auto outcome = probe("closed");
  ASSERT_EQ(outcome.missed.size(), 1u);
  EXPECT_THAT(outcome.missed[0].why, HasSubstr("a folder that the nodes share"));
}

TEST_F(ProbeTest, ADamagedCaptureIsNotWaitedFor) {
  captures_ = false;
  output_ = "dllaunch-probe: {\"node\": {}, \"xml\": \"\"}\n";
  settings_.output_patience = 1h;
  const auto outcome = probe("closed");
  ASSERT_EQ(outcome.missed.size(), 1u);
  EXPECT_THAT(outcome.missed[0].why, HasSubstr("not a record of a probed node"));
}

TEST_F(ProbeTest, ACacheThatCannotBeWrittenIsSaidSo) {
  system_.variables.clear();
  const auto outcome = probe("closed");
  ASSERT_EQ(outcome.missed.size(), 1u);
  EXPECT_THAT(outcome.missed[0].why, HasSubstr("HOME is not set"));
}

TEST_F(ProbeTest, JobsGoToNodesOfTheirKind) {
  probe("gpu");
  ASSERT_EQ(scripts_.size(), 2u);
  EXPECT_THAT(scripts_[0], HasSubstr("--exclude=h1\n"));
  EXPECT_THAT(scripts_[1], HasSubstr("--exclude=g[1-3]\n"));
}

}  // namespace
}  // namespace dllaunch
