#include "runtime/communicators/tcp/meeting.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "support/awake_clock.hpp"
#include "support/network/proof.hpp"
#include "support/network/sockets.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t longest_table = std::size_t{16} << 20;

bool wait_for(int socket, short what, Clock::time_point deadline) {
  pollfd one{socket, what, 0};
  return poll_awake(&one, 1, milliseconds_until(deadline)) > 0;
}

bool send_line(int socket, std::string_view line, Clock::time_point deadline) {
  while (!line.empty()) {
    const ssize_t sent = ::send(socket, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) line.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (sent < 0 && errno == EAGAIN && !wait_for(socket, POLLOUT, deadline)) return false;
  }
  return true;
}

/// Reads a line of rank 0's; nothing beyond it, where messages begin. incomplete: at the deadline.
LineState receive_line(int socket, Clock::time_point deadline, std::string& line) {
  while (line.size() < longest_table) {
    const LineState state = read_line(socket, line);
    if (state != LineState::incomplete || !wait_for(socket, POLLIN, deadline)) return state;
  }
  return LineState::closed;
}

Error too_late(const MeetingPlan& plan, const std::string& what, const std::string& why = "") {
  return {ErrorKind::timeout,
          fmt::format("rank {} on {}: {} within {} s{}{}", plan.rank, plan.host, what,
                      plan.patience.count(), why.empty() ? "" : ": ", why),
          ""};
}

