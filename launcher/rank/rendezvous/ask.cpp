#include "launcher/rank/rendezvous/ask.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "support/awake_clock.hpp"
#include "support/network/proof.hpp"
#include "support/network/sockets.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;

constexpr std::chrono::milliseconds silence(250);
constexpr std::size_t longest_answer = 4096;
constexpr std::size_t longest_table = std::size_t{16} << 20;

struct Call {
  std::string to = {};
  int socket = -1;
  bool connected = false;
  std::string nonce = {};
  std::string unsaid = {};
  std::string heard = {};
};

struct Candidate {
  std::string to = {};
  SocketAddress address = {};
};

std::vector<Candidate> candidates_of(const std::vector<ServerAddress>& servers) {
  std::vector<Candidate> candidates;
  // Resolve a name once, not once per port.
  std::string host;
  std::vector<SocketAddress> addresses;
  for (const auto& server : servers) {
    if (server.host != std::exchange(host, server.host)) addresses = addresses_of(server.host, 0);
    for (const auto& address : addresses)
      candidates.push_back({with_port(server.host, server.port), at_port(address, server.port)});
  }
  return candidates;
}

class Asker {
 public:
  Asker(const std::vector<ServerAddress>& servers, const Inquiry& inquiry)
      : inquiry_(inquiry), candidates_(candidates_of(servers)) {}
  ~Asker() {
    for (const auto& call : calls_) close(call.socket);
  }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  Heard ask(Clock::time_point deadline) {
    while (heard_.answer.empty() && Clock::now() < deadline) {
      call_more();
      if (calls_.empty()) break;
      const bool all_called = next_ == candidates_.size();
      wait(milliseconds_until(all_called ? deadline : std::min(deadline, next_call_)));
    }
    for (const auto& call : calls_)
      if (call.connected && heard_.answer.empty()) heard_.unproven = call.to;
    return std::move(heard_);
  }

 private:
  void call_more() {
    while (next_ < candidates_.size() && (calls_.empty() || Clock::now() >= next_call_)) {
      const auto& candidate = candidates_[next_++];
      const int made = begin_to_connect(candidate.address);
      if (made < 0) continue;
      Call call{.to = candidate.to, .socket = made, .nonce = new_nonce()};
      Question question = inquiry_.question;
      question.to = call.to;
      question.nonce = call.nonce;
      auto body = to_line(question, inquiry_.start_name);
      body.pop_back();
      call.unsaid = seal(inquiry_.secret, question_purpose, "", body);
      calls_.push_back(std::move(call));
      next_call_ = Clock::now() + silence;
    }
  }

  void wait(int milliseconds) {
    std::vector<pollfd> all;
    for (const auto& call : calls_)
      all.push_back({call.socket, static_cast<short>(call.unsaid.empty() ? POLLIN : POLLOUT), 0});
    if (poll_awake(all.data(), all.size(), milliseconds) <= 0) return;
    for (std::size_t i = 0; i < calls_.size(); ++i)
      if (all[i].revents != 0 && !attend(calls_[i])) hang_up(calls_[i]);
    std::erase_if(calls_, [](const Call& call) { return call.socket < 0; });
  }

  void hang_up(Call& call) {
    if (call.connected) heard_.unproven = call.to;
    close(call.socket);
    call.socket = -1;
    next_call_ = Clock::now();
  }

  /// Returns false if the call failed.
  bool attend(Call& call) {
    if (!call.connected) {
      int error = 0;
      socklen_t size = sizeof error;
      if (getsockopt(call.socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
        return false;
      call.connected = true;
    }
    return call.unsaid.empty() ? listen_to(call) : speak_to(call);
  }

  static bool speak_to(Call& call) {
    const ssize_t sent = send(call.socket, call.unsaid.data(), call.unsaid.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    call.unsaid.erase(0, static_cast<std::size_t>(sent));
    return true;
  }

  bool listen_to(Call& call) {
    const bool asks = inquiry_.question.worker.empty();
    std::string piece(asks ? longest_answer : 65536, '\0');
    const ssize_t got = recv(call.socket, piece.data(), piece.size(), 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    call.heard.append(piece, 0, static_cast<std::size_t>(got));
    if (!call.heard.ends_with('\n'))
      return call.heard.size() < (asks ? longest_answer : longest_table);
    call.heard.pop_back();
    auto answer =
        unseal(inquiry_.secret, answer_purpose(inquiry_.question), call.nonce, call.heard);
    if (!answer) return false;
    heard_.answer = *std::move(answer);
    return true;
  }

  const Inquiry& inquiry_;
  const std::vector<Candidate> candidates_;
  std::size_t next_ = 0;
  Clock::time_point next_call_ = {};
  std::vector<Call> calls_;
  Heard heard_;
};

}  // namespace

Heard ask_servers(const std::vector<ServerAddress>& servers, const Inquiry& inquiry,
                  Clock::time_point deadline) {
  return Asker(servers, inquiry).ask(deadline);
}

}  // namespace dllaunch
