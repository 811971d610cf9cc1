// A connection whose every wait ends: lines, then data.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace dllaunch {

/// Owns a blocking socket.
class TimedLine {
 public:
  /// `limit`: of each wait for the peer.
  TimedLine(int socket, std::chrono::milliseconds limit) : socket_(socket) { wait_at_most(limit); }
  TimedLine(const TimedLine&) = delete;
  TimedLine& operator=(const TimedLine&) = delete;
  ~TimedLine();

  int socket() const { return socket_; }
  void wait_at_most(std::chrono::milliseconds limit);
  bool say(std::string_view text) const;
  /// Returns a line without newline, of at most 512 bytes; empty: none arrived. A peer that sends
  /// single bytes gets no more time. Takes nothing of what follows the line.
  std::string hear() const;
  /// Takes and drops that many bytes.
  bool take(std::size_t bytes) const;

 private:
  int socket_;
  std::chrono::milliseconds limit_{0};
};

}  // namespace dllaunch
