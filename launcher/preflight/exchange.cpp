#include "launcher/preflight/exchange.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "launcher/base/unix_seconds.hpp"
#include "support/awake_clock.hpp"
#include "support/network/proof.hpp"
#include "support/network/sockets.hpp"
#include "support/network/timed_line.hpp"
#include "support/random.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;
using std::chrono::milliseconds;

constexpr std::string_view greeting = "dllaunch-preflight";
constexpr std::size_t parcel_bytes = std::size_t{1} << 20;
constexpr milliseconds greeting_limit(700);
constexpr std::array<std::size_t, 3> distances = {1, 2, 5};
constexpr int most_guests = 64;

/// Shared with threads that may outlive the function.
struct Shared {
  ExchangePlan plan = {};
  std::vector<int> ports = {};
  Clock::time_point deadline = {};
  std::mutex mutex = {};
  std::condition_variable changed = {};
  std::vector<PeerCall> calls = {};  // by position in peers_of()
  std::vector<bool> called = {};
  std::set<std::string> guests = {};  // peers whose calls have completed
  std::atomic<int> guests_now = 0;
};

milliseconds left_of(const Shared& shared) {
  return milliseconds(std::max(1, milliseconds_until(shared.deadline)));
}

// ---- being called -----------------------------------------------------------------------------

/// The prefix of every line, after the proof.
std::string prefix_of(const ExchangePlan& plan) {
  return fmt::format("{} {} ", greeting, plan.mark);
}

/// "NONCE HOST" -> "CLOCK ADDRESS", each behind proof and prefix; then 1 MiB -> "done".
void serve_guest(Shared& shared, int socket) {
  const auto& plan = shared.plan;
  TimedLine line(socket, std::min(left_of(shared), greeting_limit));
  const auto prefix = prefix_of(plan);
  const auto asked = unseal(plan.secret, "call", "", line.hear());
  if (!asked || !asked->starts_with(prefix)) return;
  line.wait_at_most(left_of(shared));
  const auto blank = std::min(asked->find(' ', prefix.size()), asked->size() - 1);
  const auto nonce = asked->substr(prefix.size(), blank - prefix.size());
  const auto address = plan.address.empty() ? "-" : plan.address;
  const auto reply = fmt::format("{}{:.9f} {}", prefix, unix_seconds(), address);
  if (!line.say(seal(plan.secret, "reply", nonce, reply))) return;
  if (!line.take(parcel_bytes) || !line.say("done\n")) return;
  const std::lock_guard lock(shared.mutex);
  shared.guests.insert(asked->substr(blank + 1));
  shared.changed.notify_all();
}

void serve(const std::shared_ptr<Shared>& shared, int listener) {
  while (Clock::now() < shared->deadline) {
    const int guest = accept_within(listener, milliseconds_until(shared->deadline));
    if (guest < 0) continue;
    if (shared->guests_now.fetch_add(1) >= most_guests) {
      close(guest);
      --shared->guests_now;
      continue;
    }
    std::thread([shared, guest] {
      serve_guest(*shared, guest);
      --shared->guests_now;
    }).detach();
  }
}

// ---- calling ----------------------------------------------------------------------------------

struct Answer {
  double clock_s = 0;
  std::string address = {};
};

Result<Answer> read_answer(const std::string& line, const std::string& prefix) {
  if (!line.starts_with(prefix))
    return Error{ErrorKind::unavailable, "something else answers at its port", ""};
  const auto rest = line.substr(prefix.size());
  const auto blank = std::min(rest.find(' '), rest.size());
  Answer answer{.clock_s = std::strtod(rest.c_str(), nullptr)};
  if (blank < rest.size() && rest.substr(blank + 1) != "-") answer.address = rest.substr(blank + 1);
  return answer;
}

/// Makes one call. `through`: the address; in the second round that of an interface.
Result<Answer> talk(const Shared& shared, const std::string& through, int port, PeerCall& call) {
  const int socket = connect_to(through, port);
  if (socket < 0) return Error{ErrorKind::unavailable, std::strerror(errno), ""};
  // A foreign service on the first port must not use up the time for the others.
  TimedLine line(socket, std::min(left_of(shared), greeting_limit));
  const auto& plan = shared.plan;
  const auto prefix = prefix_of(plan);
  const auto nonce = new_nonce();
  const auto question = fmt::format("{}{} {}", prefix, nonce, plan.hosts[plan.own]);
  const double clock = unix_seconds();
  const auto begin = Clock::now();
  if (!line.say(seal(plan.secret, "call", "", question)))
    return Error{ErrorKind::unavailable, "it closed the connection", ""};
  const auto heard = line.hear();
  const std::chrono::duration<double> took = Clock::now() - begin;
  if (heard.empty()) return Error{ErrorKind::timeout, "connected, but no answer came", ""};
  auto answer = read_answer(unseal(plan.secret, "reply", nonce, heard).value_or(""), prefix);
  if (!answer) return answer;
  call.round_trip_ms = took.count() * 1e3;
  call.ahead_s = answer->clock_s - clock - took.count() / 2;
  if (shared.plan.address.empty() || !answer->address.empty()) {
    line.wait_at_most(left_of(shared));
    const auto start = Clock::now();
    if (!line.say(std::string(parcel_bytes, 'x')) || line.hear() != "done")
      return Error{
          ErrorKind::timeout,
          "a short message arrived, but 1 MiB did not: check that both ends have the same MTU", ""};
    const std::chrono::duration<double> sent = Clock::now() - start;
    call.mb_per_s = static_cast<double>(parcel_bytes) / 1e6 / std::max(1e-9, sent.count());
  }
  return answer;
}

