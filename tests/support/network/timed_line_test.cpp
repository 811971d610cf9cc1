#include "support/network/timed_line.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

std::array<int, 2> pair_of_sockets() {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return ends;
}

TEST(TimedLine, TakesALineAndLeavesWhatFollows) {
  const auto ends = pair_of_sockets();
  const TimedLine here(ends[0], 20s);
  const TimedLine there(ends[1], 20s);
  EXPECT_TRUE(here.say("hello\n12345"));
  EXPECT_EQ(there.hear(), "hello");
  EXPECT_TRUE(there.take(5));
}

TEST(TimedLine, WaitsNoLongerThanToldTo) {
  const auto ends = pair_of_sockets();
  const TimedLine here(ends[0], 50ms);
  EXPECT_EQ(here.hear(), "");
  EXPECT_FALSE(here.take(1));
  EXPECT_FALSE(here.say(std::string(10'000'000, 'x'))) << "nobody reads";
  close(ends[1]);
}

TEST(TimedLine, RefusesALineWithoutEnd) {
  const auto ends = pair_of_sockets();
  const TimedLine here(ends[0], 20s);
  const TimedLine there(ends[1], 20s);
  EXPECT_TRUE(here.say(std::string(5000, 'x')));
  EXPECT_EQ(there.hear(), "");
}

}  // namespace
}  // namespace dllaunch
