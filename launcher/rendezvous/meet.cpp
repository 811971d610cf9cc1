#include "launcher/rendezvous/meet.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <thread>

#include "launcher/execute/rank_logs.hpp"
#include "launcher/rendezvous/desk.hpp"
#include "launcher/rendezvous/reachable_address.hpp"
#include "launcher/rendezvous/reserved_port.hpp"
#include "launcher/rendezvous/sockets.hpp"
#include "launcher/rendezvous/start_name.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* not_all_run_this =
    "where not every rank starts through `dllaunch exec`: --rendezvous-seconds 0";

bool one_node(const RankEnv& rank) {
  return rank.nodes == 1 || rank.local_world_size == rank.world_size;
}

/// Otherwise every rank asks rank 0 itself.
bool nodes_are_known(const RankEnv& rank) {
  return rank.nodes > 0 && rank.node_rank >= 0;
}

std::string file_of(const MeetingRequest& request) {
  return request.run_dir + "/.rendezvous/" + request.start_name;
}

std::string own_address(const MeetingRequest& request) {
  if (one_node(request.rank)) return "localhost";
  const auto& hosts = request.hosts;
  const auto is_own = [&](const std::string& host) {
    return std::find(request.names.begin(), request.names.end(), host) != request.names.end();
  };
  const auto peer = std::find_if_not(hosts.begin(), hosts.end(), is_own);
  return reachable_address(request.names, peer == hosts.end() ? "" : *peer);
}

Result<Ok> publish(const MeetingRequest& request, const MeetingPoint& point) {
  const std::string folder = request.run_dir + "/.rendezvous";
  const std::string path = file_of(request);
  const std::string unfinished = fmt::format("{}.{}", path, getpid());
  mkdir(folder.c_str(), 0700);
  unlink(unfinished.c_str());
  // It holds the secret of the start.
  const int file =
      open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file >= 0) {
    const std::string line = to_line(point, request.start_name);
    bool written = write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    written = close(file) == 0 && written;
    if (written && rename(unfinished.c_str(), path.c_str()) == 0) return Ok{};
  }
  unlink(unfinished.c_str());
  return Error{ErrorKind::unavailable, "cannot write " + path,
               "the run directory must be writable on every node"};
}

std::optional<MeetingPoint> published(const MeetingRequest& request) {
  // NFS remembers for half a minute that a file was not there; a look at its folder corrects that.
  const int folder = open((request.run_dir + "/.rendezvous").c_str(), O_RDONLY | O_CLOEXEC);
  if (folder >= 0) close(folder);
  constexpr std::size_t most_bytes = 65536;
  auto point = parse_meeting_point(file_end(file_of(request), most_bytes), request.start_name);
  if (!point) return std::nullopt;
  return *std::move(point);
}

/// Asks ever more rarely until there is an answer; nothing at the deadline.
std::optional<MeetingPoint> ask_until(const MeetingRequest& request, Deadline deadline,
                                      milliseconds longest_pause,
                                      const std::function<std::string()>& ask) {
  milliseconds pause(2);
  while (true) {
    auto point = parse_meeting_point(ask(), request.start_name);
    if (point) return *std::move(point);
    if (Clock::now() + pause > deadline) return std::nullopt;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, longest_pause);
  }
}

/// Rank 0 on one of the agreed ports of `host`.
std::string ask_agreed_ports(const MeetingRequest& request, const std::string& host,
                             const std::string& question, Deadline deadline) {
  if (!resolves(host)) return "";
  for (const int port : agreed_ports(request.start_name)) {
    auto answer = ask_there(host, port, question, deadline);
    if (parse_meeting_point(answer, request.start_name)) return answer;
    if (Clock::now() > deadline) break;
  }
  return "";
}

std::string question_for(const MeetingRequest& request, const std::string& secret) {
  return to_line(Question{.rank = request.rank.rank, .secret = secret}, request.start_name);
}

/// One attempt, wherever rank 0 may be: nearly always on the first node. Under `srun -m arbitrary`
/// it is not, and Slurm does not say where: later attempts look at one other node each.
std::string ask_rank_0(const MeetingRequest& request, Deadline deadline, std::size_t attempt) {
  constexpr std::size_t patient_attempts = 7;  // a quarter of a second
  // Long enough for a busy desk; a stranger on an old port must not keep us for ever.
  const auto soon = std::min<Deadline>(deadline, Clock::now() + std::chrono::seconds(10));
  if (!request.run_dir.empty()) {
    const auto point = published(request);
    if (!point) return "";
    // Only this user can have written where that is, and what to show there.
    return ask_there(point->address, point->desk, question_for(request, point->secret), soon);
  }
  const auto question = question_for(request, "");
  const auto& hosts = request.hosts;
  auto answer = ask_agreed_ports(request, hosts.front(), question, soon);
  if (!answer.empty() || attempt < patient_attempts || hosts.size() == 1) return answer;
  const auto other = 1 + (attempt - patient_attempts) % (hosts.size() - 1);
  return ask_agreed_ports(request, hosts[other], question, soon);
}

