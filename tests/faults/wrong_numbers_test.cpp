// A bit of a rank's memory flips, on the real test Slurm: the run goes back to what all ranks
// agreed on, and on without that node.
#include "tests/faults/supervised_faults.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

class WrongNumbers : public SupervisedFaults {
 protected:
  /// On the second rank, on n2, in the third epoch of 64 steps.
  void start_with_a_flip(const std::vector<std::string>& sets) {
    std::vector<std::string> all = {"runtime.integrity.every_steps=10",
                                    "environment.variables.DLLAUNCH_FLIP_BIT=1:157:weights:123457"};
    all.insert(all.end(), sets.begin(), sets.end());
    start_training(all);
  }
  std::string slurms_record() const {
    return cluster_->on_head({"scontrol", "show", "job", work_->job_id()});
  }
  void expect_it_is_told() {
    const auto reader = place("reader");
    for (const char* command : {"status", "report"}) {
      EXPECT_THAT(reader->run({command, work_->run_dir()}).out,
                  HasSubstr("step 160: computed again, rank 1 on n2 has other numbers than before"))
          << command;
    }
    EXPECT_THAT(journal(), HasSubstr(R"("how":"recomputed","rank":1,"host":"n2","node":"n2")"));
    EXPECT_THAT(journal(), Not(HasSubstr(R"("since":160)"))) << "they agreed last at step 150";
  }
};

/// Two ranks are no majority: the steps are computed again first.
TEST_P(WrongNumbers, ARankIsFoundAndASpareNodeTakesOver) {
  // It takes two restarts, which count as one.
  start_with_a_flip({"recovery.spare_nodes=1", "recovery.max_restarts=1"});
  if (HasFailure()) return;
  expect_healed(HasSubstr("its numbers were wrong"), 2, 150s);
  EXPECT_THAT(journal(), HasSubstr(R"("how":"pending")"));
  expect_it_is_told();
  EXPECT_THAT(journal(), HasSubstr(R"("unfit":"n2")"));
  EXPECT_THAT(slurms_record(), HasSubstr("Restarts=0")) << "the same allocation";
}

/// One flipped bit is no reason to wait in the queue for another node.
TEST_P(WrongNumbers, WithoutASpareNodeItGoesOnOnTheSameNodes) {
  start_with_a_flip({});
  if (HasFailure()) return;
  expect_healed(HasSubstr("numbers"), 2, 200s);
  expect_it_is_told();
  const auto record = slurms_record();
  EXPECT_THAT(record, HasSubstr("Restarts=0"));
  EXPECT_THAT(record, HasSubstr(" NodeList=n[1-2]"));
}

INSTANTIATE_TEST_SUITE_P(Rounds, WrongNumbers, testing::Range(0, rounds));

}  // namespace
}  // namespace dllaunch
