// Parameter server, for comparison: centralized, every rank exchanges with rank 0 only.
// Keeps no parameters and no optimizer: it only reduces, as every communicator does.
#pragma once

#include <memory>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/peers/peers.hpp"

namespace dllaunch {

/// With p ranks and n bytes: two steps, and (p - 1) n bytes into and out of the server, whose link
/// is the bottleneck (Li et al. 2014, OSDI).
std::unique_ptr<Communicator> open_parameter_server(std::unique_ptr<Peers> world);

}  // namespace dllaunch
