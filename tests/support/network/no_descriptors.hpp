// A process that has run out of descriptors while a connection waits to be accepted.
#pragma once

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <thread>

#include "support/network/sockets.hpp"

namespace dllaunch {

inline double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// Connects to a listener of this process, which cannot accept; returns the CPU seconds that the
/// process takes in half a second of this.
inline double cpu_seconds_without_descriptors(int port) {
  const auto listener = addresses_of("127.0.0.1", port).at(0);
  const int caller = socket(AF_INET, SOCK_STREAM, 0);
  const int lowest_free = dup(caller);
  close(lowest_free);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{static_cast<rlim_t>(lowest_free), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const int failed =
      connect(caller, reinterpret_cast<const sockaddr*>(&listener.address), listener.size);
  const double begin = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const double used = cpu_seconds() - begin;
  setrlimit(RLIMIT_NOFILE, &before);
  close(caller);
  return failed == 0 ? used : 1000;
}

/// What a loop takes that spins is at least this, beside three others on two cores.
constexpr double spinning_s = 0.1;

}  // namespace dllaunch
