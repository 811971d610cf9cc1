#include "runtime/communicators/tcp/hello.hpp"

#include <gtest/gtest.h>

#include "support/network/proof.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view secret = "the secret of a start";

std::string without_newline(std::string line) {
  EXPECT_TRUE(line.ends_with('\n'));
  line.pop_back();
  return line;
}

const Hello hello{.rank = 3,
                  .to = 1,
                  .connection = 2,
                  .size = 8,
                  .port = 40'000,
                  .nonce = "aa",
                  .host = "n1",
                  .preferred = "10.1.0.1"};

TEST(Hello, ComesBackAsItWas) {
  EXPECT_EQ(parse_hello(without_newline(to_line(hello, secret)), secret), hello);
}

TEST(Hello, ProvesTheSecret) {
  const auto line = without_newline(to_line(hello, secret));
  EXPECT_FALSE(parse_hello(line, "another secret"));
  EXPECT_FALSE(parse_hello(line, "")) << "no secret proves nothing";
  auto changed = line;
  changed.back() = '2';
  EXPECT_FALSE(parse_hello(changed, secret));
}

TEST(Hello, RefusesWhatNoRankSays) {
  const auto read = [](std::string_view body) {
    return parse_hello(without_newline(seal(secret, "hello", "", body)), secret).has_value();
  };
  EXPECT_TRUE(read("tcp-2 3 1 0 8 40000 aa n1 -"));
  for (const char* body : {"", "tcp-1 3 1 0 8 40000 aa n1 -", "tcp-2 8 1 0 8 40000 aa n1 -",
                           "tcp-2 -1 1 0 8 40000 aa n1 -", "tcp-2 3 8 0 8 40000 aa n1 -",
                           "tcp-2 3 1 0 0 40000 aa n1 -", "tcp-2 3 1 0 8 0 aa n1 -",
                           "tcp-2 3 1 0 8 65536 aa n1 -", "tcp-2 3 1 0 8 40000 aa n1",
                           "tcp-2 3 1 0 8 40000 aa n1 - more", "tcp-2 three 1 0 8 40000 aa n1 -",
                           "tcp-2 3 1 8 8 40000 aa n1 -", "tcp-2 3 1 -1 8 40000 aa n1 -"}) {
    EXPECT_FALSE(read(body)) << body;
  }
}

TEST(Hello, AnAnswerBelongsToOneHello) {
  const auto line = without_newline(to_line(Welcome::crossed, secret, "nonce"));
  EXPECT_EQ(parse_welcome(line, secret, "nonce"), Welcome::crossed);
  EXPECT_FALSE(parse_welcome(line, secret, "another"));
  EXPECT_FALSE(parse_hello(line, secret));
}

TEST(Hello, TheTableComesBackAsItWas) {
  const Table all{.connections = 3,
                  .ranks = {{"10.0.0.1", 1, "n1"}, {"fe80::1", 65535, "n2.site", "10.1.0.1"}}};
  const auto line = without_newline(to_line(all, secret, "nonce"));
  EXPECT_EQ(parse_table(line, 2, secret, "nonce"), all);
  EXPECT_FALSE(parse_table(line, 3, secret, "nonce"));
  EXPECT_FALSE(parse_table(line, 2, secret, "another"));
  for (const char* body : {"1 a b c -", "0 a 1 c -", "9 a 1 c -", "1 a 1 c", "a 1 c -"}) {
    const auto sealed = without_newline(seal(secret, "table", "nonce", body));
    EXPECT_FALSE(parse_table(sealed, 1, secret, "nonce")) << body;
  }
}

}  // namespace
}  // namespace dllaunch
