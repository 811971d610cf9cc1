#include "runtime/communicators/tcp/conversation.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <numeric>
#include <span>
#include <string>

namespace dllaunch {
namespace {

using Bytes = std::vector<std::byte>;

Bytes text_of(std::size_t bytes, unsigned seed) {
  Bytes text(bytes);
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<std::byte>(i * 31 + i / 999 + seed);
  return text;
}

std::array<FileDescriptor, 2> connected() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

/// Two ends of a conversation; each lists the exchanges whose messages have ended.
class Conversations : public testing::Test {
 protected:
  Conversations() {
    auto ends = connected();
    a.connect(std::move(ends[0]));
    b.connect(std::move(ends[1]));
  }
  /// Lets both ends do what they can.
  void pump(int times = 1000) {
    for (int i = 0; i < times; ++i) {
      for (Conversation* one : {&a, &b}) {
        EXPECT_EQ(one->write(), "");
        const bool reads = one->wants_to_read();
        EXPECT_EQ(reads ? one->read() : "", "");
      }
    }
  }
  static constexpr std::size_t small = Conversation::most_unasked_bytes;

  Conversation a;
  Conversation b;
  std::vector<std::int64_t> of_a;
  std::vector<std::int64_t> of_b;
};

TEST_F(Conversations, ASmallMessageComesBeforeOrAfterItIsAskedFor) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, small - 1, small}) {
    for (const bool early : {false, true}) {
      of_a.clear();
      of_b.clear();
      const Bytes out = text_of(bytes, 3);
      Bytes in(bytes);
      const MessageName name{1, 7, bytes};
      if (!early) b.receive(name, in.data(), {&of_b, 2});
      a.send(name, out.data(), {&of_a, 1});
      pump();
      EXPECT_EQ(of_a, std::vector<std::int64_t>{1}) << "it has left";
      if (early) b.receive(name, in.data(), {&of_b, 2});
      EXPECT_EQ(of_b, std::vector<std::int64_t>{2});
      EXPECT_TRUE(in == out);
      EXPECT_EQ(a.outstanding() + b.outstanding(), 0);
    }
  }
}

TEST_F(Conversations, ALargeMessageStaysWhereItIsUntilItIsAskedFor) {
  for (const bool asked_first : {true, false}) {
    const Bytes out = text_of(small + 1, 5);
    Bytes in(out.size());
    const MessageName name{1, 7, out.size()};
    if (asked_first) b.receive(name, in.data(), {&of_b, 2});
    pump();
    a.send(name, out.data(), {&of_a, 1});
    if (!asked_first) {
      EXPECT_FALSE(a.wants_to_write());
      pump();
      EXPECT_TRUE(of_a.empty());
      b.receive(name, in.data(), {&of_b, 2});
    }
    pump();
    EXPECT_EQ(of_a, std::vector<std::int64_t>{1});
    EXPECT_EQ(of_b, std::vector<std::int64_t>{2});
    EXPECT_TRUE(in == out);
    of_a.clear();
    of_b.clear();
  }
}

// No receive is posted for the first two, and the third must not wait for them.
TEST_F(Conversations, AMessageOfAGroupThatIsNotOpenHoldsUpNoOther) {
  const Bytes of_no_one = text_of(small, 1);
  const Bytes large_of_no_one = text_of(10 * small, 2);
  const Bytes out = text_of(5 * small, 3);
  Bytes in(out.size());
  a.send({9, 0, of_no_one.size()}, of_no_one.data(), {&of_a, 1});
  a.send({9, 1, large_of_no_one.size()}, large_of_no_one.data(), {&of_a, 2});
  a.send({2, 0, out.size()}, out.data(), {&of_a, 3});
  b.receive({2, 0, in.size()}, in.data(), {&of_b, 4});
  pump();
  EXPECT_EQ(of_a, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(of_b, std::vector<std::int64_t>{4});
  EXPECT_TRUE(in == out);
}

TEST_F(Conversations, MessagesOfOneNameStayInOrder) {
  for (const std::size_t bytes : {std::size_t{8}, 2 * small}) {
    std::vector<Bytes> out;
    for (unsigned i = 0; i < 6; ++i) out.push_back(text_of(bytes, i));
    std::vector<Bytes> in(6, Bytes(bytes));
    for (std::size_t i = 0; i < 6; ++i) {
      a.send({1, 1, bytes}, out[i].data(), {&of_a, static_cast<std::int64_t>(i)});
      if (i % 2 == 1) pump();
      if (i >= 3) b.receive({1, 1, bytes}, in[i - 3].data(), {&of_b, 0});
    }
    for (std::size_t i = 3; i < 6; ++i) b.receive({1, 1, bytes}, in[i].data(), {&of_b, 0});
    pump();
    EXPECT_TRUE(in == out);
  }
}

TEST_F(Conversations, BothSendMuchAtOnce) {
  const std::size_t bytes = std::size_t{64} << 20;
  const Bytes from_a = text_of(bytes, 1);
  const Bytes from_b = text_of(bytes, 2);
  Bytes to_a(bytes);
  Bytes to_b(bytes);
  a.send({1, 0, bytes}, from_a.data(), {&of_a, 1});
  b.send({1, 0, bytes}, from_b.data(), {&of_b, 1});
  a.receive({1, 0, bytes}, to_a.data(), {&of_a, 2});
  b.receive({1, 0, bytes}, to_b.data(), {&of_b, 2});
  for (int rounds = 0; of_a.size() + of_b.size() < 4 && rounds < 1'000'000; ++rounds) pump(1);
  EXPECT_TRUE(to_a == from_b);
  EXPECT_TRUE(to_b == from_a);
}

TEST_F(Conversations, WhatComesTooEarlyWaitsInTheSocket) {
  const Bytes out = text_of(small, 1);
  const std::size_t fits = Conversation::most_early_bytes / small;
  const auto many = static_cast<std::uint64_t>(fits + 100);
  for (std::uint64_t i = 0; i < many; ++i) a.send({1, i, small}, out.data(), {&of_a, 0});
  for (std::uint64_t i = 0; i < 4 * many; ++i) pump(1);
  EXPECT_FALSE(b.wants_to_read());
  EXPECT_LT(of_a.size(), many);
  Bytes in(small);
  for (std::uint64_t i = 0; i < many; ++i) {
    b.receive({1, i, small}, in.data(), {&of_b, 0});
    pump(1);
  }
  for (int rounds = 0; of_b.size() < many && rounds < 1000; ++rounds) pump(100);
  EXPECT_EQ(of_b.size(), many);
  EXPECT_EQ(of_a.size(), many);
}

/// What the other side says when these bytes come.
std::string after(std::span<const char> bytes, bool closed) {
  auto ends = connected();
  Conversation conversation;
  conversation.connect(std::move(ends[0]));
  EXPECT_EQ(::send(ends[1].get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  if (closed) ends[1] = FileDescriptor();
  const std::string said = conversation.read();
  return said.empty() ? conversation.read() : said;
}

TEST(Conversation, SaysWhyItCannotGoOn) {
  std::array<char, 24> head{};
  EXPECT_EQ(after(head, false), "it sent a frame of unknown kind 0");
  EXPECT_EQ(after({head.data(), 23}, false), "") << "the rest may come";
  EXPECT_EQ(after({head.data(), 23}, true), "closed by it");
  head[0] = 1;
  EXPECT_EQ(after(head, false), "") << "a message without bytes";
  head[19] = 1;
  EXPECT_EQ(after(head, false), "it sent 16777216 bytes that no receive asked for");
}

}  // namespace
}  // namespace dllaunch
