#include "runtime/communicators/tcp/hello.hpp"

#include <fmt/core.h>

#include <limits>
#include <string>

#include "support/network/parts_of.hpp"
#include "support/network/proof.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view hello_purpose = "hello";
constexpr std::string_view welcome_purpose = "welcome";
constexpr std::string_view table_purpose = "table";
constexpr int most_port = 65535;
constexpr std::string_view none = "-";

std::optional<int> number_from(std::string_view word, int least, int most) {
  const auto number = parse_number<int>(word);
  if (!number || *number < least || *number > most) return std::nullopt;
  return *number;
}

std::string_view or_none(const std::string& address) {
  return address.empty() ? none : std::string_view(address);
}

std::string unless_none(std::string_view word) {
  return word == none ? "" : std::string(word);
}

}  // namespace

std::string to_line(const Hello& hello, std::string_view secret) {
  return seal(secret, hello_purpose, "",
              fmt::format("{} {} {} {} {} {} {} {} {}", tcp_protocol, hello.rank, hello.to,
                          hello.connection, hello.size, hello.port, hello.nonce, hello.host,
                          or_none(hello.preferred)));
}

std::optional<Hello> parse_hello(std::string_view line, std::string_view secret) {
  const auto body = unseal(secret, hello_purpose, "", line);
  if (!body) return std::nullopt;
  const auto words = parts_of(*body, ' ');
  if (words.size() != 9 || words[0] != tcp_protocol) return std::nullopt;
  const auto size = number_from(words[4], 1, std::numeric_limits<int>::max());
  if (!size) return std::nullopt;
  const auto rank = number_from(words[1], 0, *size - 1);
  const auto to = number_from(words[2], 0, *size - 1);
  const auto connection = number_from(words[3], 0, most_connections - 1);
  const auto port = number_from(words[5], 1, most_port);
  if (!rank || !to || !connection || !port) return std::nullopt;
  return Hello{.rank = *rank,
               .to = *to,
               .connection = *connection,
               .size = *size,
               .port = *port,
               .nonce = std::string(words[6]),
               .host = std::string(words[7]),
               .preferred = unless_none(words[8])};
}

std::string to_line(Welcome welcome, std::string_view secret, std::string_view nonce) {
  return seal(secret, welcome_purpose, nonce, welcome == Welcome::yes ? "yes" : "crossed");
}

std::optional<Welcome> parse_welcome(std::string_view line, std::string_view secret,
                                     std::string_view nonce) {
  const auto body = unseal(secret, welcome_purpose, nonce, line);
  if (body == "yes") return Welcome::yes;
  if (body == "crossed") return Welcome::crossed;
  return std::nullopt;
}

std::string to_line(const Table& table, std::string_view secret, std::string_view nonce) {
  std::string body = std::to_string(table.connections);
  for (const Whereabouts& rank : table.ranks) {
    body +=
        fmt::format(" {} {} {} {}", rank.address, rank.port, rank.host, or_none(rank.preferred));
  }
  return seal(secret, table_purpose, nonce, body);
}

std::optional<Table> parse_table(std::string_view line, int size, std::string_view secret,
                                 std::string_view nonce) {
  const auto body = unseal(secret, table_purpose, nonce, line);
  if (!body) return std::nullopt;
  const auto words = parts_of(*body, ' ');
  if (words.size() != 1 + 4 * static_cast<std::size_t>(size)) return std::nullopt;
  const auto connections = number_from(words[0], 1, most_connections);
  if (!connections) return std::nullopt;
  Table table{.connections = *connections};
  for (std::size_t at = 1; at < words.size(); at += 4) {
    const auto port = number_from(words[at + 1], 1, most_port);
    if (!port) return std::nullopt;
    table.ranks.push_back({.address = std::string(words[at]),
                           .port = *port,
                           .host = std::string(words[at + 2]),
                           .preferred = unless_none(words[at + 3])});
  }
  return table;
}

}  // namespace dllaunch
