// A port that nobody else on this machine gets, held for the program that this process becomes.
#pragma once

#include "support/result.hpp"

namespace dllaunch {

/// The socket is bound and does not listen, stays open across exec(), and has SO_REUSEADDR: a
/// program that sets it too, as PyTorch's TCPStore (libuv or not) and gRPC (JAX, TensorFlow) do,
/// binds the same port and listens on it, while port 0 never yields it to anybody else.
struct ReservedPort {
  int socket = -1;  // of whoever keeps the port; closing it gives the port back
  int port = 0;
};

/// On all addresses, IPv6's too where there is IPv6. unavailable: no port is left.
Result<ReservedPort> reserve_port();

}  // namespace dllaunch
