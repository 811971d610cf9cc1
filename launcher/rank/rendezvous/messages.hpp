// The messages ranks exchange before their program starts, as text. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

/// Where the ranks of a start meet.
struct RendezvousPoint {
  std::string address = {};  // of rank 0's node: name or number
  int port = 0;              // MASTER_PORT, held by rank 0 for its program
  int server_port = 0;       // where rank 0 answers ranks of other nodes; 0: it does not
  std::string secret = {};   // shared by the ranks of the start; empty: not included
};

/// One line of JSON.
std::string to_line(const RendezvousPoint& point, std::string_view start_name);
/// bad_request: malformed, or of another start.
Result<RendezvousPoint> parse_rendezvous_point(std::string_view line, std::string_view start_name);

/// "I am rank N of this start; where do we meet?" With `worker`: "my address is HOST:PORT".
struct Question {
  int rank = 0;
  std::string worker = {};  // empty: question only
  std::string to = {};      // "HOST:PORT" of the peer it asks; empty: the server of its own node
  std::string nonce = {};   // ties the answer's proof to this question
};

/// The purpose of a line is part of its proof (proof.hpp).
constexpr std::string_view question_purpose = "question";
std::string_view answer_purpose(const Question& question);

std::string to_line(const Question& question, std::string_view start_name);
/// Returns nullopt if the line is not a question of this start: any process can connect to a port.
std::optional<Question> parse_question(std::string_view line, std::string_view start_name);

/// All workers' addresses, by rank.
std::string workers_line(const std::vector<std::string>& workers);
/// bad_request: not `count` addresses.
Result<std::vector<std::string>> parse_workers(std::string_view line, int count);

/// "n1:29500", "[fe80::1]:29500".
std::string with_port(const std::string& address, int port);

}  // namespace dllaunch
