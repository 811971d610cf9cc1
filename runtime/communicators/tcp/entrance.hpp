// A rank's listening socket, and the connections to it whose hello is still to come.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/communicators/tcp/hello.hpp"
#include "support/awake_clock.hpp"
#include "support/result.hpp"
#include "support/say.hpp"
#include "support/shared_memory.hpp"

namespace dllaunch {

/// A rank that has proved itself and waits for an answer.
struct Guest {
  FileDescriptor socket;
  Hello hello;
};

/// Lets in ranks of this start only. Any other connection is refused and counted, and so is one
/// that stays silent, sends too much, or is one of too many at once. Nothing here waits.
class Entrance {
 public:
  static constexpr std::size_t longest_hello = 1024;         // bytes
  static constexpr std::chrono::seconds hello_patience{10};  // from connection to hello
  static constexpr int most_at_once = 64;                    // accepted in one attend()
  static constexpr std::size_t spare_visitors = 64;          // beside those of each rank

  struct Keeper {
    int rank = 0;
    int size = 1;
    std::string secret = {};
    int connections = 1;  // of each rank
    Say warn = {};        // takes a sentence about the first stranger
  };
  /// `port` 0: any. unavailable: the port is in use, or there is no network.
  static Result<std::unique_ptr<Entrance>> open(int port, Keeper keeper);

  int port() const { return port_; }
  /// Readable when attend() may have something to do.
  int descriptor() const { return events_.get(); }
  long refused() const { return refused_; }
  void expect_connections(int of_each_rank) { keeper_.connections = of_each_rank; }

  /// Accepts and reads what is there. Returns the ranks whose hello is complete.
  std::vector<Guest> attend();

 private:
  struct Visitor {
    FileDescriptor socket;
    AwakeClock::time_point until;
    std::string said = {};
  };
  using Visitors = std::map<std::uint64_t, Visitor>;  // in the order in which they came
  Entrance(FileDescriptor listener, Keeper keeper);

  void watch(int socket, std::uint64_t number) const;
  void listen(bool on) const;
  bool accept_one();
  void hear(Visitors::iterator at);
  void refuse(Visitors::iterator at);
  void refuse_oldest();

  FileDescriptor listener_;
  FileDescriptor events_;
  FileDescriptor rest_;  // a timer: ready when the listener is to be tried again
  Keeper keeper_;
  int port_ = 0;
  std::uint64_t came_ = 0;
  Visitors visitors_;
  std::vector<Guest> guests_;
  long refused_ = 0;
};

}  // namespace dllaunch
