#include "launcher/rank/rendezvous/local_listener.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sstream>

#include "tests/support/other_process.hpp"

namespace dllaunch {
namespace {

std::string unique_name() {
  return "door-" + std::to_string(getpid());
}

/// A socket with the name that this user's start would take, listening if `backlog` is not
/// negative.
int squat(const std::string& name, int backlog) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const int made = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(made, generic, size) != 0) return -1;
  if (backlog < 0) return made;
  if (listen(made, backlog) != 0) return -1;
  // A full backlog: a blocking connect would wait for ever.
  for (int i = 0; i <= backlog; ++i)
    if (connect(socket(AF_UNIX, SOCK_STREAM, 0), generic, size) != 0) return -1;
  return made;
}

void expect_they_meet(const std::string& name) {
  const int server = listen_here(name, 0);
  ASSERT_GE(server, 0) << std::strerror(errno);
  const int client = connect_here(name, 0, /*look_around=*/true);
  ASSERT_GE(client, 0) << std::strerror(errno);
  const int accepted = accept(server, nullptr, nullptr);
  EXPECT_GE(accepted, 0) << "with each other";
  EXPECT_TRUE(is_ours(accepted));
  for (const int one : {server, client, accepted}) close(one);
}

TEST(LocalListener, EachNodeOfAStartHasItsOwn) {
  const int first = listen_here(unique_name(), 0);
  ASSERT_GE(first, 0);
  EXPECT_EQ(listen_here(unique_name(), 0), -1) << "there is one already";
  EXPECT_EQ(errno, EADDRINUSE);
  const int second = listen_here(unique_name(), 1);
  EXPECT_GE(second, 0);
  const int client = connect_here(unique_name(), 1, false);
  EXPECT_GE(client, 0);
  close(client);
  close(first);
  close(second);
  EXPECT_EQ(connect_here(unique_name(), 0, false), -1) << "gone with its owner";
  EXPECT_EQ(connect_here(unique_name(), 0, true), -1);
}

TEST(LocalListener, AnotherUserWhoHoldsTheNameDoesNoHarm) {
  if (!can_be_others()) GTEST_SKIP() << "needs root";
  const auto name = fmt::format("dllaunch-{}-0-{}", geteuid(), unique_name());
  for (const int backlog : {-1, 0, 5}) {
    const OtherProcess squatter(other_user, [&] { return squat(name, backlog) >= 0; });
    ASSERT_TRUE(squatter.ready());
    expect_they_meet(unique_name());
  }
}

// The listener has its random name already when the usual one becomes free.
TEST(LocalListener, TheDoorIsFoundWhenTheStrangerHasLeft) {
  if (!can_be_others()) GTEST_SKIP() << "needs root";
  const auto name = fmt::format("dllaunch-{}-0-{}", geteuid(), unique_name());
  OtherProcess squatter(other_user, [&] {
    // Beside it, what looks like the listener with the random name.
    return squat(name, 5) >= 0 && squat(name + ".0123456789abcdef", 5) >= 0;
  });
  ASSERT_TRUE(squatter.ready());
  const int server = listen_here(unique_name(), 0);
  ASSERT_GE(server, 0);
  const int early = connect_here(unique_name(), 0, false);
  EXPECT_GE(early, 0);
  squatter.end();
  const int late = connect_here(unique_name(), 0, true);
  EXPECT_GE(late, 0);
  for (const int one : {server, early, late}) close(one);
}

TEST(LocalListener, ReadsTheKernelsList) {
  std::istringstream list(
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 17168 @door.1\n"
      "0000000000000000: 00000003 00000000 00000000 0001 03 17169 @door.2\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 17170 /run/door.3\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 17171\n"
      "@door.4\n\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 17172 @other.5\n"
      "0000000000000000: 00000002 00000000 00010000 0005 01 17173 @door.6 x\n");
  EXPECT_THAT(listening_names(list, "door."), testing::ElementsAre("door.1", "door.6"));
}

}  // namespace
}  // namespace dllaunch
