// Jobs that have a node to spare, on the real test Slurm: one of them dies, and the ranks go on in
// the same allocation, but for the script's own node, without which the job goes back.
#include "tests/faults/supervised_faults.hpp"

namespace dllaunch {
namespace {

using testing::AnyOf;
using testing::Ge;
using testing::HasSubstr;
using namespace std::chrono_literals;

class SpareNodes : public SupervisedFaults {
 protected:
  /// Two for the ranks, n1 and n2, and n3. With a copy on each node's own disk, whose keeper has to
  /// live through the loss too.
  void start_with_spare_node() {
    work_->file("staged", "some words\n");
    start_training({"recovery.spare_nodes=1", "stage=[" + work_->path() + "/staged]"});
    // Supervisor, parent, and the watcher on n3.
    EXPECT_TRUE(happens_within(20s, [&] { return supervisors().size() == 3; }));
  }
  std::string slurms_record() const {
    return cluster_->on_head({"scontrol", "show", "job", work_->job_id()});
  }
  bool is_put_back() const { return slurms_record().find("Restarts=1") != std::string::npos; }
  static void kill_daemons(const std::string& node) {
    for (const char* name : {"slurmd", "slurmstepd"})
      cluster_->on_node(node, {"pkill", "-KILL", name});
  }
};

/// Slurm is told, but in odd rounds, where it notices by itself after some 17 s.
TEST_P(SpareNodes, ASpareNodeTakesOver) {
  start_with_spare_node();
  if (HasFailure()) return;
  const auto dying = rank(1);
  double down = 0;
  if (GetParam() % 2 == 0) {
    // Else its peers would end before Slurm knows why.
    kill(dying, SIGSTOP);
    kill_daemons("n2");
    down = unix_seconds();
    lose("n2");
    kill(dying, SIGKILL);
    expect_healed(HasSubstr("lost node n2"));
    EXPECT_THAT(journal(), HasSubstr("lost node n2; restart 1 of 3"));
    const double trained = seconds_to_next_step(down);
    std::cout << "trained again after " << trained << " s\n";
    EXPECT_LT(trained, longest_recovery());
  } else {
    lost_.emplace_back("n2");
    ASSERT_TRUE(cluster_->tell("kill-node", {"n2"}));
    expect_healed(testing::_, Ge(1), 150s);
  }
  const auto record = slurms_record();
  EXPECT_THAT(record, HasSubstr("Restarts=0")) << "the same allocation";
  EXPECT_THAT(record, HasSubstr(" NodeList=n[1,3]"));
  EXPECT_THAT(journal(), HasSubstr(R"("unfit":"n2")"));
}

/// Slurm lets the job live without its script, until the watcher sees it. In odd rounds the orphan
/// of the script works on, and may be faster.
TEST_P(SpareNodes, TheScriptsNodeIsLost) {
  start_with_spare_node();
  if (HasFailure()) return;
  const double began = unix_seconds();
  if (GetParam() % 2 == 0)
    ASSERT_TRUE(cluster_->tell("kill-node", {"n1"}));
  else
    kill_daemons("n1");
  lose("n1");
  EXPECT_TRUE(happens_within(60s, [&] { return is_put_back(); })) << slurms_record() << journal();
  std::cout << "put back after " << unix_seconds() - began << " s\n";
  cluster_->tell("kill-node", {"n1"});
  ASSERT_TRUE(cluster_->tell("revive-node", {"n1"}));
  const auto why = "lost node n1, where the job's script ran";
  if (GetParam() % 2 == 0)
    expect_healed(HasSubstr(why), 1, 120s);
  else
    expect_healed(AnyOf(HasSubstr("lost node n1"), HasSubstr("with its node")), 1, 120s);
  EXPECT_THAT(slurms_record(), HasSubstr(" NodeList=n[1-3]")) << "with a spare one again";
  EXPECT_THAT(journal(), HasSubstr("requeueing"));
}

INSTANTIATE_TEST_SUITE_P(Rounds, SpareNodes, testing::Range(0, rounds));

}  // namespace
}  // namespace dllaunch
