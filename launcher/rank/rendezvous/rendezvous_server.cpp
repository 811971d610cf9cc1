#include "launcher/rank/rendezvous/rendezvous_server.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>

#include "launcher/rank/rendezvous/local_listener.hpp"
#include "launcher/rank/rendezvous/messages.hpp"
#include "launcher/rank/rendezvous/user_key.hpp"
#include "support/awake_clock.hpp"
#include "support/network/proof.hpp"
#include "support/network/sockets.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t longest_question = 4096;
constexpr int longest_pause_ms = 1000;
constexpr int most_at_once = 256;
constexpr int spare_visitors = 64;

constexpr std::chrono::seconds question_patience(10);
constexpr std::chrono::milliseconds rest(100);

struct Visitor {
  int socket = -1;
  bool local = false;  // same node and user
  Deadline asks_until = {};
  std::string said = {};
  std::string nonce = {};
  std::string answer = {};   // not sent yet
  bool wants_table = false;  // waits for the table
  int rank = -1;
  bool done = false;

  bool unproven() const { return !local && rank < 0 && !done; }
};

/// Raises the limit of open files while ranks of thousands of nodes wait; restores it for the
/// program.
class ManyFiles {
 public:
  ManyFiles() {
    rlimit more{};
    if (getrlimit(RLIMIT_NOFILE, &more) != 0) return;
    before_ = more;
    more.rlim_cur = more.rlim_max;
    setrlimit(RLIMIT_NOFILE, &more);
  }
  ~ManyFiles() {
    if (before_) setrlimit(RLIMIT_NOFILE, &*before_);
  }
  ManyFiles(const ManyFiles&) = delete;
  ManyFiles& operator=(const ManyFiles&) = delete;

 private:
  std::optional<rlimit> before_;  // nullopt: the kernel does not say
};

