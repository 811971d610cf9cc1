#include "launcher/links/link_pull.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "support/awake_clock.hpp"
#include "support/network/proof.hpp"
#include "support/network/timed_line.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;
using std::chrono::milliseconds;

constexpr std::string_view greeting = "dllaunch-links ";
constexpr std::size_t chunk_bytes = std::size_t{256} << 10;
constexpr int round_trips = 16;
constexpr int most_guests = 64;
constexpr std::chrono::seconds longest_gift(3);

void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// "NONCE" -> proof; then a byte back for each 'p'; after 'g' data until the guest hangs up.
void serve_guest(const std::string& secret, milliseconds patience, int socket) {
  const TimedLine line(socket, patience);
  send_at_once(socket);
  const auto asked = unseal(secret, "link", "", line.hear());
  if (!asked || !asked->starts_with(greeting)) return;
  if (!line.say(seal(secret, "linked", asked->substr(greeting.size()), greeting))) return;
  char what = 0;
  while (recv(socket, &what, 1, 0) == 1 && what == 'p')
    if (!line.say({&what, 1})) return;
  if (what != 'g') return;
  const std::string chunk(chunk_bytes, 'x');
  const auto until = Clock::now() + longest_gift;
  while (Clock::now() < until && line.say(chunk)) continue;
}

struct Door {
  std::string secret = {};
  milliseconds patience{0};
  int listener = -1;
  std::atomic<int> guests = 0;
};

void serve(const std::shared_ptr<Door>& door) {
  while (true) {
    const int guest = accept_within(door->listener, -1);
    if (guest < 0) continue;
    if (door->guests.fetch_add(1) >= most_guests) {
      close(guest);
      --door->guests;
      continue;
    }
    std::thread([door, guest] {
      serve_guest(door->secret, door->patience, guest);
      --door->guests;
    }).detach();
  }
}

/// A blocking socket; -1 with errno.
int connect_within(const std::vector<SocketAddress>& addresses, milliseconds limit) {
  errno = EHOSTUNREACH;
  const auto deadline = Clock::now() + limit;
  for (const auto& address : addresses) {
    const int made = begin_to_connect(address);
    if (made < 0) continue;
    const int connected = finish_connecting(made, milliseconds(milliseconds_until(deadline)));
    if (connected >= 0) return connected;
  }
  return -1;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// False: nothing has come by then.
bool comes_before(Clock::time_point until, int socket) {
  pollfd one{socket, POLLIN, 0};
  int ready = 0;
  while ((ready = poll_awake(&one, 1, milliseconds_until(until))) < 0 && errno == EINTR) continue;
  return ready > 0;
}

/// Returns the shortest round trip in microseconds; 0: no answer.
double round_trip_us(const TimedLine& line, Clock::time_point until) {
  double best = 0;
  for (int i = 0; i < round_trips; ++i) {
    const auto begin = Clock::now();
    char back = 0;
    const bool came = begin < until && line.say("p") && comes_before(until, line.socket()) &&
                      recv(line.socket(), &back, 1, 0) == 1;
    if (!came) return best;
    const double us = seconds_since(begin) * 1e6;
    best = i == 0 ? us : std::min(best, us);
  }
  return best;
}

/// Returns Gbit/s (1e9 bits); 0: nothing came in time. Counts from a moment when everything that
/// has come was taken, if there is one: what waits for a process without a CPU comes in at once.
double rate_of(const TimedLine& line, milliseconds transfer, Clock::time_point until) {
  std::vector<char> buffer(chunk_bytes);
  const double whole_s = std::chrono::duration<double>(transfer).count();
  std::optional<double> counted_from_s;  // since the first byte
  double bytes = 0;
  std::optional<Clock::time_point> first;
  while (comes_before(until, line.socket())) {
    const auto count = recv(line.socket(), buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return 0;
    // A process that waited for its CPU still takes its time to count.
    if (!first) until = std::max(until, *(first = Clock::now()) + 2 * transfer);
    const double now_s = seconds_since(*first);
    if (counted_from_s) {
      bytes += static_cast<double>(count);
      if (now_s - *counted_from_s >= whole_s * 3 / 4) break;
      continue;
    }
    const bool all_taken = static_cast<std::size_t>(count) < buffer.size();
    if ((now_s >= whole_s / 4 && all_taken) || now_s >= whole_s) counted_from_s = now_s;
  }
  if (!counted_from_s) return 0;
  return bytes * 8 / 1e9 / std::max(1e-6, seconds_since(*first) - *counted_from_s);
}

}  // namespace

Result<int> serve_links(const std::string& secret, milliseconds patience) {
  const auto door = std::make_shared<Door>();
  door->secret = secret;
  door->patience = patience;
  door->listener = listen_on(0);
  if (door->listener < 0)
    return Error{ErrorKind::unavailable, "no port to listen on: " + last_error(), ""};
  const int port = port_of(door->listener);
  std::thread([door] { serve(door); }).detach();
  return port;
}

void pull_data(const std::vector<SocketAddress>& addresses, const std::string& secret,
               const PullLimits& limits, PulledData& data) {
  if (addresses.empty()) {
    data.why = "its name has no address";
    return;
  }
  const auto end = Clock::now() + 2 * limits.transfer + 3 * limits.patience;
  const int socket = connect_within(addresses, limits.patience);
  if (socket < 0) {
    data.why = std::strerror(errno);
    return;
  }
  const TimedLine line(socket, limits.patience);
  send_at_once(socket);
  const auto nonce = new_nonce();
  const auto asked = line.say(seal(secret, "link", "", std::string(greeting) + nonce));
  if (!asked || !unseal(secret, "linked", nonce, line.hear())) {
    data.why = "connected, but no answer came";
    return;
  }
  data.us = round_trip_us(line, std::min(end, Clock::now() + limits.patience));
  const auto until = std::min(end, Clock::now() + 2 * limits.transfer + limits.patience);
  data.gbit_per_s = data.us > 0 && line.say("g") ? rate_of(line, limits.transfer, until) : 0;
  if (data.gbit_per_s <= 0) data.why = "a short message arrived, but data did not";
}

}  // namespace dllaunch
