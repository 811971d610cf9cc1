// Sends one question to several servers and returns the first answer proven to belong to this
// start.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launcher/rank/rendezvous/messages.hpp"
#include "support/awake_clock.hpp"

namespace dllaunch {

struct ServerAddress {
  std::string host = {};
  int port = 0;
};

struct Inquiry {
  std::string start_name = {};
  Question question = {};  // address and proof are filled in for each server
  std::string secret = {};
};

struct Heard {
  std::string answer = {};    // proven; empty: none
  std::string unproven = {};  // "n1:61234", which gave no proof of this start; empty: none
};

/// Asks the servers in order. The next one is asked when one refuses, or after a quarter of a
/// second of silence, while earlier questions stay open. Returns at the first proven answer, when
/// all have refused, or at the deadline.
Heard ask_servers(const std::vector<ServerAddress>& servers, const Inquiry& inquiry,
                  AwakeClock::time_point deadline);

}  // namespace dllaunch
