// A network as JSON, for recorded facts; nodes as host lists.
#pragma once

#include <string>

#include "support/json.hpp"
#include "topology/network/network.hpp"

namespace dllaunch {

Json to_json(const Network& network);
/// Returns what is wrong, and then leaves `network` as it is; empty: nothing.
std::string read_json(const Json& json, Network& network);

}  // namespace dllaunch
