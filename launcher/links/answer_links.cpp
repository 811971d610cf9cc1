#include "launcher/links/answer_links.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "launcher/links/link_messages.hpp"
#include "launcher/links/link_pull.hpp"
#include "launcher/preflight/request.hpp"
#include "support/awake_clock.hpp"
#include "support/network/interfaces.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;

/// Lines of standard input.
class Orders {
 public:
  explicit Orders(Clock::time_point deadline) : deadline_(deadline) {}
  /// nullopt: no more of them.
  std::optional<std::string> next() {
    while (true) {
      if (const auto end = text_.find('\n'); end != std::string::npos) {
        auto line = text_.substr(0, end);
        text_.erase(0, end + 1);
        return line;
      }
      pollfd one{STDIN_FILENO, POLLIN, 0};
      const int ready = poll_awake(&one, 1, milliseconds_until(deadline_));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return std::nullopt;
      std::array<char, 16384> piece{};
      const auto count = read(STDIN_FILENO, piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::nullopt;
      text_.append(piece.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  Clock::time_point deadline_;
  std::string text_ = {};
};

/// At once: the answer is waited for.
void say(System& system, const LinkReply& reply) {
  system.print(to_line(reply));
  std::fflush(stdout);
}

/// The address of the interface that NCCL_SOCKET_IFNAME names; empty if none is named. `name`: of
/// this node.
Result<std::string> wanted_address(System& system, const std::string& name) {
  const auto wanted = system.environment("NCCL_SOCKET_IFNAME").value_or("");
  if (wanted.empty()) return std::string();
  const auto meant = interfaces_meant(wanted, interfaces_here());
  if (!meant.empty()) return meant.front().address;
  return Error{
      ErrorKind::unavailable,
      fmt::format("on {} NCCL_SOCKET_IFNAME={} matches no interface that is up", name, wanted), ""};
}

}  // namespace

Result<Ok> answer_links(System& system, const std::string& task_text) {
  const auto task = link_task_from(task_text);
  if (!task) return task.error();
  const auto name = system.environment("SLURMD_NODENAME").value_or(system.host_name());
  const auto own = std::ranges::find(task->hosts, name);
  if (own == task->hosts.end())
    return Error{ErrorKind::bad_request,
                 fmt::format("this node's name is {}, which is not a node of the job", name), ""};
  const auto host = static_cast<std::size_t>(own - task->hosts.begin());
  const auto passed_on = system.environment(preflight_secret).value_or("");
  const auto secret = passed_on.empty() ? task->mark : passed_on;
  const auto address = wanted_address(system, name);
  if (!address) return address.error();
  const auto port = serve_links(secret);
  if (!port) return port.error();
  say(system, {.host = host, .door = LinkDoor{*address, *port}});

  Orders orders(Clock::now() + std::chrono::duration_cast<std::chrono::milliseconds>(
                                   std::chrono::duration<double>(std::min(task->seconds, 3600.0))));
  std::vector<LinkDoor> doors;
  std::vector<std::vector<SocketAddress>> addresses(task->hosts.size());
  while (const auto line = orders.next()) {
    const auto call = link_call_from(*line, task->hosts.size());
    if (!call) continue;
    if (!call->doors.empty()) doors = call->doors;
    if (doors.empty()) continue;
    for (const auto& pull : call->pulls) {
      if (pull.to != host) continue;
      auto& known = addresses[pull.from];
      const auto& door = doors[pull.from];
      if (known.empty())
        known = addresses_of(
            door.address.empty() ? task->hosts[pull.from] + task->host_suffix : door.address,
            door.port);
      LinkReply reply{.host = host, .order = call->order, .data = {.pull = pull}};
      pull_data(known, secret, {.transfer = std::chrono::milliseconds(call->milliseconds)},
                reply.data);
      say(system, reply);
    }
  }
  return Ok{};
}

}  // namespace dllaunch
