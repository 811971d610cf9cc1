// Whose errors an allocation is held for, and how long.
#include <gtest/gtest.h>

#include "launcher/supervise/policy.hpp"
#include "tests/launcher/supervise/attempts.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

RecoverySettings holding(int max_restarts) {
  auto settings = with(command, max_restarts);
  settings.plan.hold_seconds = 1800;
  return settings;
}

Next after(const Attempt& attempt) {
  return decide({attempt}, holding(0), {}).next;
}

TEST(PolicyHold, IsForErrorsOfTheProgram) {
  EXPECT_EQ(after(exited(1, 1, "ImportError: x")), Next::hold);
  EXPECT_EQ(after(exited(1, 2)), Next::hold) << "a wrong option, say";
  EXPECT_EQ(after(killed(1, SIGSEGV)), Next::hold);
  EXPECT_EQ(after(ended(Cause::stalled)), Next::hold);
  auto full = killed(1, SIGKILL);
  full.dead.out_of_memory = true;
  EXPECT_EQ(after(full), Next::hold);
}

TEST(PolicyHold, IsForNothingElse) {
  EXPECT_EQ(after(killed(1, SIGKILL)), Next::stop) << "by whom?";
  EXPECT_EQ(after(exited(1, 93)), Next::stop) << "never again";
  for (const auto cause : {Cause::completed, Cause::cancelled, Cause::superseded, Cause::storage,
                           Cause::unproven, Cause::lost_node, Cause::time_limit, Cause::preempted})
    EXPECT_NE(after(ended(cause)), Next::hold) << to_string(cause);
  EXPECT_EQ(decide({exited(1, 1)}, with(command, 0), {}).next, Next::stop) << "nobody asked for it";
}

TEST(PolicyHold, ComesAfterTheRestarts) {
  const auto error = exited(1, 1, "ImportError: x");
  EXPECT_EQ(decide({error}, holding(3), {}).next, Next::restart);
  const auto again = decide({error, error}, holding(3), {});
  EXPECT_EQ(again.next, Next::hold);
  EXPECT_EQ(again.reason, "rank 1 on n2 exited with code 1 (ImportError: x)");
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_EQ(again.hold, seconds(1800));
}

TEST(PolicyHold, LeavesTimeToStartAndToSave) {
  const auto error = exited(1, 1);
  EXPECT_EQ(decide({error}, holding(0), 1000).hold, seconds(1000 - 30 - 120));
  EXPECT_EQ(decide({error}, holding(0), 9000).hold, seconds(1800));
  EXPECT_EQ(decide({error}, holding(0), 140).next, Next::stop);
}

}  // namespace
}  // namespace dllaunch
