#include "launcher/rendezvous/sockets.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::string unique_name() {
  return "sockets-" + std::to_string(getpid());
}

TEST(Sockets, NobodyThereIsNoWait) {
  const auto began = Clock::now();
  EXPECT_EQ(connect_here(unique_name(), 0), -1);
  const int server = listen_on(0);
  const int port = port_of(server);
  close(server);
  EXPECT_EQ(connect_to("localhost", port), -1);
  EXPECT_EQ(exchange(-1, "x\n", began + 60s), "");
  EXPECT_LT(Clock::now() - began, 30s);
  EXPECT_TRUE(resolves("localhost"));
  EXPECT_FALSE(resolves("no-such-name.invalid"));
  EXPECT_EQ(connect_to("no-such-name.invalid", 1), -1);  // a slow name server may take its time
}

TEST(Sockets, EachNodeOfAStartHasItsOwnDesk) {
  const int first = listen_here(unique_name(), 0);
  ASSERT_GE(first, 0);
  EXPECT_EQ(listen_here(unique_name(), 0), -1) << "there is one already";
  const int second = listen_here(unique_name(), 1);
  EXPECT_GE(second, 0);
  const int client = connect_here(unique_name(), 1);
  EXPECT_GE(client, 0);
  close(client);
  close(first);
  close(second);
  EXPECT_EQ(connect_here(unique_name(), 0), -1) << "gone with its owner";
}

// A stranger who listens where a former job's rank 0 did must not hold anybody up.
TEST(Sockets, SilenceEndsAtTheDeadline) {
  const int server = listen_on(0);
  ASSERT_GE(server, 0);
  const auto began = Clock::now();
  EXPECT_EQ(exchange(connect_to("localhost", port_of(server)), "hello\n", began + 200ms), "");
  EXPECT_GE(Clock::now() - began, 190ms);
  EXPECT_LT(Clock::now() - began, 5s);
  close(server);
}

TEST(Sockets, ALongAnswerComesWhole) {
  const int server = listen_here(unique_name(), 0);
  ASSERT_GE(server, 0);
  const int client = connect_here(unique_name(), 0);
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

}  // namespace
}  // namespace dllaunch
