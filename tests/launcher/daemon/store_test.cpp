#include "launcher/daemon/store.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

class StoreTest : public testing::Test {
 protected:
  void SetUp() override { open(); }
  void open() {
    store_.reset();
    auto opened = Store::open(path(), 1000);
    ASSERT_TRUE(opened) << opened.error().what;
    store_ = *std::move(opened);
  }
  std::string path() const { return folder_.path() + "/store.db"; }
  RunRecord add(const std::string& name, bool over = false) {
    RunRecord run{.dir = "/runs/" + name, .name = name, .job = "j", .launcher = "slurm"};
    run.state = over ? "completed" : "running";
    run.over = over;
    const auto id = store_->save(run);
    EXPECT_TRUE(id) << id.error().what;
    run.id = id ? *id : 0;
    return run;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, KeepsEveryFieldOfARun) {
  RunRecord run{.dir = "/a b/\xff",
                .name = "n",
                .job = "j",
                .launcher = "slurm",
                .state = "timeout",
                .job_id = "74",
                .over = true,
                .judged = "73",
                .began_s = 1.5,
                .ended_s = 2.5,
                .seconds = 3.5,
                .where = "n[1-2]",
                .reason = "why",
                .decision = "what",
                .submissions = 4,
                .without_progress = 2,
                .system_cancels = 1,
                .wish = "cancel",
                .wished_s = 9.5,
                .cancelled = true,
                .epoch = 5,
                .step = 60,
                .loss = 0.7,
                .val_accuracy = 0.8,
                .images_per_s = 99.5};
  run.id = *store_->save(run);
  EXPECT_EQ(run.id, 1);
  EXPECT_EQ(**store_->find_id(1), run);
  open();
  EXPECT_EQ(**store_->find("n"), run);
  EXPECT_EQ(**store_->find(run.dir), run);
  run.state = "running";
  run.over = false;
  run.cancelled = false;
  ASSERT_TRUE(store_->save(run));
  EXPECT_EQ(**store_->find_id(1), run);
  EXPECT_EQ(store_->live_runs()->size(), 1u);
  EXPECT_FALSE(*store_->find_id(2));
  EXPECT_FALSE(*store_->find("1")) << "a number is no name";
  EXPECT_FALSE(*store_->find("' OR 1 = 1 --"));
}

TEST_F(StoreTest, APageOfRunsAndTheNext) {
  for (int i = 0; i < 7; ++i) add("r" + std::to_string(i), true);
  const auto first = *store_->runs(3, 0);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[0].name, "r6");
  const auto second = *store_->runs(10, first[2].id);
  ASSERT_EQ(second.size(), 4u);
  EXPECT_EQ(second[0].name, "r3");
  const auto counts = *store_->counts();
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts[0].state, "completed");
  EXPECT_EQ(counts[0].runs, 7);
}

/// A wish that comes while the watch works on an older record is not written over by it.
TEST_F(StoreTest, AWishSurvivesAnOlderRecord) {
  auto run = add("a");
  ASSERT_TRUE(store_->wish(run.id, "requeue", 50));
  run.state = "completed";
  run.over = true;
  ASSERT_TRUE(store_->save(run));
  auto kept = **store_->find("a");
  EXPECT_EQ(kept.wish, "requeue");
  EXPECT_FALSE(kept.over);
  EXPECT_EQ(kept.state, "completed");
  kept.wish.clear();
  kept.over = true;
  ASSERT_TRUE(store_->save(kept));
  EXPECT_EQ((*store_->find("a"))->wish, "");
  EXPECT_TRUE((*store_->find("a"))->over);
}

TEST_F(StoreTest, SubmissionsAreOpenUntilTheirOutcomeIsKnown) {
  const auto run = add("a");
  Submission one{.token = "dllaunch:1", .run = run.id, .reason = "why", .intended_s = 5};
  Submission two{.token = "dllaunch:2", .run = run.id, .reason = "why", .intended_s = 6};
  ASSERT_TRUE(store_->decide({.run = run, .submissions = {one, two}, .notice = {}}));
  EXPECT_EQ(store_->open_submissions()->size(), 2u);
  one.state = SubmissionState::submitted;
  one.job_id = "7";
  one.exclude = "n1";
  ASSERT_TRUE(store_->save(one));
  two.state = SubmissionState::refused;
  two.message = "no";
  ASSERT_TRUE(store_->save(two));
  open();
  EXPECT_TRUE(store_->open_submissions()->empty());
  const auto all = *store_->submissions_of(run.id, 10);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].token, "dllaunch:2");
  EXPECT_EQ(all[0].message, "no");
  EXPECT_EQ(all[1].job_id, "7");
  EXPECT_EQ(all[1].exclude, "n1");
  EXPECT_EQ(to_string(all[1].state), "submitted");
}

