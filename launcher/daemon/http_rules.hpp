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

/// A name that leads to us under somebody else's control (DNS rebinding) is refused, a page of
/// somebody else that makes a browser post here, a body that is too long, on TCP whoever lacks the
/// token; there only the page itself, which holds nothing, needs none.
std::optional<Refusal> refuse(const HttpHead& head, const Listener& listener);

/// No request here needs a body: it is absent, or JSON's empty object.
std::optional<Refusal> refuse_body(std::string_view body);

/// In a time that does not tell how much of it was right.
bool same_secret(std::string_view a, std::string_view b);

/// 64 random hexadecimal digits from the kernel.
std::string new_secret();

}  // namespace dllaunch
