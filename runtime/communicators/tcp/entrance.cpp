#include "runtime/communicators/tcp/entrance.hpp"

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "support/awake_clock.hpp"
#include "support/network/sockets.hpp"

namespace dllaunch {
namespace {

constexpr std::uint64_t listener_number = 0;
constexpr std::uint64_t rest_number = ~std::uint64_t{0};

}  // namespace

Result<std::unique_ptr<Entrance>> Entrance::open(int port, Keeper keeper) {
  FileDescriptor listener(listen_on(port));
  if (!listener) {
    return Error{
        ErrorKind::unavailable,
        fmt::format("rank {} cannot listen on port {}: {}", keeper.rank, port, last_error()), ""};
  }
  return std::unique_ptr<Entrance>(new Entrance(std::move(listener), std::move(keeper)));
}

Entrance::Entrance(FileDescriptor listener, Keeper keeper)
    : listener_(std::move(listener)),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      rest_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      keeper_(std::move(keeper)),
      port_(port_of(listener_.get())) {
  watch(listener_.get(), listener_number);
  watch(rest_.get(), rest_number);
}

void Entrance::watch(int socket, std::uint64_t number) const {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
  ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket, &event);
}

/// Without descriptors for connections the listener would be ready all the time.
void Entrance::listen(bool on) const {
  constexpr long rest_ns = 100'000'000;
  const itimerspec rest{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = on ? 0 : rest_ns}};
  if (::timerfd_settime(rest_.get(), 0, &rest, nullptr) != 0) return;
  epoll_event event{.events = on ? EPOLLIN : 0u, .data = {.u64 = listener_number}};
  ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
}

std::vector<Guest> Entrance::attend() {
  std::array<epoll_event, most_at_once> events;
  const int ready = ::epoll_wait(events_.get(), events.data(), most_at_once, 0);
  bool came = false;
  for (int i = 0; i < ready; ++i) {
    const std::uint64_t number = events[static_cast<std::size_t>(i)].data.u64;
    const auto visitor = visitors_.find(number);
    if (visitor != visitors_.end()) hear(visitor);
    if (number == rest_number) listen(/*on=*/true);
    came = came || number == listener_number || number == rest_number;
  }
  const auto now = AwakeClock::now();
  while (!visitors_.empty() && now > visitors_.begin()->second.until) refuse_oldest();
  for (int i = 0; came && i < most_at_once; ++i) came = accept_one();
  return std::exchange(guests_, {});
}

/// Returns false if there is nothing to accept.
bool Entrance::accept_one() {
  const int socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) {
    if (errno == EINTR || errno == ECONNABORTED) return true;
    // With EMFILE and its like, strangers must not keep ranks out.
    if (errno == EAGAIN) return false;
    const bool has_visitor = !visitors_.empty();
    if (has_visitor)
      refuse(visitors_.begin());
    else
      listen(/*on=*/false);
    return has_visitor;
  }
  const auto until = AwakeClock::now() + hello_patience;
  const auto [at, is_new] = visitors_.emplace(++came_, Visitor{FileDescriptor(socket), until});
  watch(socket, came_);
  hear(at);
  const int of_ranks = keeper_.size * keeper_.connections;
  if (visitors_.size() <= static_cast<std::size_t>(of_ranks) + spare_visitors) return true;
  refuse_oldest();
  return true;
}

/// Unless it is a rank, whose hello has not been read yet under load.
void Entrance::refuse_oldest() {
  const std::uint64_t oldest = visitors_.begin()->first;
  hear(visitors_.begin());
  if (!visitors_.empty() && visitors_.begin()->first == oldest) refuse(visitors_.begin());
}

/// The visitor leaves the list when it has said its hello, or is refused.
void Entrance::hear(Visitors::iterator at) {
  Visitor& visitor = at->second;
  std::array<char, longest_hello> piece;
  while (true) {
    const ssize_t got = ::recv(visitor.socket.get(), piece.data(), piece.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return refuse(at);
    visitor.said.append(piece.data(), static_cast<std::size_t>(got));
    const auto end = visitor.said.find('\n');
    if (end == std::string::npos && visitor.said.size() < longest_hello) continue;
    // A rank says nothing more before its answer.
    if (end + 1 != visitor.said.size()) return refuse(at);
    visitor.said.pop_back();
    auto hello = parse_hello(visitor.said, keeper_.secret);
    const bool fits = hello && hello->to == keeper_.rank && hello->size == keeper_.size &&
                      hello->rank != keeper_.rank;
    if (!fits) return refuse(at);
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, visitor.socket.get(), nullptr);
    guests_.push_back({std::move(visitor.socket), *std::move(hello)});
    visitors_.erase(at);
    return;
  }
}

void Entrance::refuse(Visitors::iterator at) {
  if (++refused_ == 1 && keeper_.warn) {
    keeper_.warn(
        fmt::format("an unknown process connected to rank {} from {} and was refused; "
                    "further ones are only counted",
                    keeper_.rank, peer_of(at->second.socket.get())));
  }
  visitors_.erase(at);
}

}  // namespace dllaunch
