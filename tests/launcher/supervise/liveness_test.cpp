#include "launcher/supervise/liveness.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using std::chrono::seconds;

class LivenessTest : public testing::Test {
 protected:
  LivenessTest() { std::filesystem::create_directories(run_.out()); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(run_.path + "/" + name, std::ios::app) << text;
  }
  void step(int number) const {
    write("events.jsonl", "{\"time\": 1, \"event\": \"step\", \"epoch\": 1, \"step\": " +
                              std::to_string(number) + "}\n");
  }

  const TemporaryFolder folder_;
  const RunDir run_{.path = folder_.path()};
  const Liveness::Time start_ = std::chrono::steady_clock::now();
};

TEST_F(LivenessTest, OutputIsASign) {
  Liveness liveness(run_, /*trains=*/false, 20, start_);
  for (int second = 0; second <= 60; second += 10) {
    write("out/rank-0000-n1.log", "line\n");
    liveness.look(start_ + seconds(second));
    EXPECT_EQ(liveness.wedged(start_ + seconds(second)), "");
  }
  liveness.look(start_ + seconds(80));
  EXPECT_EQ(liveness.wedged(start_ + seconds(80)), "");
  EXPECT_EQ(liveness.wedged(start_ + seconds(81)), "no progress for 21 s");
}

/// Other nodes may be resumed later than this one.
TEST_F(LivenessTest, AfterAPauseOthersMayResumeALittleLater) {
  Liveness liveness(run_, /*trains=*/false, 20, start_);
  liveness.look(start_ + seconds(15));
  liveness.resume(start_ + seconds(15), seconds(600));
  liveness.look(start_ + seconds(30));
  EXPECT_EQ(liveness.wedged(start_ + seconds(30)), "");
  EXPECT_EQ(liveness.wedged(start_ + seconds(31)), "no progress for 21 s");
}

/// A program that prints while it is stuck says nothing by that, once it has a heart.
TEST_F(LivenessTest, WhoTouchesTheHeartbeatIsJudgedByItAlone) {
  Liveness liveness(run_, /*trains=*/false, 20, start_);
  write(".heartbeat", "1");
  liveness.look(start_);
  for (int second = 10; second <= 30; second += 10) {
    write("out/rank-0000-n1.log", "still waiting\n");
    liveness.look(start_ + seconds(second));
  }
  EXPECT_NE(liveness.wedged(start_ + seconds(30)), "");
  write(".heartbeat", "2");
  liveness.look(start_ + seconds(40));
  EXPECT_EQ(liveness.wedged(start_ + seconds(40)), "");
}

TEST_F(LivenessTest, AStallLastsUntilItIsOver) {
  const auto stall = [this](const std::string& state, int generation) {
    write("events.jsonl", "{\"time\": 1, \"event\": \"stall\", \"state\": \"" + state +
                              "\", \"generation\": " + std::to_string(generation) + "}\n");
  };
  stall("late", 3);
  Liveness liveness(run_, /*trains=*/true, 20, start_, /*fencing_token=*/3);
  const auto stalled = [&] {
    liveness.look(start_);
    return liveness.stalled();
  };
  EXPECT_FALSE(stalled()) << "before this attempt";
  stall("late", 2);
  EXPECT_FALSE(stalled()) << "of an earlier one that still lives";
  stall("died", 3);
  EXPECT_FALSE(stalled());
  stall("late", 3);
  EXPECT_TRUE(stalled());
  stall("over", 3);
  EXPECT_FALSE(stalled());
  stall("gave up", 3);
  EXPECT_TRUE(stalled());
}

/// The ranks of a training end themselves, at a moment that can be told before.
TEST_F(LivenessTest, WhenTheRanksGiveUpIsKnown) {
  const auto event = [this](const std::string& fields) {
    write("events.jsonl", "{\"time\": 1, " + fields + "}\n");
  };
  Liveness liveness(run_, /*trains=*/true, 600, start_);
  EXPECT_EQ(liveness.gives_up_at(), start_ + seconds(600)) << "if they never begin";
  event(R"("event": "start")");
  liveness.look(start_ + seconds(5));
  EXPECT_EQ(liveness.gives_up_at(), std::nullopt);
  event(R"("event": "stall", "state": "late", "seconds": 60)");
  liveness.look(start_ + seconds(100));
  EXPECT_EQ(liveness.gives_up_at(), start_ + seconds(640));
  event(R"("event": "stall", "state": "died")");
  event(R"("event": "stall", "state": "late", "seconds": 700)");
  liveness.look(start_ + seconds(200));
  EXPECT_EQ(liveness.gives_up_at(), start_ + seconds(200));
  event(R"("event": "stall", "state": "over", "seconds": 750)");
  liveness.look(start_ + seconds(300));
  EXPECT_EQ(liveness.gives_up_at(), std::nullopt);
  event(R"("event": "stall", "state": "late")");
  liveness.look(start_ + seconds(400));
  EXPECT_EQ(liveness.gives_up_at(), std::nullopt) << "of an older trainer";

  EXPECT_EQ(Liveness(run_, /*trains=*/true, 0, start_).gives_up_at(), std::nullopt);
  EXPECT_EQ(Liveness(run_, /*trains=*/false, 600, start_).gives_up_at(), std::nullopt);
}