Error within(const MeetingRequest& request, std::string what) {
  const auto& names = request.names;
  return {ErrorKind::timeout,
          fmt::format("rank {} on {}: {} within {} s", request.rank.rank,
                      names.empty() ? "?" : names.front(), what, request.patience.count()),
          not_all_run_this};
}

Result<Meeting> lead(const MeetingRequest& request, Deadline deadline) {
  const auto& rank = request.rank;
  const auto port = reserve_port();
  if (!port) return port.error();
  Meeting meeting;
  meeting.point = {.address = own_address(request), .port = port->port};
  if (request.workers) {
    meeting.workers.resize(static_cast<std::size_t>(rank.world_size));
    meeting.workers[0] = with_port(meeting.point.address, port->port);
  }
  if (rank.world_size == 1) return meeting;

  const bool alone = one_node(rank);
  std::vector<int> ports;
  if (!alone || request.workers)
    ports =
        alone || !request.run_dir.empty() ? std::vector<int>{0} : agreed_ports(request.start_name);
  const auto desk = Desk::open(request.start_name, std::max(rank.node_rank, 0), ports);
  if (!desk) return desk.error();
  meeting.point.desk = desk->port();
  // Ranks of this node have it from the answer on the unix socket.
  if (alone || !request.run_dir.empty()) meeting.point.secret = new_secret();
  if (!alone && !request.run_dir.empty()) {
    if (auto written = publish(request, meeting.point); !written) return std::move(written).error();
  }
  const int askers =
      nodes_are_known(rank) ? rank.local_world_size - 1 + rank.nodes - 1 : rank.world_size - 1;
  auto workers = desk->serve({.start_name = request.start_name,
                              .answer = to_line(meeting.point, request.start_name),
                              .askers = askers,
                              .workers = meeting.workers,
                              .secret = meeting.point.secret},
                             deadline);
  if (!workers) return within(request, workers.error().what);
  meeting.workers = *std::move(workers);
  return meeting;
}

/// The meeting point, and for the other ranks of this node an answer.
Result<MeetingPoint> follow(const MeetingRequest& request, Deadline deadline) {
  const auto& rank = request.rank;
  const bool direct = !one_node(rank) && (rank.local_rank == 0 || !nodes_are_known(rank));
  const int node = std::max(rank.node_rank, 0);
  if (!direct) {
    const auto point = ask_until(request, deadline, milliseconds(100), [&] {
      return ask_here(request.start_name, node, question_for(request, ""), deadline);
    });
    if (point) return *point;
    return within(request, "the first rank of this node did not say where the ranks meet");
  }
  std::optional<Desk> desk;
  if (nodes_are_known(rank) && rank.local_world_size > 1) {
    auto opened = Desk::open(request.start_name, node, {});
    if (!opened) return std::move(opened).error();
    desk.emplace(*std::move(opened));
  }
  std::size_t attempt = 0;
  const auto point = ask_until(request, deadline, milliseconds(1000),
                               [&] { return ask_rank_0(request, deadline, attempt++); });
  if (!point) return within(request, "rank 0 did not say where the ranks meet");
  if (desk) {
    auto served = desk->serve({.start_name = request.start_name,
                               .answer = to_line(*point, request.start_name),
                               .askers = rank.local_world_size - 1},
                              deadline);
    if (!served) return within(request, served.error().what);
  }
  return *point;
}

Result<std::vector<std::string>> tell_worker(const MeetingRequest& request,
                                             const MeetingPoint& point, Deadline deadline) {
  const auto port = reserve_port();
  if (!port) return port.error();
  const Question question{.rank = request.rank.rank,
                          .worker = with_port(own_address(request), port->port),
                          .secret = point.secret};
  const std::string line = to_line(question, request.start_name);
  const auto answer = ask_there(point.address, point.desk, line, deadline);
  auto workers = parse_workers(answer, request.rank.world_size);
  if (!workers) return within(request, "rank 0 did not send the list of all workers");
  return workers;
}

}  // namespace

Result<Meeting> meet(const MeetingRequest& request) {
  const auto deadline = Clock::now() + request.patience;
  const auto& rank = request.rank;
  if (!one_node(rank) && request.run_dir.empty() && request.hosts.empty()) {
    return Error{ErrorKind::unavailable,
                 "ranks on several nodes cannot find rank 0: not a Slurm step, no run directory",
                 "give `dllaunch exec` a --run-dir that all nodes see"};
  }
  if (rank.rank == 0) return lead(request, deadline);
  Meeting meeting;
  auto point = follow(request, deadline);
  if (!point) return std::move(point).error();
  meeting.point = *std::move(point);
  if (request.workers) {
    auto workers = tell_worker(request, meeting.point, deadline);
    if (!workers) return std::move(workers).error();
    meeting.workers = *std::move(workers);
  }
  return meeting;
}

}  // namespace dllaunch
