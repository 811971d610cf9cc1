// Access rules for HTTP requests, applied to the request head. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

struct HttpHead {
  std::string method = {};
  std::string path = {};
  std::string host = {};           // of "Host:"; empty: absent
  std::string origin = {};         // empty: absent; only browsers send it
  std::string site = {};           // Sec-Fetch-Site
  std::string authorization = {};  // "Bearer ..."
  std::string content_length = {};
};

/// How requests come in.
struct Listener {
  int port = -1;           // on 127.0.0.1; -1: unix socket, whose peer the kernel identifies
  std::string token = {};  // required on TCP
};

struct Refusal {
  int status = 0;
  std::string why = {};
};

constexpr std::size_t most_body_bytes = 4096;

/// Refuses foreign host names (DNS rebinding), cross-origin requests, bodies that are too long, and
/// requests on TCP without the token. The page itself holds no data and needs no token.
std::optional<Refusal> refuse(const HttpHead& head, const Listener& listener);

/// The body must be empty or {}.
std::optional<Refusal> refuse_body(std::string_view body);

/// Compares in constant time.
bool same_secret(std::string_view a, std::string_view b);

/// Returns 64 random hexadecimal digits from the kernel.
std::string new_access_token();

}  // namespace dllaunch
