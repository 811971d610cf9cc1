#include "launcher/rendezvous/desk.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>

#include "launcher/rendezvous/messages.hpp"
#include "launcher/rendezvous/sockets.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t longest_question = 4096;
constexpr int longest_pause_ms = 1000;

constexpr std::chrono::seconds question_patience(10);

struct Visitor {
  int socket = -1;
  bool local = false;  // and of this user
  Deadline asks_until = {};
  std::string said = {};
  std::string answer = {};   // still to be sent
  bool wants_table = false;  // and waits for it
  int rank = -1;
  bool done = false;
};

/// More open files while ranks of thousands of nodes wait; the program gets its own limit back.
class ManyFiles {
 public:
  ManyFiles() {
    if (getrlimit(RLIMIT_NOFILE, &before_) != 0) return;
    rlimit more = before_;
    more.rlim_cur = more.rlim_max;
    setrlimit(RLIMIT_NOFILE, &more);
  }
  ~ManyFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  ManyFiles(const ManyFiles&) = delete;
  ManyFiles& operator=(const ManyFiles&) = delete;

 private:
  rlimit before_{};
};

/// All that happens at a desk while it is open.
class Service {
 public:
  /// The first door is the one for ranks of this node.
  Service(const DeskDuty& duty, std::vector<int> doors)
      : duty_(duty), doors_(std::move(doors)), workers_(duty.workers) {}
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
    if (strangers_ == 0) return "";
    return fmt::format("; {} connection{} of strangers {} refused", strangers_,
                       strangers_ == 1 ? "" : "s", strangers_ == 1 ? "was" : "were");
  }

  Error too_late() const {
    const auto missing = std::count(workers_.begin(), workers_.end(), "");
    if (static_cast<int>(asked_.size()) < duty_.askers || missing == 0) {
      return {
          ErrorKind::timeout,
          fmt::format("{} of the {} it waits for did not come{}",
                      duty_.askers - static_cast<int>(asked_.size()), duty_.askers, strangers()),
          ""};
    }
    return {ErrorKind::timeout,
            fmt::format("{} of {} workers did not say where they are{}", missing, workers_.size(),
                        strangers()),
            ""};
  }

  void wait(int milliseconds) {
    std::vector<pollfd> all;
    for (const int door : doors_) all.push_back({door, POLLIN, 0});
    for (const auto& visitor : visitors_) {
      const bool sends = !visitor.answer.empty();
      all.push_back({visitor.socket, static_cast<short>(sends ? POLLOUT : POLLIN), 0});
    }
    const int ready = poll(all.data(), all.size(), milliseconds);
    const auto now = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < visitors_.size(); ++i) {
      if (ready > 0 && all[doors_.size() + i].revents != 0) attend(visitors_[i]);
      const bool silent = visitors_[i].rank < 0 && !visitors_[i].done;
      if (silent && now > visitors_[i].asks_until) refuse(visitors_[i]);
    }
    if (all_workers()) hand_out_table();
    std::erase_if(visitors_, [](const Visitor& visitor) {
      if (visitor.done) close(visitor.socket);
      return visitor.done;
    });
    for (std::size_t i = 0; i < doors_.size(); ++i) {
      if (ready > 0 && all[i].revents != 0) let_in(doors_[i], /*local=*/i == 0);
    }
  }

  void let_in(int door, bool local) {
    while (true) {
      const int came = accept4(door, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (came < 0) return;
      visitors_.push_back({.socket = came,
                           .local = local,
                           .asks_until = std::chrono::steady_clock::now() + question_patience});
      if (local && !is_ours(came)) refuse(visitors_.back());
    }
  }

  void refuse(Visitor& visitor) {
    ++strangers_;
    visitor.done = true;
  }

  /// A start's name can be computed by anybody.
  bool is_stranger(const Visitor& visitor, const Question& question) const {
    return !visitor.local && question.secret != duty_.secret;
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
    // Whoever leaves while waiting for the table comes again.
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
    const auto question = parse_question(line, duty_.start_name);
    if (!question || is_stranger(visitor, *question)) {
      refuse(visitor);
      return;
    }
    visitor.rank = question->rank;
    if (question->worker.empty()) {
      visitor.answer = duty_.answer;
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
      visitor.answer = workers_line(workers_);
      speak_to(visitor);
    }
  }

  const DeskDuty& duty_;
  const std::vector<int> doors_;
  std::vector<std::string> workers_;
  std::vector<Visitor> visitors_;
  std::set<int> asked_;
  std::set<int> told_;
  int strangers_ = 0;
  // Workers that were not known when the desk opened: each wants the table.
  int to_tell_ = static_cast<int>(std::count(duty_.workers.begin(), duty_.workers.end(), ""));
};

}  // namespace

Result<Desk> Desk::open(const std::string& start_name, int node, const std::vector<int>& ports) {
  Desk desk;
  desk.local_ = listen_here(start_name, node);
  if (desk.local_ < 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot open a socket for this node's ranks: {}", last_error()), ""};
  }
  for (const int port : ports) {
    desk.remote_ = listen_on(port);
    if (desk.remote_ < 0) continue;
    desk.port_ = port_of(desk.remote_);
    return desk;
  }
  if (ports.empty()) return desk;
  return Error{ErrorKind::unavailable,
               fmt::format("cannot open a port for other nodes' ranks: {}", last_error()), ""};
}

Desk::~Desk() {
  if (local_ >= 0) close(local_);
  if (remote_ >= 0) close(remote_);
}

Result<std::vector<std::string>> Desk::serve(const DeskDuty& duty, Deadline deadline) const {
  const ManyFiles files;
  std::vector<int> doors = {local_};
  if (remote_ >= 0) doors.push_back(remote_);
  return Service(duty, std::move(doors)).run(deadline);
}

std::string ask_here(const std::string& start_name, int node, const std::string& question,
                     Deadline deadline) {
  return exchange(connect_here(start_name, node), question, deadline);
}

std::string ask_there(const std::string& address, int port, const std::string& question,
                      Deadline deadline) {
  return exchange(connect_to(address, port), question, deadline);
}

}  // namespace dllaunch