void try_to_call(const Shared& shared, PeerCall& call) {
  for (const int port : exchange_ports(shared.plan.mark, call.host)) {
    if (Clock::now() >= shared.deadline) return;
    auto answer = talk(shared, call.host, port, call);
    if (answer && !answer->address.empty()) {
      const auto address = answer->address;
      answer = talk(shared, address, port, call);
      if (!answer) answer = Error{ErrorKind::unavailable, address + ": " + answer.error().what, ""};
    }
    call.reached = static_cast<bool>(answer);
    call.why = answer ? "" : answer.error().what;
    if (answer) return;
  }
}

/// Retries: the peer may not have started yet.
void call_peer(const std::shared_ptr<Shared>& shared, std::size_t index, const std::string& host) {
  PeerCall call{.host = host};
  do {
    try_to_call(*shared, call);
    {
      const std::lock_guard lock(shared->mutex);
      shared->calls[index] = call;
      shared->called[index] = call.reached;
      shared->changed.notify_all();
    }
    if (!call.reached) std::this_thread::sleep_for(milliseconds(20));
  } while (!call.reached && Clock::now() < shared->deadline);
}

int listen_at_one_of(const std::vector<int>& ports) {
  for (const int port : ports)
    if (const int socket = listen_on(port); socket >= 0) return socket;
  return -1;
}

}  // namespace

std::vector<std::size_t> peers_of(std::size_t own, std::size_t count) {
  std::vector<std::size_t> peers;
  for (const auto distance : distances) {
    const auto peer = count == 0 ? own : (own + distance) % count;
    if (peer != own && std::ranges::find(peers, peer) == peers.end()) peers.push_back(peer);
  }
  return peers;
}

std::vector<int> exchange_ports(const std::string& mark, const std::string& host) {
  constexpr std::uint64_t first = 20000;
  constexpr std::uint64_t count = 12000;
  constexpr std::uint64_t stride = 2503;
  const std::uint64_t hash = stable_hash(fmt::format("{} {}", mark, host));
  std::vector<int> ports;
  for (std::uint64_t i = 0; i < 4; ++i)
    ports.push_back(static_cast<int>(first + (hash % count + i * stride) % count));
  return ports;
}

Result<std::vector<PeerCall>> exchange_with_peers(const ExchangePlan& plan) {
  auto shared = std::make_shared<Shared>();
  shared->plan = plan;
  shared->deadline = Clock::now() + plan.patience;
  shared->ports = exchange_ports(plan.mark, plan.hosts[plan.own]);
  const int listener = listen_at_one_of(shared->ports);
  if (listener < 0)
    return Error{ErrorKind::unavailable, "no port to listen on: " + last_error(), ""};
  const auto peers = peers_of(plan.own, plan.hosts.size());
  std::set<std::string> guests;
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    const auto theirs = peers_of(i, plan.hosts.size());
    if (std::ranges::find(theirs, plan.own) != theirs.end()) guests.insert(plan.hosts[i]);
  }
  shared->called.resize(peers.size());
  for (const auto peer : peers)
    shared->calls.push_back({.host = plan.hosts[peer], .why = "the call took too long"});
  std::thread([shared, listener] { serve(shared, listener); }).detach();
  for (std::size_t i = 0; i < peers.size(); ++i)
    std::thread([shared, i, host = plan.hosts[peers[i]]] { call_peer(shared, i, host); }).detach();

  std::unique_lock lock(shared->mutex);
  const auto all_have_called = [&] {
    return std::ranges::find(shared->called, false) == shared->called.end() &&
           std::includes(shared->guests.begin(), shared->guests.end(), guests.begin(),
                         guests.end());
  };
  while (!all_have_called() && Clock::now() < shared->deadline) {
    const auto limit =
        std::min<Clock::duration>(std::chrono::seconds(1), shared->deadline - Clock::now());
    const AwakeClock::Wait wait(limit);
    shared->changed.wait_for(lock, limit, all_have_called);
  }
  return shared->calls;
}

}  // namespace dllaunch
