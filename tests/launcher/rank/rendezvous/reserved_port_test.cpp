#include "launcher/rank/rendezvous/reserved_port.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "support/network/sockets.hpp"
#include "tests/support/other_process.hpp"

namespace dllaunch {
namespace {

/// Binds as a program would; -1 when it may not.
int bind_to(int port, bool reuse) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (reuse) setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(port));
  if (bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return made;
  close(made);
  return -1;
}

TEST(ReservedPort, AProgramMayListenOnItWhileItIsHeld) {
  const auto held = reserve_port();
  ASSERT_TRUE(held) << held.error().what;
  EXPECT_EQ(fcntl(held->socket, F_GETFD) & FD_CLOEXEC, 0) << "the program inherits it";
  const int server = listen_on(held->port);
  ASSERT_GE(server, 0) << last_error();
  EXPECT_EQ(port_of(server), held->port);
  const int client = connect_to("localhost", held->port);
  EXPECT_GE(client, 0);
  close(client);
  close(server);
  close(held->socket);
}

TEST(ReservedPort, NoOtherSocketGetsIt) {
  const auto held = reserve_port();
  ASSERT_TRUE(held);
  EXPECT_EQ(bind_to(held->port, /*reuse=*/false), -1);
  EXPECT_EQ(errno, EADDRINUSE);
  // A bind to port 0, with or without SO_REUSEADDR, gets another one.
  std::set<int> open;
  for (int i = 0; i < 400; ++i) {
    const int other = bind_to(0, /*reuse=*/i % 2 == 0);
    if (other < 0) break;
    EXPECT_NE(port_of(other), held->port);
    open.insert(other);
  }
  EXPECT_GT(open.size(), 100u);
  for (const int other : open) close(other);
  close(held->socket);
}

// As docs/explanation/security.md says: the kernel never picks the port for others, but a bind to
// its number succeeds. The kernel compares users only for SO_REUSEPORT, which no framework sets.
TEST(ReservedPort, AnotherUserWhoNamesItCanListenFirst) {
  if (!can_be_others()) GTEST_SKIP() << "needs root";
  const auto held = reserve_port();
  ASSERT_TRUE(held);
  {
    const OtherProcess honest(other_user, [&] {
      return bind_to(held->port, /*reuse=*/false) < 0 && errno == EADDRINUSE;
    });
    EXPECT_TRUE(honest.ready());
  }
  const OtherProcess thief(other_user, [&] {
    const int made = bind_to(held->port, /*reuse=*/true);
    return made >= 0 && listen(made, 1) == 0;
  });
  EXPECT_TRUE(thief.ready()) << "the kernel protects it by now: correct security.md";
  EXPECT_EQ(listen_on(held->port), -1) << "the program ends with an error, and does not share";
  close(held->socket);
}

TEST(ReservedPort, EveryReservationIsAnother) {
  std::set<int> ports;
  std::set<int> sockets;
  for (int i = 0; i < 200; ++i) {
    const auto held = reserve_port();
    ASSERT_TRUE(held);
    ports.insert(held->port);
    sockets.insert(held->socket);
  }
  EXPECT_EQ(ports.size(), 200u);
  for (const int held : sockets) close(held);
}

}  // namespace
}  // namespace dllaunch
