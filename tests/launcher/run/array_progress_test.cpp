#include "launcher/run/array_progress.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/run/journal.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

class ArrayProgressTest : public testing::Test {
 protected:
  RunDir task(int number) const { return {.path = run_ + "/task-" + std::to_string(number)}; }
  void ended(int number, const std::string& job, Cause cause) const {
    fs::create_directories(task(number).path);
    const JournalAttempt begun{.time = 1, .job = job};
    ASSERT_TRUE(append_to_journal(task(number), line_of(begun)));
    if (cause == Cause::cut_short) return;
    ASSERT_TRUE(append_to_journal(task(number), line_of(begun, {.job = job, .cause = cause}, 2)));
    if (cause == Cause::completed) {
      ASSERT_TRUE(mark_finished(task(number), job));
    }
  }

  RunPlace place_;
  const std::string run_ = place_.store({.folder = "r", .job_id = "74", .array = "0-5%2"});
};

TEST_F(ArrayProgressTest, TasksWhoseLastStartCompletedAreLeftOut) {
  ended(0, "74", Cause::completed);
  ended(1, "75", Cause::failed);
  ended(2, "76", Cause::cut_short);
  ended(3, "77", Cause::failed);
  ended(3, "80", Cause::completed);
  // Done once, and started again since, by a script that was submitted by hand.
  ended(4, "78", Cause::completed);
  ended(4, "81", Cause::failed);
  std::optional<std::string> array = "0-5%2";
  EXPECT_TRUE(leave_out_completed(run_, array));
  EXPECT_EQ(array, "1-2,4-5%2");
}

TEST_F(ArrayProgressTest, OfAllThatCompletedNoneIsLeft) {
  for (int number : {1, 3}) ended(number, "7", Cause::completed);
  std::optional<std::string> array = "1-3:2";
  EXPECT_FALSE(leave_out_completed(run_, array));
  EXPECT_EQ(array, "1-3:2");
}

TEST_F(ArrayProgressTest, ANewRunHasAllTasks) {
  std::optional<std::string> array = "0-5";
  EXPECT_TRUE(leave_out_completed(run_, array)) << "none has begun";
  EXPECT_TRUE(leave_out_completed("", array));
  EXPECT_TRUE(leave_out_completed(place_.path_of("new"), array));
  EXPECT_EQ(array, "0-5");
  array.reset();
  EXPECT_TRUE(leave_out_completed(run_, array));
}

}  // namespace
}  // namespace dllaunch
