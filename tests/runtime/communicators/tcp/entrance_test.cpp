#include "runtime/communicators/tcp/entrance.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "support/network/proof.hpp"
#include "support/network/sockets.hpp"
#include "tests/support/network/no_descriptors.hpp"

namespace dllaunch {
namespace {

const std::string secret = "the secret of these ranks";

class EntranceOfRank1 : public testing::Test {
 protected:
  EntranceOfRank1() {
    entrance = *Entrance::open(0, {.rank = 1, .size = 4, .secret = secret, .warn = [&](auto text) {
                                     warnings.emplace_back(text);
                                   }});
  }
  FileDescriptor caller() const {
    return FileDescriptor(connect_to("127.0.0.1", entrance->port()));
  }
  FileDescriptor caller_that_says(std::string_view text) const {
    auto socket = caller();
    EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    return socket;
  }
  /// Attends until `enough`.
  std::vector<Guest> attend_until(const std::function<bool(std::size_t guests)>& enough) {
    std::vector<Guest> all;
    while (!enough(all.size())) {
      pollfd door{entrance->descriptor(), POLLIN, 0};
      ::poll(&door, 1, 100);
      for (Guest& guest : entrance->attend()) all.push_back(std::move(guest));
    }
    return all;
  }
  std::vector<Guest> attend_until_refused(long strangers) {
    return attend_until([&](std::size_t) { return entrance->refused() >= strangers; });
  }
  static bool is_closed(const FileDescriptor& socket) {
    std::array<char, 1> none;
    return ::recv(socket.get(), none.data(), 1, 0) <= 0;
  }

  std::vector<std::string> warnings;
  std::unique_ptr<Entrance> entrance;
  const Hello hello{.rank = 2, .to = 1, .size = 4, .port = 9, .nonce = "aa", .host = "n2"};
};

TEST_F(EntranceOfRank1, LetsInARankThatProvesItself) {
  const auto line = to_line(hello, secret);
  const auto socket = caller_that_says(line.substr(0, 20));
  EXPECT_TRUE(entrance->attend().empty());
  ::send(socket.get(), line.data() + 20, line.size() - 20, 0);
  const auto guests = attend_until([](std::size_t count) { return count == 1; });
  EXPECT_EQ(guests[0].hello, hello);
  EXPECT_EQ(entrance->refused(), 0);
}

TEST_F(EntranceOfRank1, RefusesAllOthers) {
  auto to_another = hello;
  to_another.to = 3;
  auto of_another_job = hello;
  of_another_job.size = 5;
  auto itself = hello;
  itself.rank = 1;
  long strangers = 0;
  for (const std::string& text :
       {std::string("GET / HTTP/1.0\r\n"), std::string("\n"), std::string(5000, 'x'),
        std::string(5000, '\0'), to_line(hello, "another secret"), to_line(to_another, secret),
        to_line(of_another_job, secret), to_line(itself, secret),
        to_line(hello, secret) + "and more"}) {
    const auto socket = caller_that_says(text);
    EXPECT_TRUE(attend_until_refused(++strangers).empty()) << text;
    EXPECT_TRUE(is_closed(socket)) << text;
  }
  ASSERT_EQ(warnings.size(), 1u) << "and no further ones";
  EXPECT_EQ(warnings[0],
            "an unknown process connected to rank 1 from 127.0.0.1 and was refused; further ones "
            "are only counted");
}

TEST_F(EntranceOfRank1, ATruncatedHelloIsNoHello) {
  const auto line = to_line(hello, secret);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, line.size() - 1}) {
    caller_that_says(line.substr(0, size));
  }
  EXPECT_TRUE(attend_until_refused(3).empty());
}

// The silent ones are more than may wait; a rank comes after them.
TEST_F(EntranceOfRank1, SilentStrangersKeepNoRankOut) {
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(caller());
  const auto rank = caller_that_says(to_line(hello, secret));
  const auto guests = attend_until([](std::size_t count) { return count == 1; });
  EXPECT_EQ(guests[0].hello.rank, 2);
  EXPECT_GE(entrance->refused(), 200 - 4 - static_cast<long>(Entrance::spare_visitors));
}

TEST_F(EntranceOfRank1, TenThousandConnectionsEndNothing) {
  std::vector<FileDescriptor> ranks;
  std::size_t guests = 0;
  for (int i = 0; i < 10'000; ++i) {
    static_cast<void>(i % 2 == 0 ? caller() : caller_that_says("x"));
    if (i % 1000 == 500) ranks.push_back(caller_that_says(to_line(hello, secret)));
    if (i % 50 == 49) guests += entrance->attend().size();
  }
  guests += attend_until_refused(10'000).size();
  EXPECT_EQ(guests, 10u);
  EXPECT_EQ(entrance->refused(), 10'000);
}

TEST_F(EntranceOfRank1, WithoutDescriptorsItRestsAndGoesOnWithThem) {
  std::atomic<bool> over = false;
  std::vector<Guest> guests;
  std::thread rank1(
      [&] { guests = attend_until([&](std::size_t count) { return over && count == 1; }); });
  EXPECT_LT(cpu_seconds_without_descriptors(entrance->port()), spinning_s);
  over = true;
  const auto rank = caller_that_says(to_line(hello, secret));
  rank1.join();
  EXPECT_EQ(guests[0].hello.rank, 2);
}

TEST(Entrance, SaysThatAPortIsTaken) {
  const auto first = Entrance::open(0, {});
  ASSERT_TRUE(first);
  const auto second = Entrance::open((*first)->port(), {.rank = 0});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(second.error().what, "rank 0 cannot listen on port " +
                                     std::to_string((*first)->port()) + ": Address already in use");
}

}  // namespace
}  // namespace dllaunch
