#include "launcher/rank/rendezvous/rendezvous.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <thread>

#include "launcher/rank/rendezvous/ask.hpp"
#include "launcher/rank/rendezvous/reachable_address.hpp"
#include "launcher/rank/rendezvous/rendezvous_file.hpp"
#include "launcher/rank/rendezvous/rendezvous_server.hpp"
#include "launcher/rank/rendezvous/reserved_port.hpp"
#include "launcher/rank/rendezvous/start_name.hpp"
#include "launcher/rank/rendezvous/user_key.hpp"
#include "support/awake_clock.hpp"
#include "support/network/proof.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;
using std::chrono::milliseconds;

constexpr const char* not_all_run_this =
    "where not every rank starts through `dllaunch exec`: --rendezvous-seconds 0";

bool one_node(const RankEnv& rank) {
  return rank.nodes == 1 || rank.local_world_size == rank.world_size;
}

/// Otherwise every rank asks rank 0 directly.
bool nodes_are_known(const RankEnv& rank) {
  return rank.nodes > 0 && rank.node_rank >= 0;
}

std::string own_address(const RendezvousRequest& request) {
  if (one_node(request.rank)) return "localhost";
  const auto& hosts = request.hosts;
  const auto is_own = [&](const std::string& host) {
    return std::ranges::find(request.names, host) != request.names.end();
  };
  const auto peer = std::ranges::find_if_not(hosts, is_own);
  return reachable_address(request.names, peer == hosts.end() ? "" : *peer);
}

/// Returns the secret shared by ranks of different nodes. Empty: the one rank 0 writes into the run
/// directory.
Result<std::string> agreed_secret(const RendezvousRequest& request) {
  constexpr std::size_t shortest_token = 16;
  if (!request.token.empty() && request.token.size() < shortest_token)
    return Error{ErrorKind::bad_request,
                 fmt::format("DLLAUNCH_START_TOKEN has {} characters, which others can guess",
                             request.token.size()),
                 token_remedy};
  if (!request.token.empty()) return secret_of(request.token, request.start_name);
  if (!request.run_dir.empty()) return std::string();
  const auto key = user_key(request.key_folder);
  if (!key) return key.error();
  return secret_of(*key, request.start_name);
}

/// Retries with growing pauses until an attempt succeeds or fails for good, or the deadline.
template <typename T>
Result<std::optional<T>> attempt_until(
    Deadline deadline, milliseconds longest_pause,
    const std::function<Result<std::optional<T>>(std::size_t)>& attempt) {
  milliseconds pause(2);
  for (std::size_t i = 0;; ++i) {
    auto outcome = attempt(i);
    if (!outcome || *outcome || Clock::now() + pause > deadline) return outcome;
    poll_awake(nullptr, 0, static_cast<int>(pause.count()));
    pause = std::min(pause * 2, longest_pause);
  }
}

Question question_of(const RendezvousRequest& request) {
  return {.rank = request.rank.rank};
}

void add_agreed_ports(const RendezvousRequest& request, const std::string& host,
                      std::vector<ServerAddress>& servers) {
  for (const int port : agreed_ports(request.start_name)) servers.push_back({host, port});
}

/// Asks rank 0, wherever it may be.
class Inquirer {
 public:
  Inquirer(const RendezvousRequest& request, std::string secret)
      : request_(request), secret_(std::move(secret)) {}

  Result<std::optional<RendezvousPoint>> attempt(std::size_t number, Deadline deadline) {
    // Long enough for a busy server; a foreign process on an old port must not block forever.
    const auto soon = std::min<Deadline>(deadline, Clock::now() + std::chrono::seconds(10));
    std::string secret = secret_;
    std::vector<ServerAddress> servers;
    if (request_.run_dir.empty()) {
      servers = agreed_servers(number);
    } else {
      const auto point = published(request_.run_dir, request_.start_name);
      if (!point) return point.error();
      if (!*point) return std::optional<RendezvousPoint>();
      servers.push_back({(*point)->address, (*point)->server_port});
      if (secret.empty()) secret = (*point)->secret;
    }
    const auto heard =
        ask_servers(servers, {request_.start_name, question_of(request_), secret}, soon);
    if (!heard.unproven.empty()) unproven_ = heard.unproven;
    auto found = parse_rendezvous_point(heard.answer, request_.start_name);
    if (!found) return std::optional<RendezvousPoint>();
    found->secret = secret;
    return std::optional<RendezvousPoint>(*std::move(found));
  }

