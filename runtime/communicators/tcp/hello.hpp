// What ranks say when they connect: lines that prove knowledge of the start's secret. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

inline constexpr std::string_view tcp_protocol = "tcp-2";  // of the hello and of all after it
inline constexpr int most_connections = 8;                 // between two ranks

/// "I am rank 3 of 8, I want rank 1, for the second of our connections, and I listen on this port."
struct Hello {
  int rank = 0;
  int to = 0;
  int connection = 0;  // which of those of the pair
  int size = 1;
  int port = 0;
  std::string nonce = {};      // ties the answer's proof to this hello
  std::string host = {};       // for messages; one word
  std::string preferred = {};  // see Whereabouts

  bool operator==(const Hello&) const = default;
};

/// Lines end in a newline; the functions that read them take a line without it, and return nullopt
/// if it is malformed or does not prove the secret.
std::string to_line(const Hello& hello, std::string_view secret);
std::optional<Hello> parse_hello(std::string_view line, std::string_view secret);

/// The answer to a hello once the ranks have met. Two ranks may call each other at once: the call
/// of the lower rank counts, the other is told that it has crossed.
enum class Welcome { yes, crossed };

std::string to_line(Welcome welcome, std::string_view secret, std::string_view nonce);
std::optional<Welcome> parse_welcome(std::string_view line, std::string_view secret,
                                     std::string_view nonce);

/// Where a rank listens.
struct Whereabouts {
  std::string address = {};  // numeric
  int port = 0;
  std::string host = {};
  std::string preferred = {};  // numeric, where messages should come; empty: to `address`

  bool operator==(const Whereabouts&) const = default;
};

/// Rank 0's answer to a hello while ranks meet.
struct Table {
  int connections = 1;                  // between two ranks
  std::vector<Whereabouts> ranks = {};  // by rank

  bool operator==(const Table&) const = default;
};

std::string to_line(const Table& table, std::string_view secret, std::string_view nonce);
std::optional<Table> parse_table(std::string_view line, int size, std::string_view secret,
                                 std::string_view nonce);

}  // namespace dllaunch
