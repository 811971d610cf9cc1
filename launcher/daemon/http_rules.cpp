#include "launcher/daemon/http_rules.hpp"

#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iterator>

#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 8 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// On TCP the port must match; on the unix socket any port is allowed, for tunnels.
bool is_our_host(std::string_view host, const Listener& listener) {
  const auto colon = host.rfind(':');
  const auto name = host.substr(0, colon);
  if (name != "localhost" && name != "127.0.0.1") return false;
  if (colon == std::string_view::npos) return listener.port < 0 || listener.port == 80;
  const auto port = host.substr(colon + 1);
  return is_number(port) && (listener.port < 0 || port == std::to_string(listener.port));
}

bool comes_from_elsewhere(const HttpHead& head) {
  if (!head.site.empty() && head.site != "same-origin" && head.site != "none") return true;
  return !head.origin.empty() && head.origin != "http://" + head.host;
}

bool is_too_long(const std::string& length) {
  if (length.empty()) return false;
  const auto bytes = parse_number<std::uint64_t>(length);
  return !bytes || *bytes > most_body_bytes;
}

bool holds_nothing(const HttpHead& head) {
  return (head.method == "GET" || head.method == "HEAD") && head.path == "/";
}

}  // namespace

std::optional<Refusal> refuse_body(std::string_view body) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto is_blank = [&](char c) { return blanks.find(c) != std::string_view::npos; };
  std::string bare;
  std::copy_if(body.begin(), body.end(), std::back_inserter(bare),
               [&](char c) { return !is_blank(c); });
  if (bare.empty() || bare == "{}") return std::nullopt;
  return Refusal{400, "the body must be empty or {}"};
}

bool same_secret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    difference |=
        static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return difference == 0 && !a.empty();
}

std::string new_access_token() {
  std::array<unsigned char, 32> bytes{};
  // getrandom() never returns fewer than requested up to 256 bytes. Without random bytes there is
  // no secret.
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  std::string hex;
  for (const auto byte : bytes) hex += fmt::format("{:02x}", byte);
  return hex;
}

std::optional<Refusal> refuse(const HttpHead& head, const Listener& listener) {
  if (!is_our_host(head.host, listener))
    return Refusal{421, "Host must be localhost or 127.0.0.1 with the daemon's port"};
  if (head.method != "GET" && head.method != "HEAD" && comes_from_elsewhere(head))
    return Refusal{403, "cross-origin request refused"};
  if (is_too_long(head.content_length))
    return Refusal{413, "the body is too large: it must be empty or {}"};
  if (listener.port < 0 || holds_nothing(head)) return std::nullopt;
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view authorization = head.authorization;
  if (!authorization.starts_with(scheme) ||
      !same_secret(authorization.substr(scheme.size()), listener.token))
    return Refusal{401, "missing or wrong token; `dllaunch daemon status` says where it is"};
  return std::nullopt;
}

}  // namespace dllaunch