  /// Returns the last server that answered or hung up without proof; empty: none.
  const std::string& unproven() const { return unproven_; }

 private:
  /// Rank 0 is nearly always on the first node. Under `srun -m arbitrary` it is not, and Slurm does
  /// not say where: later attempts try one other node each.
  std::vector<ServerAddress> agreed_servers(std::size_t attempt) const {
    constexpr std::size_t patient_attempts = 7;  // together a quarter of a second
    const auto& hosts = request_.hosts;
    std::vector<ServerAddress> servers;
    add_agreed_ports(request_, hosts.front(), servers);
    if (attempt >= patient_attempts && hosts.size() > 1)
      add_agreed_ports(request_, hosts[1 + (attempt - patient_attempts) % (hosts.size() - 1)],
                       servers);
    return servers;
  }

  const RendezvousRequest& request_;
  const std::string secret_;
  std::string unproven_;
};

Error within(const RendezvousRequest& request, std::string what, const std::string& hint = "") {
  const auto& names = request.names;
  return {ErrorKind::timeout,
          fmt::format("rank {} on {}: {} within {} s", request.rank.rank,
                      names.empty() ? "?" : names.front(), what, request.patience.count()),
          hint.empty() ? not_all_run_this : hint};
}

/// Returns the names by which ranks of other nodes may call this one; empty: Slurm's list has
/// another name for it.
std::vector<std::string> called_names(const RendezvousRequest& request,
                                      const std::string& address) {
  auto names = request.names;
  names.push_back(address);
  const auto is_name = [&](const std::string& host) {
    return std::ranges::find(names, host) != names.end();
  };
  const auto& hosts = request.hosts;
  const bool by_list = !one_node(request.rank) && request.run_dir.empty();
  if (by_list && std::ranges::none_of(hosts, is_name)) return {};
  return names;
}

Result<Rendezvous> lead(const RendezvousRequest& request, Deadline deadline) {
  const auto& rank = request.rank;
  const auto port = reserve_port();
  if (!port) return port.error();
  Rendezvous rendezvous;
  rendezvous.point = {.address = own_address(request), .port = port->port};
  if (request.workers) {
    rendezvous.workers.resize(static_cast<std::size_t>(rank.world_size));
    rendezvous.workers[0] = with_port(rendezvous.point.address, port->port);
  }
  if (rank.world_size == 1) return rendezvous;

  const bool alone = one_node(rank);
  const auto agreed = alone ? Result<std::string>(std::string()) : agreed_secret(request);
  if (!agreed) return agreed.error();
  std::vector<int> ports;
  if (!alone || request.workers)
    ports =
        alone || !request.run_dir.empty() ? std::vector<int>{0} : agreed_ports(request.start_name);
  const auto server =
      RendezvousServer::open(request.start_name, std::max(rank.node_rank, 0), ports);
  if (!server) return server.error();
  rendezvous.point.server_port = server->port();
  auto known_here = rendezvous.point;
  known_here.secret = agreed->empty() ? new_secret() : *agreed;
  if (!alone && !request.run_dir.empty()) {
    // Without the secret if the ranks know it from elsewhere.
    auto written = publish(request.run_dir, request.start_name,
                           agreed->empty() ? known_here : rendezvous.point);
    if (!written) return std::move(written).error();
  }
  const int askers =
      nodes_are_known(rank) ? rank.local_world_size - 1 + rank.nodes - 1 : rank.world_size - 1;
  auto workers = server->serve({.start_name = request.start_name,
                                .answer = to_line(rendezvous.point, request.start_name),
                                .answer_here = to_line(known_here, request.start_name),
                                .askers = askers,
                                .workers = rendezvous.workers,
                                .secret = known_here.secret,
                                .called = called_names(request, rendezvous.point.address),
                                .tell = request.tell},
                               deadline);
  if (!workers) return within(request, workers.error().what, workers.error().hint);
  rendezvous.workers = *std::move(workers);
  rendezvous.point.secret = known_here.secret;
  return rendezvous;
}

