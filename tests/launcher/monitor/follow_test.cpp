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
  FakeWorld world_;
};

constexpr const char* epoch_line =
    R"({"time":3,"event":"epoch","epoch":1,"loss":0.4,"accuracy":0.9,"val_loss":0.3,)"
    R"("val_accuracy":0.95,"seconds":12,"images_per_s":500})"
    "\n";

TEST_F(FollowTest, ShowsEventsAndAddsThemUp) {
  Follower follower(world_, run_, {.epochs = 3});
  follower.poll();
  EXPECT_EQ(world_.noted, "");
  append("events.jsonl", epoch_line);
  follower.poll();
  EXPECT_EQ(world_.noted,
            "epoch 1/3: loss 0.4000, accuracy 0.9000, val_loss 0.3000, val_accuracy 0.9500, "
            "500 images/s, 12.0 s\n");
  EXPECT_EQ(follower.ledger().epochs(), 1);
}

TEST_F(FollowTest, AnEarlierRunIsRememberedButNotShown) {
  append("events.jsonl", epoch_line);
  append("out/rank-0000-vm.log", "old\n");
  Follower follower(world_, run_, {.show_logs = true});
  follower.poll();
  follower.finish();
  EXPECT_EQ(world_.noted, "");
  EXPECT_EQ(follower.ledger().epochs(), 1);
  EXPECT_FALSE(follower.ledger().images_per_s());
}

TEST_F(FollowTest, WhatAnOrphanWritesIsNotShown) {
  Follower follower(world_, run_, {.epochs = 3});
  append("events.jsonl", R"({"time":1,"event":"start","generation":2})"
                         "\n"
                         R"({"time":3,"event":"epoch","epoch":1,"loss":9,"generation":1})"
                         "\n"
                         R"({"time":4,"event":"end","status":"completed","generation":1})"
                         "\n");
  follower.poll();
  EXPECT_EQ(world_.noted, "");
  EXPECT_EQ(follower.ledger().epochs(), 0);
  EXPECT_FALSE(follower.ledger().ended());
}

TEST_F(FollowTest, LogLinesCarryTheirRankWhenThereAreSeveral) {
  Follower follower(world_, run_, {.ranks = 2, .show_logs = true});
  append("out/rank-0001-vm.log", "hello\nhalf");
  append("out/mpirun.log", "not a rank\n");
  follower.poll();
  EXPECT_EQ(world_.noted, "");  // others may say the same in a moment
  follower.finish();
  EXPECT_EQ(world_.noted, "[vm:1] hello\n[vm:1] half\n");
}

TEST_F(FollowTest, OneRankNeedsNoPrefix) {
  Follower follower(world_, run_, {.ranks = 1, .show_logs = true});
  append("out/rank-0000-vm.log", "hello\n");
  follower.finish();
  EXPECT_EQ(world_.noted, "hello\n");
}

/// Keeps of what it is told only how much that was.
class MeasuringWorld : public FakeWorld {
 public:
  void note(std::string_view text) override {
    most = std::max(most, text.size());
    all += text.size();
  }
  std::size_t most = 0;
  std::size_t all = 0;
};

TEST_F(FollowTest, OutputThatCameFasterThanItWasReadGoesOutInParts) {
  MeasuringWorld world;
  Follower follower(world, run_, {.ranks = 1, .show_logs = true});
  std::string text;
  while (text.size() < (std::size_t{24} << 20))
    text += "a line of a usual length, as programs do\n";
  append("out/rank-0000-vm.log", text);
  follower.poll();
  follower.finish();
  EXPECT_EQ(world.all, text.size());
  EXPECT_LT(world.most, std::size_t{12} << 20);
}

TEST_F(FollowTest, QuietShowsOnlyWhatNobodyShouldMiss) {
  world_.terminal.verbosity = -1;
  Follower follower(world_, run_, {});
  append("events.jsonl", epoch_line);
  follower.poll();
  follower.note("by the way");
  follower.say("look!");
  follower.finish();
  EXPECT_EQ(world_.noted, "look!\n");
}

TEST_F(FollowTest, AttachedLaterItShowsWhatHappenedMeanwhile) {
  append("events.jsonl", epoch_line);
  append("out/rank-0000-vm.log", "said before\n");
  Follower late(world_, run_, {.show_logs = true, .attached_at_s = 2.5});
  late.finish();
  EXPECT_NE(world_.noted.find("epoch 1: loss 0.4000"), std::string::npos) << world_.noted;
  EXPECT_NE(world_.noted.find("said before\n"), std::string::npos) << world_.noted;
  EXPECT_TRUE(late.ledger().images_per_s());

  world_.noted.clear();
  Follower later(world_, run_, {.attached_at_s = 3.5});
  later.finish();
  EXPECT_EQ(world_.noted, "");
  EXPECT_EQ(later.ledger().epochs(), 1);
}

}  // namespace
}  // namespace dllaunch
