// A port held for the program that this process becomes.
#pragma once

#include "support/result.hpp"

namespace dllaunch {

/// The socket is bound but does not listen, stays open across exec(), and has SO_REUSEADDR. A
/// program that sets it too, like PyTorch's TCPStore (with or without libuv) and gRPC (JAX,
/// TensorFlow), can bind the same port and listen. Port 0 never yields it to another process.
struct ReservedPort {
  int socket = -1;  // holds the port; closing it releases the port
  int port = 0;
};

/// Binds all addresses, including IPv6 if available. unavailable: no port is left.
Result<ReservedPort> reserve_port();

}  // namespace dllaunch