/// Asks the first rank of this node.
Result<RendezvousPoint> ask_own_node(const RendezvousRequest& request, Deadline deadline) {
  constexpr std::size_t looks_around_each = 8;
  const auto question = to_line(question_of(request), request.start_name);
  const auto point = attempt_until<RendezvousPoint>(
      deadline, milliseconds(100),
      [&](std::size_t attempt) -> Result<std::optional<RendezvousPoint>> {
        const bool look_around = (attempt + 1) % looks_around_each == 0;
        auto found =
            parse_rendezvous_point(ask_here(request.start_name, std::max(request.rank.node_rank, 0),
                                            question, look_around, deadline),
                                   request.start_name);
        if (!found) return std::optional<RendezvousPoint>();
        return std::optional<RendezvousPoint>(*std::move(found));
      });
  if (point && *point) return **point;
  return within(request, "the first rank of this node did not pass on rank 0's address");
}

/// Returns the rendezvous point, and answers the other ranks of this node.
Result<RendezvousPoint> follow(const RendezvousRequest& request, Deadline deadline) {
  const auto& rank = request.rank;
  const bool direct = !one_node(rank) && (rank.local_rank == 0 || !nodes_are_known(rank));
  if (!direct) return ask_own_node(request, deadline);
  auto secret = agreed_secret(request);
  if (!secret) return std::move(secret).error();
  std::optional<RendezvousServer> server;
  if (nodes_are_known(rank) && rank.local_world_size > 1) {
    auto opened = RendezvousServer::open(request.start_name, std::max(rank.node_rank, 0), {});
    if (!opened) return std::move(opened).error();
    server.emplace(*std::move(opened));
  }
  Inquirer inquirer(request, *std::move(secret));
  const auto point = attempt_until<RendezvousPoint>(
      deadline, milliseconds(1000),
      [&](std::size_t number) { return inquirer.attempt(number, deadline); });
  if (!point) return point.error();
  if (!*point && !inquirer.unproven().empty())
    return within(request,
                  fmt::format("rank 0 did not send its address, and what answers at {} does not "
                              "prove that it knows the key of this start ({})",
                              inquirer.unproven(), why_keys_differ),
                  token_remedy);
  if (!*point) return within(request, "rank 0 did not send its address");
  if (server) {
    auto served = server->serve({.start_name = request.start_name,
                                 .answer = to_line(**point, request.start_name),
                                 .askers = rank.local_world_size - 1,
                                 .tell = request.tell},
                                deadline);
    if (!served) return within(request, served.error().what);
  }
  return **point;
}

Result<std::vector<std::string>> tell_worker(const RendezvousRequest& request,
                                             const RendezvousPoint& point, Deadline deadline) {
  const auto port = reserve_port();
  if (!port) return port.error();
  auto question = question_of(request);
  question.worker = with_port(own_address(request), port->port);
  const Inquiry inquiry{request.start_name, question, point.secret};
  const auto workers = attempt_until<std::vector<std::string>>(
      deadline, milliseconds(1000),
      [&](std::size_t) -> Result<std::optional<std::vector<std::string>>> {
        const auto heard = ask_servers({{point.address, point.server_port}}, inquiry, deadline);
        auto table = parse_workers(heard.answer, request.rank.world_size);
        if (!table) return std::optional<std::vector<std::string>>();
        return std::optional<std::vector<std::string>>(*std::move(table));
      });
  if (workers && *workers) return **workers;
  return within(request, "rank 0 did not send the list of all workers");
}

}  // namespace

Result<Rendezvous> join_rendezvous(const RendezvousRequest& request) {
  const auto deadline = Clock::now() + request.patience;
  const auto& rank = request.rank;
  if (!one_node(rank) && request.run_dir.empty() && request.hosts.empty()) {
    return Error{ErrorKind::unavailable,
                 "ranks on several nodes cannot find rank 0: not a Slurm step, no run directory",
                 "give `dllaunch exec` a --run-dir that all nodes see"};
  }
  if (rank.rank == 0) return lead(request, deadline);
  Rendezvous rendezvous;
  auto point = follow(request, deadline);
  if (!point) return std::move(point).error();
  rendezvous.point = *std::move(point);
  if (request.workers) {
    auto workers = tell_worker(request, rendezvous.point, deadline);
    if (!workers) return std::move(workers).error();
    rendezvous.workers = *std::move(workers);
  }
  return rendezvous;
}

}  // namespace dllaunch
