// One question over the network to whoever of several proves that he is of this start.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launcher/rank/rendezvous/messages.hpp"

namespace dllaunch {

struct ServerAddress {
  std::string host = {};
  int port = 0;
};

struct Inquiry {
  std::string start_name = {};
  Question question = {};  // what it says to each place, and proves, is filled in
  std::string secret = {};
};

struct Heard {
  std::string answer = {};    // proven; empty: there is none
  std::string unproven = {};  // "n1:61234", who did not prove to be of this start; empty: nobody
};

/// Asks them in their order. The next is asked as soon as one refuses, and after a quarter of a
/// second of silence beside those that were asked already: whoever says nothing keeps nobody up.
/// Returns with the first proven answer, when all have refused, or at the deadline.
Heard ask_servers(const std::vector<ServerAddress>& servers, const Inquiry& inquiry,
                  std::chrono::steady_clock::time_point deadline);

}  // namespace dllaunch
