#include "launcher/monitor/follow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

class FollowTest : public testing::Test {
 protected:
  FollowTest() { std::filesystem::create_directories(run_.out()); }

  void append(const std::string& name, const std::string& text) {
    std::ofstream(run_.path + "/" + name, std::ios::app) << text;
  }

  TemporaryFolder folder_;
  RunDir run_{.path = folder_.path()};
  FakeSystem system_;
};

constexpr const char* epoch_line =
    R"({"time":3,"event":"epoch","epoch":1,"loss":0.4,"accuracy":0.9,"val_loss":0.3,)"
    R"("val_accuracy":0.95,"seconds":12,"images_per_s":500})"
    "\n";

TEST_F(FollowTest, ShowsEventsAndAddsThemUp) {
  Follower follower(system_, run_, {.epochs = 3});
  follower.poll();
  EXPECT_EQ(system_.logged, "");
  append("events.jsonl", epoch_line);
  follower.poll();
  EXPECT_EQ(system_.logged,
            "epoch 1/3: loss 0.4000, accuracy 0.9000, val_loss 0.3000, val_accuracy 0.9500, "
            "500 images/s, 12.0 s\n");
  EXPECT_EQ(follower.totals().epochs(), 1);
}

TEST_F(FollowTest, AnEarlierRunIsRememberedButNotShown) {
  append("events.jsonl", epoch_line);
  append("out/rank-0000-vm.log", "old\n");
  Follower follower(system_, run_, {.show_logs = true});
  follower.poll();
  follower.finish();
  EXPECT_EQ(system_.logged, "");
  EXPECT_EQ(follower.totals().epochs(), 1);
  EXPECT_FALSE(follower.totals().images_per_s());
}

TEST_F(FollowTest, WhatAnOrphanWritesIsNotShown) {
  Follower follower(system_, run_, {.epochs = 3});
  append("events.jsonl", R"({"time":1,"event":"start","generation":2})"
                         "\n"
                         R"({"time":3,"event":"epoch","epoch":1,"loss":9,"generation":1})"
                         "\n"
                         R"({"time":4,"event":"end","status":"completed","generation":1})"
                         "\n");
  follower.poll();
  EXPECT_EQ(system_.logged, "");
  EXPECT_EQ(follower.totals().epochs(), 0);
  EXPECT_FALSE(follower.totals().ended());
}

TEST_F(FollowTest, LogLinesCarryTheirRankWhenThereAreSeveral) {
  Follower follower(system_, run_, {.ranks = 2, .show_logs = true});
  append("out/rank-0001-vm.log", "hello\nhalf");
  append("out/mpirun.log", "not a rank\n");
  follower.poll();
  EXPECT_EQ(system_.logged, "");  // others may say the same in a moment
  follower.finish();
  EXPECT_EQ(system_.logged, "[vm:1] hello\n[vm:1] half\n");
}

TEST_F(FollowTest, OneRankNeedsNoPrefix) {
  Follower follower(system_, run_, {.ranks = 1, .show_logs = true});
  append("out/rank-0000-vm.log", "hello\n");
  follower.finish();
  EXPECT_EQ(system_.logged, "hello\n");
}

/// Keeps of what it is told only how much that was.
class MeasuringSystem : public FakeSystem {
 public:
  void log(std::string_view text) override {
    most = std::max(most, text.size());
    all += text.size();
  }
  std::size_t most = 0;
  std::size_t all = 0;
};

TEST_F(FollowTest, OutputThatCameFasterThanItWasReadGoesOutInParts) {
  MeasuringSystem system;
  Follower follower(system, run_, {.ranks = 1, .show_logs = true});
  std::string text;
  while (text.size() < (std::size_t{24} << 20))
    text += "a line of a usual length, as programs do\n";
  append("out/rank-0000-vm.log", text);
  follower.poll();
  follower.finish();
  EXPECT_EQ(system.all, text.size());
  EXPECT_LT(system.most, std::size_t{12} << 20);
}

TEST_F(FollowTest, QuietShowsOnlyTheEssential) {
  system_.terminal.verbosity = -1;
  Follower follower(system_, run_, {});
  append("events.jsonl", epoch_line);
  follower.poll();
  follower.log("by the way");
  follower.say("look!");
  follower.finish();
  EXPECT_EQ(system_.logged, "look!\n");
}

TEST_F(FollowTest, AttachedLaterItShowsWhatHappenedMeanwhile) {
  append("events.jsonl", epoch_line);
  append("out/rank-0000-vm.log", "said before\n");
  Follower late(system_, run_, {.show_logs = true, .attached_at_s = 2.5});
  late.finish();
  EXPECT_NE(system_.logged.find("epoch 1: loss 0.4000"), std::string::npos) << system_.logged;
  EXPECT_NE(system_.logged.find("said before\n"), std::string::npos) << system_.logged;
  EXPECT_TRUE(late.totals().images_per_s());

  system_.logged.clear();
  Follower later(system_, run_, {.attached_at_s = 3.5});
  later.finish();
  EXPECT_EQ(system_.logged, "");
  EXPECT_EQ(later.totals().epochs(), 1);
}

}  // namespace
}  // namespace dllaunch
