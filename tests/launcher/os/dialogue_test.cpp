#include "launcher/os/dialogue.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

std::chrono::steady_clock::time_point soon(std::chrono::milliseconds wait = 30s) {
  return std::chrono::steady_clock::now() + wait;
}

Result<Dialogue> shell(const std::string& script) {
  return Dialogue::start({"/bin/sh", "-c", script});
}

TEST(Dialogue, AnswersLineByLine) {
  auto cat = shell("while read -r line; do echo \"<$line>\"; done; echo bye >&2");
  ASSERT_TRUE(cat) << cat.error().what;
  for (const std::string word : {"one", "two"}) {
    EXPECT_TRUE(cat->say(word + "\n"));
    EXPECT_EQ(cat->hear(soon()), "<" + word + ">");
  }
  cat->say_no_more();
  EXPECT_EQ(cat->hear(soon()), "bye") << "standard error too";
  EXPECT_EQ(cat->hear(soon()), std::nullopt);
  EXPECT_TRUE(cat->ended());
}

TEST(Dialogue, WaitsNoLongerThanToldTo) {
  auto mute = shell("sleep 1000");
  ASSERT_TRUE(mute);
  EXPECT_EQ(mute->hear(soon(50ms)), std::nullopt);
  EXPECT_FALSE(mute->ended());
  // More than a pipe holds: nobody reads.
  EXPECT_FALSE(mute->say(std::string(10'000'000, 'x')));
}

TEST(Dialogue, WaitsNoLongerForWhoTalksWithoutEnd) {
  auto talker = shell("yes");
  ASSERT_TRUE(talker);
  const auto until = soon(50ms);
  while (std::chrono::steady_clock::now() < until && talker->hear(until)) continue;
  EXPECT_FALSE(talker->ended());
  auto endless = shell("yes | tr -d '\\n'");
  ASSERT_TRUE(endless);
  EXPECT_EQ(endless->hear(soon()), std::nullopt);
  EXPECT_TRUE(endless->ended()) << "a line of more than 1 MiB";
}

TEST(Dialogue, SurvivesWhoHasGone) {
  auto gone = shell("exit 3");
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->hear(soon()), std::nullopt);
  // The kernel may close its standard input after its standard output.
  const auto until = soon(5s);
  while (std::chrono::steady_clock::now() < until && gone->say("?")) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE(gone->say("anyone?\n"));
}

TEST(Dialogue, SaysWhatCannotBeStarted) {
  const auto none = Dialogue::start({"/no/such/program"});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().what.find("/no/such/program"), std::string::npos);
}

}  // namespace
}  // namespace dllaunch
