#include "launcher/supervise/hold/retry_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/fake_system.hpp"
#include "tests/support/other_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const RetryOrder order{.by = "process 7 on login1",
                       .changes = "run: a -> b",
                       .program = {"python3", "b c.py"},
                       .variables = {{"COLOUR", "red"}},
                       .files = {{"job.yaml", "name: a\n"}, {"plan.json", R"({"retry": 4})"}}};

struct Place {
  TemporaryFolder folder;
  RunDir run{.path = folder.path()};
  SupervisedRun supervised{
      .dir = run,
      .start = start_command_of({"srun", "dllaunch", "exec", "--run-dir", "x", "--", "a"})};
};

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(RetryOrder, IsReadAsItWasGiven) {
  const Place place;
  EXPECT_FALSE(end_of_hold(place.run, 4));
  EXPECT_FALSE(has_rung(place.run, 4));
  ASSERT_TRUE(end_hold(place.run, 4, order));
  EXPECT_TRUE(has_rung(place.run, 4));
  EXPECT_FALSE(has_rung(place.run, 5)) << "another start's";
  const auto read = end_of_hold(place.run, 4);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->by, order.by);
  EXPECT_EQ(read->changes, order.changes);
  EXPECT_EQ(read->program, order.program);
  EXPECT_EQ(read->variables, order.variables);
  EXPECT_EQ(read->files, order.files);
  EXPECT_FALSE(read->over);
  EXPECT_FALSE(end_of_hold(place.run, 5)) << "another start's";
}

TEST(RetryOrder, OfManyAtOnceOneEndsTheHold) {
  const Place place;
  for (int token = 1; token <= 20; ++token) {
    std::atomic<int> won = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        const auto done = end_hold(place.run, token, {.by = std::to_string(i)});
        if (done) ++won;
        if (!done) {
          EXPECT_EQ(done.error().kind, ErrorKind::unsatisfiable) << done.error().what;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(won, 1);
    EXPECT_TRUE(end_of_hold(place.run, token));
  }
}

/// The first was killed after it had made the name: the next one tells the supervisor.
TEST(RetryOrder, IsCompletedByTheNextRetry) {
  const Place place;
  ASSERT_TRUE(end_hold(place.run, 4, order));
  fs::resize_file(place.run.path + "/.retry/4.bell", 0);
  ASSERT_FALSE(has_rung(place.run, 4));
  EXPECT_FALSE(end_hold(place.run, 4, {.by = "another"}));
  EXPECT_TRUE(has_rung(place.run, 4));
  EXPECT_EQ(end_of_hold(place.run, 4)->by, order.by);
}

TEST(RetryOrder, MakesNoDirectoryOfARun) {
  const Place place;
  const RunDir moved{.path = place.run.path + "/moved"};
  EXPECT_FALSE(has_rung(moved, 4));
  const auto asked = end_hold(moved, 4, order);
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().kind, ErrorKind::unavailable);
  EXPECT_FALSE(fs::exists(moved.path));
}

TEST(RetryOrder, WritesOnlyFilesOfTheRun) {
  EXPECT_TRUE(parse_order(R"({"files": {"train.json": "{}"}})"));
  EXPECT_FALSE(parse_order(R"({"files": {"../../.bashrc": "x"}})"));
  EXPECT_FALSE(parse_order(R"({"files": {"job.sbatch": "x"}})"));
  EXPECT_FALSE(parse_order(R"({"program": "x"})"));
  EXPECT_FALSE(parse_order(R"({"by": "torn)"));
  EXPECT_FALSE(parse_order(""));
}

TEST(RetryOrder, ChangesWhatTheRanksAre) {
  Place place;
  const auto told = take_up(order, 4, place.supervised);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->fencing_token, 4);
  EXPECT_EQ(told->changes, order.changes);
  EXPECT_EQ(text_of(place.run.job_yaml()), "name: a\n");
  EXPECT_THAT(place.supervised.start.argv(),
              ElementsAre("srun", "dllaunch", "exec", "--run-dir", "x", "--", "python3", "b c.py"));
  EXPECT_THAT(place.supervised.retry_variables, ElementsAre(Pair("COLOUR", "red")));
}

/// A run's directory that its user opened to others.
TEST(RetryOrder, IsNotTakenFromAFolderOfAnotherUser) {
  const Place place;
  ASSERT_TRUE(end_hold(place.run, 4, order));
  const auto folder = place.run.path + "/.retry";
  const auto expect_nothing = [&](const char* why) {
    EXPECT_FALSE(end_of_hold(place.run, 4)) << why;
    EXPECT_FALSE(has_rung(place.run, 4)) << why;
    const auto asked = end_hold(place.run, 5, order);
    ASSERT_FALSE(asked) << why;
    EXPECT_EQ(asked.error().kind, ErrorKind::bad_request);
    EXPECT_THAT(asked.error().what, HasSubstr(folder + " " + why));
  };
  fs::permissions(folder, fs::perms::others_write, fs::perm_options::add);
  expect_nothing("can be written by others");
  fs::permissions(folder, fs::perms::owner_all);
  EXPECT_TRUE(end_of_hold(place.run, 4));
  fs::rename(folder, place.run.path + "/elsewhere");
  fs::create_directory_symlink("elsewhere", folder);
  expect_nothing("is a link, or not a folder");
  fs::remove(folder);
  fs::rename(place.run.path + "/elsewhere", folder);
  if (!can_be_others()) GTEST_SKIP() << "the rest needs root";
  ASSERT_EQ(chown(folder.c_str(), other_user, other_user), 0);
  expect_nothing("belongs to user 65533, not to you");
}

/// Slurm requeues the job with the script from before.
TEST(RetryOrder, IsFollowedByLaterSupervisors) {
  Place place;
  FakeSystem system;
  system.files[place.run.plan_json()] = R"({"retry": 4})";
  follow_retry(system, place.supervised);
  EXPECT_THAT(place.supervised.start.program, ElementsAre("a")) << "no such order";
  ASSERT_TRUE(end_hold(place.run, 4, order));
  follow_retry(system, place.supervised);
  EXPECT_THAT(place.supervised.start.program, ElementsAre("python3", "b c.py"));
  system.files[place.run.plan_json()] = "{}";
  Place other;
  follow_retry(system, other.supervised);
  EXPECT_THAT(other.supervised.start.program, ElementsAre("a")) << "dllaunch run planned anew";
}

}  // namespace
}  // namespace dllaunch
