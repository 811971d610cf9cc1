#include "launcher/daemon/http_rules.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

const Listener tcp{.port = 8080, .token = "secret"};
const Listener local{};

int status_of(const HttpHead& head, const Listener& listener) {
  const auto refusal = refuse(head, listener);
  return refusal ? refusal->status : 200;
}

TEST(HttpRules, TcpWantsTheToken) {
  HttpHead head{.method = "GET", .path = "/v1/runs", .host = "127.0.0.1:8080"};
  EXPECT_EQ(status_of(head, tcp), 401);
  for (const char* wrong : {"Bearer ", "Bearer secre", "Bearer secret2", "Basic secret", "secret",
                            "Bearer Secret", "bearer secret"}) {
    head.authorization = wrong;
    EXPECT_EQ(status_of(head, tcp), 401) << wrong;
  }
  head.authorization = "Bearer secret";
  EXPECT_EQ(status_of(head, tcp), 200);
  EXPECT_EQ(status_of(head, {.port = 8080, .token = ""}), 401) << "no token is no key";
  head.authorization = "Bearer ";
  EXPECT_EQ(status_of(head, {.port = 8080, .token = ""}), 401);
}

TEST(HttpRules, ThePageItselfHoldsNothing) {
  EXPECT_EQ(status_of({.method = "GET", .path = "/", .host = "localhost:8080"}, tcp), 200);
  EXPECT_EQ(status_of({.method = "POST", .path = "/", .host = "localhost:8080"}, tcp), 401);
  EXPECT_EQ(status_of({.method = "GET", .path = "/metrics", .host = "localhost:8080"}, tcp), 401);
}

TEST(HttpRules, RefusesAForeignHostName) {
  for (const char* host : {"", "evil.example", "evil.example:8080", "127.0.0.1.evil:8080",
                           "localhost:8081", "127.0.0.1", "localhost", "127.0.0.1:08080",
                           "127.0.0.1:", "[::1]:8080", "localhost:8080:8080"})
    EXPECT_EQ(status_of({.method = "GET", .path = "/", .host = host}, tcp), 421) << host;
  // Through a tunnel to the unix socket any port may stand there.
  for (const char* host : {"localhost", "localhost:1234", "127.0.0.1:99"})
    EXPECT_EQ(status_of({.method = "GET", .path = "/v1/runs", .host = host}, local), 200) << host;
  for (const char* host : {"", "evil.example:1234", "localhost:x", "localhost.evil"})
    EXPECT_EQ(status_of({.method = "GET", .path = "/v1/runs", .host = host}, local), 421) << host;
}

TEST(HttpRules, RefusesACrossOriginPost) {
  HttpHead head{.method = "POST", .path = "/v1/runs/1/cancel", .host = "localhost:1234"};
  EXPECT_EQ(status_of(head, local), 200);
  head.origin = "http://localhost:1234";
  head.site = "same-origin";
  EXPECT_EQ(status_of(head, local), 200);
  for (const char* origin :
       {"http://evil.example", "null", "http://localhost:12345", "https://localhost:1234"}) {
    head.origin = origin;
    EXPECT_EQ(status_of(head, local), 403) << origin;
  }
  head.origin = "";
  head.site = "cross-site";
  EXPECT_EQ(status_of(head, local), 403);
}

TEST(HttpRules, BodiesAreShortOrAbsent) {
  HttpHead head{.method = "POST", .path = "/v1/runs/1/cancel", .host = "localhost"};
  for (const char* good : {"", "0", "4096"}) {
    head.content_length = good;
    EXPECT_EQ(status_of(head, local), 200) << good;
  }
  for (const char* bad : {"4097", "10485760", "99999999999999999999999", "-1", "1x", " 1"}) {
    head.content_length = bad;
    EXPECT_EQ(status_of(head, local), 413) << bad;
  }
}

TEST(HttpRules, ABodySaysNothing) {
  for (const char* good : {"", "{}", " {\n}\r\n", "\n"}) EXPECT_FALSE(refuse_body(good)) << good;
  for (const char* bad : {"{", "}", "{]", "[]", "null", "{\"a\": 1}", "{}{}", "hello", "\xff"})
    EXPECT_EQ(refuse_body(bad).value_or(Refusal{}).status, 400) << bad;
}

TEST(HttpRules, Secrets) {
  EXPECT_TRUE(same_secret("a", "a"));
  EXPECT_FALSE(same_secret("", ""));
  EXPECT_FALSE(same_secret("a", "ab"));
  EXPECT_FALSE(same_secret("ab", "aa"));
  EXPECT_EQ(new_access_token().size(), 64u);
  EXPECT_NE(new_access_token(), new_access_token());
}

}  // namespace
}  // namespace dllaunch