TEST_F(LivenessTest, AnEarlierAttemptsHeartbeatDoesNotCount) {
  write(".heartbeat", "1");
  const Liveness liveness(run_, /*trains=*/false, 20, start_);
  EXPECT_FALSE(std::filesystem::exists(heartbeat_file(run_)));
}

/// Without a limit, the length of the silence is known afterwards.
TEST_F(LivenessTest, SilenceIsMeasuredToTheEndAndSlurmsWordsAreNone) {
  Liveness liveness(run_, /*trains=*/false, 0, start_);
  write("out/rank-0000-n1.log", "line\n");
  liveness.look(start_ + seconds(600));
  EXPECT_EQ(liveness.silent_s(start_ + seconds(600)), 0);
  liveness.look(start_ + seconds(4000));
  write("out/slurm-17.out", "slurmstepd: error: *** STEP 17.0 ON n1 CANCELLED ***\n");
  EXPECT_EQ(liveness.silent_s(start_ + seconds(4001)), 3401);
  write("out/rank-0000-n1.log", "saved\n");
  EXPECT_EQ(liveness.silent_s(start_ + seconds(4002)), 0);
}

TEST_F(LivenessTest, DoesNotLookWithoutALimit) {
  Liveness liveness(run_, /*trains=*/false, 0, start_);
  liveness.look(start_ + seconds(1'000'000));
  EXPECT_EQ(liveness.wedged(start_ + seconds(1'000'000)), "");
}

/// In the middle of an epoch the next step must come; before the first and between epochs the
/// trainer loads and validates without a word.
TEST_F(LivenessTest, ATrainingMustStepWhereItSteps) {
  Liveness liveness(run_, /*trains=*/true, 20, start_);
  write("events.jsonl", R"({"time": 1, "event": "start", "steps_per_epoch": 100})"
                        "\n");
  liveness.look(start_);
  EXPECT_EQ(liveness.wedged(start_ + seconds(200)), "") << "it loads";
  EXPECT_NE(liveness.wedged(start_ + seconds(221)), "") << "for ever";
  step(40);
  step(41);
  liveness.look(start_ + seconds(200));
  EXPECT_EQ(liveness.wedged(start_ + seconds(240)), "") << "its own watchdog comes first";
  EXPECT_EQ(liveness.wedged(start_ + seconds(241)), "no progress for 41 s");
  step(98);
  liveness.look(start_ + seconds(300));
  EXPECT_EQ(liveness.wedged(start_ + seconds(400)), "") << "it may validate";
}

TEST_F(LivenessTest, TheEndOfThisAttemptIsTold) {
  write("events.jsonl", R"({"time": 1, "event": "end", "status": "completed"})"
                        "\n");
  Liveness liveness(run_, /*trains=*/true, 20, start_);
  liveness.look(start_);
  EXPECT_EQ(liveness.training_end(), "") << "that was an earlier one's";
  write("events.jsonl", R"({"time": 1, "event": "start"})"
                        "\n");
  write("events.jsonl", R"({"time": 2, "event": "end", "status": "cancelled"})"
                        "\n");
  liveness.look(start_ + seconds(1));
  EXPECT_EQ(liveness.training_end(), "cancelled");
}

TEST_F(LivenessTest, UnusualSilenceIsLongerThanAnyBefore) {
  Liveness liveness(run_, /*trains=*/true, 0, start_);
  EXPECT_FALSE(liveness.unusually_silent(start_ + seconds(20)));
  EXPECT_TRUE(liveness.unusually_silent(start_ + seconds(21)));
  step(1);
  liveness.look(start_ + seconds(25));
  EXPECT_TRUE(liveness.unusually_silent(start_ + seconds(46))) << "the start is no step";
  step(2);
  liveness.look(start_ + seconds(50));
  EXPECT_FALSE(liveness.unusually_silent(start_ + seconds(100))) << "steps take 25 s";
  write("events.jsonl", R"({"time": 1, "event": "stall", "state": "late"})"
                        "\n");
  write("out/rank-0000-n1.log", "stall\n");
  liveness.look(start_ + seconds(101));
  EXPECT_TRUE(liveness.unusually_silent(start_ + seconds(101))) << "a stall is no progress";
  Liveness command(run_, /*trains=*/false, 0, start_);
  EXPECT_FALSE(command.unusually_silent(start_ + seconds(1000)));
}

}  // namespace
}  // namespace dllaunch