/// For all connections to every rank, beside what the program opens.
void allow_files_for(int connections) {
  constexpr rlim_t of_program = 1024;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  const rlim_t wanted = std::min(files.rlim_max, of_program + static_cast<rlim_t>(connections));
  if (files.rlim_cur >= wanted) return;
  files.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

/// Whether the messages of two ranks are to take another network than the meeting.
bool talk_elsewhere(const Whereabouts& one, const Whereabouts& other) {
  const bool both = !one.preferred.empty() && !other.preferred.empty();
  return both && (one.preferred != one.address || other.preferred != other.address);
}

/// After the table: what it means for this rank.
void prepare_for(const MeetingPlan& plan, Met& met) {
  const auto& ranks = met.table.ranks;
  const auto own = static_cast<std::size_t>(plan.rank);
  for (std::size_t other = 0; other < ranks.size(); ++other) {
    if (talk_elsewhere(ranks[own], ranks[other])) met.sockets[other] = FileDescriptor();
  }
  met.entrance->expect_connections(met.table.connections);
  allow_files_for(plan.size * met.table.connections);
}

/// Rank 0's part of a meeting.
class Host {
 public:
  Host(const MeetingPlan& plan, std::unique_ptr<Entrance> entrance) : plan_(plan) {
    met_.entrance = std::move(entrance);
    met_.table = {.connections = plan.connections,
                  .ranks = std::vector<Whereabouts>(static_cast<std::size_t>(plan.size))};
    met_.sockets.resize(static_cast<std::size_t>(plan.size));
    nonces_.resize(static_cast<std::size_t>(plan.size));
  }

  Result<Met> run(Clock::time_point deadline) {
    while (came_ < plan_.size - 1) {
      if (Clock::now() >= deadline) return absent();
      // Not only by events: the silent are refused by time.
      wait_for(met_.entrance->descriptor(), POLLIN,
               std::min(deadline, Clock::now() + milliseconds(1000)));
      for (Guest& guest : met_.entrance->attend()) take_in(std::move(guest));
    }
    fill_in_addresses();
    for (std::size_t rank = 1; rank < met_.table.ranks.size(); ++rank) {
      const auto line = to_line(met_.table, plan_.secret, nonces_[rank]);
      if (send_line(met_.sockets[rank].get(), line, deadline)) continue;
      return too_late(plan_, fmt::format("rank {} on {} did not take the table of ranks", rank,
                                         met_.table.ranks[rank].host));
    }
    prepare_for(plan_, met_);
    return std::move(met_);
  }

 private:
  /// A rank whose connection failed comes again: the last one counts.
  void take_in(Guest guest) {
    const auto rank = static_cast<std::size_t>(guest.hello.rank);
    if (!met_.sockets[rank]) ++came_;
    met_.table.ranks[rank] = {.address = peer_of(guest.socket.get()),
                              .port = guest.hello.port,
                              .host = guest.hello.host,
                              .preferred = guest.hello.preferred};
    nonces_[rank] = guest.hello.nonce;
    met_.sockets[rank] = std::move(guest.socket);
  }

  /// Ranks of this node may have come over the loopback, where others cannot reach them: they get
  /// the address by which ranks of other nodes reached this one.
  void fill_in_addresses() {
    std::string own = "127.0.0.1";
    for (std::size_t rank = 1; rank < met_.table.ranks.size(); ++rank) {
      if (!is_loopback(met_.table.ranks[rank].address))
        own = own_address_of(met_.sockets[rank].get());
    }
    met_.table.ranks[0] = {.address = own,
                           .port = met_.entrance->port(),
                           .host = plan_.host,
                           .preferred = plan_.preferred};
    std::map<std::string, std::string> hosts;  // by preferred address
    for (Whereabouts& rank : met_.table.ranks) {
      if (is_loopback(rank.address)) rank.address = own;
      if (!rank.preferred.empty()) hosts.emplace(rank.preferred, rank.host);
    }
    // An address that two nodes have, as bridges of containers do, leads each to itself.
    std::set<std::string> shared;
    for (const Whereabouts& rank : met_.table.ranks) {
      if (!rank.preferred.empty() && hosts[rank.preferred] != rank.host)
        shared.insert(rank.preferred);
    }
    for (Whereabouts& rank : met_.table.ranks) {
      if (shared.contains(rank.preferred)) rank.preferred.clear();
    }
  }

  Error absent() const {
    std::vector<std::size_t> missing;
    for (std::size_t rank = 1; rank < met_.sockets.size(); ++rank) {
      if (!met_.sockets[rank]) missing.push_back(rank);
    }
    const std::size_t count = missing.size();
    constexpr std::size_t most_named = 8;
    if (count > most_named) missing.resize(most_named);
    std::string what = fmt::format("{} of {} ranks did not connect: {}{}", count, plan_.size,
                                   fmt::join(missing, ", "), count > most_named ? ", ..." : "");
    if (met_.entrance->refused() > 0) {
      what += fmt::format("; {} connections of unknown processes were refused",
                          met_.entrance->refused());
    }
    return too_late(plan_, what);
  }

  const MeetingPlan& plan_;
  Met met_;
  std::vector<std::string> nonces_;  // of the hellos, by rank
  int came_ = 0;
};

/// Another rank's part of a meeting: one attempt to get the table from rank 0. `why` says why it
/// failed.
std::optional<Table> ask_rank_0(const MeetingPlan& plan, int own_port, Clock::time_point deadline,
                                FileDescriptor& socket, std::string& why) {
  const auto addresses = addresses_of(plan.address, plan.port);
  socket = FileDescriptor(connect_to(addresses));
  if (!socket) {
    why = addresses.empty() ? "the name does not resolve" : last_error();
    return std::nullopt;
  }
  why = "it closed the connection";
  const Hello hello{.rank = plan.rank,
                    .to = 0,
                    .size = plan.size,
                    .port = own_port,
                    .nonce = new_nonce(),
                    .host = plan.host,
                    .preferred = plan.preferred};
  if (!send_line(socket.get(), to_line(hello, plan.secret), deadline)) return std::nullopt;
  std::string line;
  const LineState state = receive_line(socket.get(), deadline, line);
  if (state == LineState::incomplete) why = "it has not answered: it may wait for other ranks";
  if (state != LineState::complete) return std::nullopt;
  why = "what answers there does not know this start's secret";
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  return parse_table(line, plan.size, plan.secret, hello.nonce);
}

Result<Met> visit(const MeetingPlan& plan, std::unique_ptr<Entrance> entrance,
                  Clock::time_point deadline) {
  Met met;
  met.entrance = std::move(entrance);
  met.sockets.resize(static_cast<std::size_t>(plan.size));
  milliseconds pause(2);
  constexpr milliseconds longest_pause(1000);
  std::string why;
  bool quiet = true;
  while (true) {
    auto table = ask_rank_0(plan, met.entrance->port(), deadline, met.sockets[0], why);
    if (table) {
      met.table = *std::move(table);
      prepare_for(plan, met);
      return met;
    }
    const auto left = deadline - Clock::now();
    // Not at the end, which has an error of its own.
    if (quiet && left > seconds(0) && left <= plan.patience - plan.quiet) {
      quiet = false;
      if (plan.warn) {
        plan.warn(fmt::format("no connection to rank 0 at {} port {} yet: {}; trying for {} s more",
                              plan.address, plan.port, why,
                              std::chrono::ceil<seconds>(left).count()));
      }
    }
    if (pause >= left) break;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest_pause);
  }
  return too_late(plan, fmt::format("no answer from rank 0 at {} port {}", plan.address, plan.port),
                  why);
}

}  // namespace

Result<Met> meet(const MeetingPlan& plan) {
  const auto deadline = Clock::now() + plan.patience;
  allow_files_for(plan.size);
  auto entrance = Entrance::open(
      plan.rank == 0 ? plan.port : 0,
      {.rank = plan.rank, .size = plan.size, .secret = plan.secret, .warn = plan.warn});
  if (!entrance) return std::move(entrance).error();
  if (plan.rank == 0) return Host(plan, *std::move(entrance)).run(deadline);
  return visit(plan, *std::move(entrance), deadline);
}

}  // namespace dllaunch
