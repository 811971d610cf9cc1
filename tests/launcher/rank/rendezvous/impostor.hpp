// A server of a stranger, who knows everything but the secret.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/network/sockets.hpp"

namespace dllaunch {

/// Answers every line by `answer`, which may be any bytes; without one it says nothing and hangs up
/// at its end.
class Impostor {
 public:
  using Answer = std::function<std::string(const std::string&)>;

  explicit Impostor(int port, Answer answer = {})
      : listener_(listen_on(port)), answer_(std::move(answer)), thread_([this] { serve(); }) {}
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;
  ~Impostor() {
    over_ = true;
    thread_.join();
    for (const int guest : guests_) close(guest);
    close(listener_);
  }

  bool listens() const { return listener_ >= 0; }
  int port() const { return port_of(listener_); }
  std::vector<std::string> heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  void serve() {
    while (!over_) {
      pollfd one{listener_, POLLIN, 0};
      constexpr int moment_ms = 5;
      if (poll(&one, 1, moment_ms) <= 0) continue;
      const int guest = accept(listener_, nullptr, nullptr);
      if (guest < 0) continue;
      if (!answer_) {
        guests_.push_back(guest);
        continue;
      }
      std::string line(4096, '\0');
      const auto got = recv(guest, line.data(), line.size(), 0);
      line.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
      {
        const std::lock_guard lock(mutex_);
        heard_.push_back(line);
      }
      const auto answer = answer_(line);
      for (std::size_t at = 0; at < answer.size();) {
        const auto sent = send(guest, answer.data() + at, answer.size() - at, MSG_NOSIGNAL);
        if (sent <= 0) break;
        at += static_cast<std::size_t>(sent);
      }
      // What comes after the first line is taken, so that nothing of the answer is lost.
      shutdown(guest, SHUT_WR);
      const timeval limit{2, 0};
      setsockopt(guest, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      std::string rest(65536, '\0');
      while (recv(guest, rest.data(), rest.size(), 0) > 0) continue;
      close(guest);
    }
  }

  const int listener_;
  const Answer answer_;
  std::atomic<bool> over_ = false;
  std::mutex mutex_;
  std::vector<std::string> heard_;
  std::vector<int> guests_;
  std::thread thread_;
};

}  // namespace dllaunch
