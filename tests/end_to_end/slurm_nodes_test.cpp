// The node book on the real test Slurm: nodes that write at once, and a slow node that the next run
// avoids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/nodes/judge_nodes.hpp"
#include "launcher/nodes/node_book.hpp"
#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string bin = DLLAUNCH_BIN_DIR;

constexpr const char* training = R"(name: nodes
resources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 10}
environment: {variables: {OMP_NUM_THREADS: "1"}}
train:
  model: lenet
  dataset: {kind: synthetic, images: 4096, classes: 10, channels: 1, image_size: 28}
  batch_size: 16
  epochs: 1
  validate_every: 100
runtime: {transport: tcp, stall_seconds: 30, stall_abort_seconds: 60}
recovery: {grace_seconds: 10, avoid: auto}
)";

class SlurmNodes : public OnTestCluster {
 protected:
  static void SetUpTestSuite() { start_cluster({"--nodes", "3", "--cpus", "2"}); }

  void arrange() override {
    book_ = {work_->path() + "/nodes.jsonl", /*own=*/false};
    work_->environment.insert(
        work_->environment.end(),
        {{"XDG_STATE_HOME", work_->path() + "/state"}, {node_book_variable, book_.path}});
  }
  void TearDown() override {
    if (!work_) return;
    cluster_->on_head({"scancel", "--user=root"});
    work_->wait(30s);
  }

  /// On that node alone dltrain computes four times as long.
  void slow_down(const std::string& node) const {
    const auto real = cluster_->share() + "/dltrain";
    fs::copy_file(bin + "/dltrain", real, fs::copy_options::skip_existing);
    const auto wrapper =
        work_->file("wrapper", "#!/bin/sh\nLD_PRELOAD='" DLLAUNCH_SLOW_COMPUTE "' exec '" + real +
                                   "' \"$@\"\n");
    chmod(wrapper.c_str(), 0755);
    cluster_->on_node(node, {"mount", "--bind", wrapper, bin + "/dltrain"});
  }

  std::vector<std::string> args(const std::string& run, std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"run", work_->file("job.yaml", training), "--run-dir",
                                    work_->path() + "/" + run};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  /// Seconds that the others have waited for the node.
  double waited_for(const std::string& node, const std::string& run) const {
    double seconds = 0;
    for (const auto& epoch : events_of(work_->path() + "/" + run, "ranks"))
      for (const auto& late : epoch["stragglers"])
        if (late["host"] == node) seconds += late["delayed"].get<double>();
    return seconds;
  }
  std::vector<NodeSighting> seen() const {
    const auto read = read_node_book(book_);
    EXPECT_TRUE(read);
    return read ? read->all : std::vector<NodeSighting>();
  }

  bool is_avoided(const std::string& node) const {
    const auto judged = judge_nodes(seen(), unix_seconds());
    return std::ranges::any_of(judged, [&](const NodeJudgement& one) {
      return one.node == node && one.grade == NodeGrade::avoid;
    });
  }

  NodeBook book_;
};

TEST_F(SlurmNodes, ASlowNodeIsAvoidedByTheSecondRun) {
  slow_down("n2");
  // Five good seconds are assumed of every node; with as many more the judgement is clear.
  work_->start(args("first", {"--set", "train.epochs=1000000"}));
  EXPECT_TRUE(happens_within(90s, [&] {
    return waited_for("n2", "first") > 10 || !work_->running();
  })) << waited_for("n2", "first");
  work_->signal(SIGINT);
  const auto first = work_->wait(60s);
  EXPECT_EQ(first.exit_code, 130) << first.err;
  EXPECT_THAT(work_->text_of("first/job.sbatch"), Not(HasSubstr("--exclude=n2")));
  ASSERT_TRUE(happens_within(20s, [&] { return is_avoided("n2"); }))
      << work_->text_of("nodes.jsonl");
  const auto second = work_->run(args("second"));
  cluster_->on_node("n2", {"umount", bin + "/dltrain"});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("recovery.avoid: avoids n2: others waited for it"));
  EXPECT_THAT(work_->text_of("second/job.sbatch"), HasSubstr("#SBATCH --exclude=n2\n"));
  const auto sightings = seen();
  ASSERT_FALSE(sightings.empty());
  const auto& last = sightings.back();
  EXPECT_THAT(last.nodes, Not(HasSubstr("n2")));
  EXPECT_THAT(last.nodes, Not(HasSubstr("-"))) << "n[1-3] has n2 too";
  // The machine may be busy: others may have been late too.
  const auto shown = work_->run({"nodes", "n2"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("n2    avoid"), HasSubstr("1 node: 1 to avoid")))
      << shown.err;
}

TEST_F(SlurmNodes, TwoNodesWriteAtOnce) {
  constexpr int rounds = 6;
  const auto script = "for i in $(seq " + std::to_string(rounds) + "); do " + node_book_variable +
                      "='" + book_.path + "' '" + bin +
                      "/dllaunch' doctor --preflight --skip network --skip folders || exit 1; done";
  std::vector<std::thread> nodes;
  for (const char* node : {"n1", "n2"})
    nodes.emplace_back([&, node] { cluster_->on_node(node, {"sh", "-c", script}); });
  for (auto& node : nodes) node.join();
  const auto read = read_node_book(book_);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->damaged, 0u);
  std::map<std::string, int> figures;
  for (const auto& one : read->all)
    if (one.what == "cpu GFLOP/s") ++figures[one.nodes];
  EXPECT_EQ(figures["n1"], rounds);
  EXPECT_EQ(figures["n2"], rounds);
}

}  // namespace
}  // namespace dllaunch