/// All of a ruling or nothing: here the submission is of a run that is not there.
TEST_F(StoreTest, ARulingIsNeverHalfKept) {
  auto run = add("a");
  run.state = "timeout";
  const Submission orphan{.token = "dllaunch:1", .run = 77};
  const auto done = store_->decide(
      {.run = run, .submissions = {orphan}, .notice = Notice{.time_s = 1, .event = "ended"}});
  EXPECT_FALSE(done);
  EXPECT_EQ((*store_->find("a"))->state, "running");
  EXPECT_FALSE(*store_->next_notice());
}

TEST_F(StoreTest, NodesThatFailedUnderTwoJobs) {
  ASSERT_TRUE(store_->node_failed("n1", "7", 100));
  ASSERT_TRUE(store_->node_failed("n1", "7", 101));
  ASSERT_TRUE(store_->node_failed("n2", "7", 100));
  EXPECT_TRUE(store_->failed_nodes(0, 2)->empty()) << "one job saw it twice";
  ASSERT_TRUE(store_->node_failed("n1", "8", 200));
  EXPECT_EQ(*store_->failed_nodes(0, 2), std::vector<std::string>{"n1"});
  EXPECT_TRUE(store_->failed_nodes(150, 2)->empty()) << "long ago";
}

TEST_F(StoreTest, WhatJobsCostIsAddedUpAndForgottenOneDay) {
  ASSERT_TRUE(store_->used("1", 2, 1000));
  ASSERT_TRUE(store_->used("2", 0.5, 200'000));
  ASSERT_TRUE(store_->used("2", 3.5, 200'000)) << "told twice";
  EXPECT_DOUBLE_EQ(*store_->gpu_hours(0), 5.5);
  EXPECT_DOUBLE_EQ(*store_->gpu_hours(1001), 3.5);
  EXPECT_DOUBLE_EQ(*store_->gpu_hours(300'000), 0);
  store_.reset();
  store_ = *Store::open(path(), 1000 + 91 * 86400.0);
  EXPECT_DOUBLE_EQ(*store_->gpu_hours(0), 3.5);
}

TEST_F(StoreTest, NoticesComeInOrderAndOnce) {
  const auto run = add("a");
  for (const char* event : {"submitted", "ended"})
    ASSERT_TRUE(store_->decide(
        {.run = run,
         .submissions = {},
         .notice = Notice{.time_s = 1, .event = event, .run = "/r", .message = "w"}}));
  open();
  auto notice = *store_->next_notice();
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->event, "submitted");
  ASSERT_TRUE(store_->notice_done(notice->id));
  notice = *store_->next_notice();
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->event, "ended");
  ASSERT_TRUE(store_->notice_done(notice->id));
  EXPECT_FALSE(*store_->next_notice());
}

TEST_F(StoreTest, RefusesWhatANewerOneWrote) {
  store_.reset();
  {
    auto database = Database::open(path());
    ASSERT_TRUE(database->script("PRAGMA user_version = 99"));
  }
  const auto newer = Store::open(path(), 1);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().kind, ErrorKind::bad_request);
  EXPECT_NE(newer.error().what.find("newer dllaunch"), std::string::npos);
}

TEST_F(StoreTest, RemembersItsFirstDay) {
  EXPECT_EQ(store_->made_s(), 1000);
  store_.reset();
  EXPECT_EQ((*Store::open(path(), 5000))->made_s(), 1000);
}

TEST_F(StoreTest, ThreadsMayShareIt) {
  const auto run = add("a");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(t % 2 == 1 || store_->save(run));
        EXPECT_TRUE(store_->find("a"));
        EXPECT_TRUE(store_->counts());
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace dllaunch
