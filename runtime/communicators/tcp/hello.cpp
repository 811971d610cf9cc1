#include "runtime/communicators/tcp/hello.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "support/network/proof.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view hello_purpose = "hello";
constexpr std::string_view welcome_purpose = "welcome";
constexpr std::string_view table_purpose = "table";
constexpr std::string_view protocol = "tcp-1";  // of the hello and of all that follows it
constexpr int most_port = 65535;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::optional<int> number_from(std::string_view word, int least, int most) {
  const auto number = parse_number<int>(word);
  if (!number || *number < least || *number > most) return std::nullopt;
  return *number;
}

}  // namespace

std::string to_line(const Hello& hello, std::string_view secret) {
  return seal(secret, hello_purpose, "",
              fmt::format("{} {} {} {} {} {} {}", protocol, hello.rank, hello.to, hello.size,
                          hello.port, hello.nonce, hello.host));
}

std::optional<Hello> parse_hello(std::string_view line, std::string_view secret) {
  const auto body = unseal(secret, hello_purpose, "", line);
  if (!body) return std::nullopt;
  const auto words = words_of(*body);
  if (words.size() != 7 || words[0] != protocol) return std::nullopt;
  const auto size = number_from(words[3], 1, std::numeric_limits<int>::max());
  if (!size) return std::nullopt;
  const auto rank = number_from(words[1], 0, *size - 1);
  const auto to = number_from(words[2], 0, *size - 1);
  const auto port = number_from(words[4], 1, most_port);
  if (!rank || !to || !port) return std::nullopt;
  return Hello{.rank = *rank,
               .to = *to,
               .size = *size,
               .port = *port,
               .nonce = std::string(words[5]),
               .host = std::string(words[6])};
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

std::string to_line(std::span<const Whereabouts> all, std::string_view secret,
                    std::string_view nonce) {
  std::string body;
  for (const Whereabouts& rank : all) {
    body += fmt::format("{} {} {} ", rank.address, rank.port, rank.host);
  }
  return seal(secret, table_purpose, nonce, body);
}

std::optional<std::vector<Whereabouts>> parse_table(std::string_view line, int size,
                                                    std::string_view secret,
                                                    std::string_view nonce) {
  const auto body = unseal(secret, table_purpose, nonce, line);
  if (!body) return std::nullopt;
  const auto words = words_of(*body);
  if (words.size() != 3 * static_cast<std::size_t>(size)) return std::nullopt;
  std::vector<Whereabouts> all;
  for (std::size_t at = 0; at < words.size(); at += 3) {
    const auto port = number_from(words[at + 1], 1, most_port);
    if (!port) return std::nullopt;
    all.push_back({std::string(words[at]), *port, std::string(words[at + 2])});
  }
  return all;
}

}  // namespace dllaunch