/// The server's event loop.
class Service {
 public:
  /// The first listener serves ranks of this node.
  Service(const RendezvousDuty& duty, std::vector<int> listeners)
      : duty_(duty), listeners_(std::move(listeners)), workers_(duty.workers) {
    if (listeners_.size() > 1) port_ = port_of(listeners_[1]);
  }
  ~Service() {
    for (const auto& visitor : visitors_) close(visitor.socket);
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  Result<std::vector<std::string>> run(Deadline deadline) {
    while (!finished()) {
      const int left = milliseconds_until(deadline);
      if (left == 0) return too_late();
      wait(std::min(left, longest_pause_ms));
    }
    return workers_;
  }

 private:
  bool all_workers() const {
    return std::none_of(workers_.begin(), workers_.end(),
                        [](const std::string& worker) { return worker.empty(); });
  }
  bool finished() const {
    return static_cast<int>(asked_.size()) >= duty_.askers && all_workers() &&
           static_cast<int>(told_.size()) >= to_tell_;
  }

  std::string strangers() const {
    std::string text;
    if (strangers_ > 0)
      text = fmt::format("; {} connection{} of unknown processes {} refused", strangers_,
                         strangers_ == 1 ? "" : "s", strangers_ == 1 ? "was" : "were");
    if (of_other_key_ > 0)
      text += fmt::format("; {} of them knew the start's name, but not its key ({})", of_other_key_,
                          why_keys_differ);
    return text;
  }

  Error too_late() const {
    const auto missing = std::count(workers_.begin(), workers_.end(), "");
    const int absent = duty_.askers - static_cast<int>(asked_.size());
    std::string what =
        absent > 0 || missing == 0
            ? fmt::format("{} of the {} ranks it waits for did not connect", absent, duty_.askers)
            : fmt::format("{} of {} workers did not send their address", missing, workers_.size());
    return {ErrorKind::timeout, what + strangers(), of_other_key_ > 0 ? token_remedy : ""};
  }

  void wait(int milliseconds) {
    std::vector<pollfd> all;
    // poll() skips negative descriptors.
    const bool rests = AwakeClock::now() < resting_until_;
    for (const int listener : listeners_) all.push_back({rests ? -1 : listener, POLLIN, 0});
    if (rests) milliseconds = std::min(milliseconds, milliseconds_until(resting_until_));
    for (const auto& visitor : visitors_) {
      const bool sends = !visitor.answer.empty();
      all.push_back({visitor.socket, static_cast<short>(sends ? POLLOUT : POLLIN), 0});
    }
    const int ready = poll_awake(all.data(), all.size(), milliseconds);
    const auto now = AwakeClock::now();
    for (std::size_t i = 0; i < visitors_.size(); ++i) {
      if (ready > 0 && all[listeners_.size() + i].revents != 0) attend(visitors_[i]);
      const bool silent = visitors_[i].rank < 0 && !visitors_[i].done;
      if (silent && now > visitors_[i].asks_until) refuse(visitors_[i]);
    }
    if (all_workers()) hand_out_table();
    see_off();
    for (std::size_t i = 0; i < listeners_.size(); ++i) {
      if (ready > 0 && all[i].revents != 0) let_in(listeners_[i], /*local=*/i == 0);
    }
  }

  void see_off() {
    std::erase_if(visitors_, [](const Visitor& visitor) {
      if (visitor.done) close(visitor.socket);
      return visitor.done;
    });
  }

  void let_in(int listener, bool local) {
    for (int i = 0; i < most_at_once; ++i) {
      const int came = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (came < 0 && errno == EAGAIN) return;
      if (came < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
      // Usually the process is out of descriptors.
      if (came < 0 && refuse_oldest()) continue;
      if (came < 0) {
        resting_until_ = AwakeClock::now() + rest;
        return;
      }
      visitors_.push_back(
          {.socket = came, .local = local, .asks_until = AwakeClock::now() + question_patience});
      if (local && !is_ours(came)) refuse(visitors_.back());
      if (unproven() > 2 * (duty_.askers + to_tell_) + spare_visitors) refuse_oldest();
    }
  }

  std::ptrdiff_t unproven() const {
    return std::count_if(visitors_.begin(), visitors_.end(),
                         [](const Visitor& visitor) { return visitor.unproven(); });
  }

  /// Refuses the oldest unproven connection; returns false if there is none.
  bool refuse_oldest() {
    for (auto& visitor : visitors_) {
      if (!visitor.unproven()) continue;
      // Under load, a rank's question may not have been read yet.
      attend(visitor);
      if (visitor.unproven()) refuse(visitor);
      if (!visitor.done) continue;
      see_off();
      return true;
    }
    return false;
  }

  void tell(const std::string& sentence) const {
    if (duty_.tell) duty_.tell(sentence);
  }

  void refuse(Visitor& visitor) {
    visitor.done = true;
    if (++strangers_ > 1 || of_other_key_ > 0) return;
    const auto who = visitor.local ? "on this node" : peer_of(visitor.socket);
    tell(
        fmt::format("an unknown process, or a rank of another start, asked for rank 0's address "
                    "and was refused ({}); further ones are only counted",
                    who));
  }

  /// Refuses a process that guessed the start's name, or a rank without its key.
  void refuse_of_other_key(Visitor& visitor, const Question& question) {
    if (++of_other_key_ == 1)
      tell(fmt::format("{} claims to be rank {} of this start but lacks its key ({}): refused; {}",
                       peer_of(visitor.socket), question.rank, why_keys_differ, token_remedy));
    refuse(visitor);
  }

  /// Ranks of this node are identified by user id.
  std::optional<Question> question_of(Visitor& visitor, const std::string& line) {
    if (visitor.local) {
      auto question = parse_question(line, duty_.start_name);
      if (!question) refuse(visitor);
      return question;
    }
    const auto body = unseal(duty_.secret, question_purpose, "", line);
    auto question = parse_question(body ? *body : body_of(line), duty_.start_name);
    if (body && question && is_to_us(*question) && nonces_.insert(question->nonce).second)
      return question;
    if (!body && question)
      refuse_of_other_key(visitor, *question);
    else
      refuse(visitor);
    return std::nullopt;
  }

  /// Whether the question names this node and port: a process on another port could relay it and
  /// keep the answer.
  bool is_to_us(const Question& question) const {
    const auto is_called_so = [&](const std::string& name) {
      return question.to == with_port(name, port_);
    };
    const auto& called = duty_.called;
    if (question.nonce.empty()) return false;
    return called.empty() ? question.to.ends_with(fmt::format(":{}", port_))
                          : std::any_of(called.begin(), called.end(), is_called_so);
  }

  void attend(Visitor& visitor) {
    if (visitor.answer.empty())
      listen_to(visitor);
    else
      speak_to(visitor);
  }

  void listen_to(Visitor& visitor) {
    std::string piece(longest_question, '\0');
    const ssize_t got = recv(visitor.socket, piece.data(), piece.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // A rank that disconnects while waiting for the table asks again.
    if (got <= 0) {
      visitor.done = true;
      return;
    }
    visitor.said.append(piece, 0, static_cast<std::size_t>(got));
    const auto end = visitor.said.find('\n');
    if (end == std::string::npos) {
      if (visitor.said.size() > longest_question) refuse(visitor);
      return;
    }
    if (!visitor.wants_table) understand(visitor, visitor.said.substr(0, end));
  }

  void understand(Visitor& visitor, const std::string& line) {
    const auto question = question_of(visitor, line);
    if (!question) return;
    visitor.rank = question->rank;
    visitor.nonce = question->nonce;
    if (question->worker.empty()) {
      visitor.answer = answer_for(visitor);
      speak_to(visitor);
      return;
    }
    const auto place = static_cast<std::size_t>(question->rank);
    if (place >= workers_.size()) {
      visitor.done = true;
      return;
    }
    workers_[place] = question->worker;
    visitor.wants_table = true;
  }

  std::string answer_for(const Visitor& visitor) const {
    if (visitor.local) return duty_.answer_here.empty() ? duty_.answer : duty_.answer_here;
    return sealed(visitor, "answer", duty_.answer);
  }

  std::string sealed(const Visitor& visitor, std::string_view purpose,
                     std::string_view line) const {
    return seal(duty_.secret, purpose, visitor.nonce, line.substr(0, line.size() - 1));
  }

  void speak_to(Visitor& visitor) {
    const ssize_t sent =
        send(visitor.socket, visitor.answer.data(), visitor.answer.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent < 0) {
      visitor.done = true;
      return;
    }
    visitor.answer.erase(0, static_cast<std::size_t>(sent));
    if (!visitor.answer.empty()) return;
    visitor.done = true;
    (visitor.wants_table ? told_ : asked_).insert(visitor.rank);
  }

  void hand_out_table() {
    if (to_tell_ == 0) return;
    for (auto& visitor : visitors_) {
      if (!visitor.wants_table || visitor.done || !visitor.answer.empty()) continue;
      const auto table = workers_line(workers_);
      visitor.answer = visitor.local ? table : sealed(visitor, "table", table);
      speak_to(visitor);
    }
  }

  const RendezvousDuty& duty_;
  const std::vector<int> listeners_;
  std::vector<std::string> workers_;
  std::vector<Visitor> visitors_;
  std::set<int> asked_;
  std::set<int> told_;
  std::set<std::string> nonces_;
  Deadline resting_until_ = {};
  int port_ = 0;  // of the listener for other nodes
  int strangers_ = 0;
  int of_other_key_ = 0;  // of them with another key
  // Workers unknown when the server opened: each waits for the table.
  int to_tell_ = static_cast<int>(std::count(duty_.workers.begin(), duty_.workers.end(), ""));
};

}  // namespace

Result<RendezvousServer> RendezvousServer::open(const std::string& start_name, int node,
                                                const std::vector<int>& ports) {
  RendezvousServer server;
  server.local_ = listen_here(start_name, node);
  if (server.local_ < 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot open a socket for this node's ranks: {}", last_error()), ""};
  }
  for (const int port : ports) {
    server.remote_ = listen_on(port);
    if (server.remote_ < 0) continue;
    server.port_ = port_of(server.remote_);
    return server;
  }
  if (ports.empty()) return server;
  return Error{ErrorKind::unavailable,
               fmt::format("cannot open a port for other nodes' ranks: {}", last_error()), ""};
}

RendezvousServer::~RendezvousServer() {
  if (local_ >= 0) close(local_);
  if (remote_ >= 0) close(remote_);
}

Result<std::vector<std::string>> RendezvousServer::serve(const RendezvousDuty& duty,
                                                         Deadline deadline) const {
  const ManyFiles files;
  std::vector<int> listeners = {local_};
  if (remote_ >= 0) listeners.push_back(remote_);
  return Service(duty, std::move(listeners)).run(deadline);
}

std::string ask_here(const std::string& start_name, int node, const std::string& question,
                     bool look_around, Deadline deadline) {
  return exchange(connect_here(start_name, node, look_around), question, deadline);
}

}  // namespace dllaunch
