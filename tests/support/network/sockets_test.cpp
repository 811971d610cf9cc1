#include "support/network/sockets.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "launcher/rank/rendezvous/local_listener.hpp"
#include "tests/support/network/no_descriptors.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::string unique_name() {
  return "sockets-" + std::to_string(getpid());
}

TEST(Sockets, DoesNotWaitWithoutAListener) {
  const auto began = Clock::now();
  EXPECT_EQ(connect_here(unique_name(), 0, true), -1);
  const int server = listen_on(0);
  const int port = port_of(server);
  close(server);
  EXPECT_EQ(connect_to("localhost", port), -1);
  EXPECT_EQ(exchange(-1, "x\n", began + 60s), "");
  EXPECT_LT(Clock::now() - began, 30s);
  EXPECT_FALSE(addresses_of("localhost", 1).empty());
  EXPECT_TRUE(addresses_of("no-such-name.invalid", 1).empty());
  EXPECT_EQ(connect_to("no-such-name.invalid", 1), -1);  // a slow name server may take its time
}

// A stranger who listens where a former job's rank 0 did must not hold anybody up.
TEST(Sockets, SilenceEndsAtTheDeadline) {
  const int server = listen_on(0);
  ASSERT_GE(server, 0);
  const auto began = Clock::now();
  const int client = connect_to("localhost", port_of(server));
  EXPECT_THAT(peer_of(client), testing::AnyOf("127.0.0.1", "::1"));
  EXPECT_EQ(exchange(client, "hello\n", began + 200ms), "");
  EXPECT_GE(Clock::now() - began, 190ms);
  EXPECT_LT(Clock::now() - began, 20s);
  close(server);
}

TEST(Sockets, ALongAnswerComesWhole) {
  const int server = listen_here(unique_name(), 0);
  ASSERT_GE(server, 0);
  const int client = connect_here(unique_name(), 0, false);
  const int accepted = accept(server, nullptr, nullptr);
  ASSERT_GE(accepted, 0);
  const std::string text(3'000'000, 'x');
  std::thread answer([&] {
    const std::string line = text + "\n";
    for (std::size_t at = 0; at < line.size();) {
      const auto sent = send(accepted, line.data() + at, line.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) break;
      at += static_cast<std::size_t>(sent);
    }
    close(accepted);
  });
  EXPECT_EQ(exchange(client, "hello\n", Clock::now() + 30s), text);
  answer.join();
  close(server);
}

TEST(Sockets, ReadALineAndNothingBeyondIt) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  std::string line;
  EXPECT_EQ(read_line(ends[0], line), LineState::incomplete);
  const auto say = [&](const std::string& text) {
    EXPECT_EQ(send(ends[1], text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  };
  say("one ");
  EXPECT_EQ(read_line(ends[0], line), LineState::incomplete);
  say("line\nand more");
  EXPECT_EQ(read_line(ends[0], line), LineState::complete);
  EXPECT_EQ(line, "one line");
  std::array<char, 100> rest{};
  EXPECT_EQ(recv(ends[0], rest.data(), rest.size(), 0), 8);
  EXPECT_STREQ(rest.data(), "and more");
  close(ends[1]);
  EXPECT_EQ(read_line(ends[0], line), LineState::closed);
  close(ends[0]);
}

TEST(Sockets, AcceptingWithoutDescriptorsDoesNotSpinAndGoesOnWithThem) {
  const int server = listen_on(0);
  std::thread listener([&] {
    int came = -1;
    while (came < 0) came = accept_within(server, -1);
    EXPECT_EQ(fcntl(came, F_GETFL) & O_NONBLOCK, 0);
    close(came);
  });
  EXPECT_LT(cpu_seconds_without_descriptors(port_of(server)), spinning_s);
  listener.join();
  EXPECT_EQ(accept_within(server, 1), -1);
  close(server);
}

TEST(Sockets, KnowBothEnds) {
  const int server = listen_on(0);
  const int caller = connect_to("127.0.0.1", port_of(server));
  ASSERT_GE(caller, 0);
  EXPECT_EQ(peer_of(caller), "127.0.0.1");
  EXPECT_EQ(own_address_of(caller), "127.0.0.1");
  EXPECT_EQ(own_address_of(-1), "an unknown address");
  close(caller);
  close(server);
  for (const char* address : {"127.0.0.1", "127.0.1.1", "::1"}) EXPECT_TRUE(is_loopback(address));
  for (const char* address : {"10.0.0.1", "fe80::1", "128.0.0.1"}) {
    EXPECT_FALSE(is_loopback(address));
  }
}

}  // namespace
}  // namespace dllaunch
