#include "runtime/communicators/tcp/links.hpp"

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "support/awake_clock.hpp"
#include "support/fatal.hpp"
#include "support/network/proof.hpp"
#include "support/network/sockets.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;

// What an event belongs to.
constexpr std::uint64_t entrance_key = ~std::uint64_t{0};
std::uint64_t conversation_key(std::size_t place) {
  return std::uint64_t{place} << 1;
}
std::uint64_t call_key(std::size_t place) {
  return conversation_key(place) | 1;
}

constexpr std::chrono::milliseconds pause_between_calls{100};
constexpr int most_dropped = 3;               // calls to a preferred address
constexpr std::size_t longest_answer = 1024;  // to a hello

void set_option(int socket, int level, int name, int value) {
  ::setsockopt(socket, level, name, &value, sizeof value);
}

constexpr int looks = 30;  // within the patience

/// Messages leave at once, and the kernel notices that the host of an idle connection has gone. Not
/// by TCP_USER_TIMEOUT: that ends connections to a rank that has only stopped reading.
void prepare(int socket, std::chrono::seconds patience) {
  const int seconds = static_cast<int>(patience.count());
  const int probe_seconds = std::max(1, seconds / 10);
  const int probes = seconds / probe_seconds - 1;
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, probe_seconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, probe_seconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, probes);
}

int error_of(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

bool say(int socket, std::string_view line) {
  return ::send(socket, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(line.size());
}

}  // namespace

bool Links::Link::is_unheard() const {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  return call && ::getsockopt(call.get(), IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
         info.tcpi_state == TCP_SYN_SENT;
}

Links::Links(const MeetingPlan& plan, Met met, std::chrono::seconds silence,
             std::chrono::seconds preferred)
    : rank_(plan.rank),
      secret_(plan.secret),
      silence_patience_(silence),
      preferred_patience_(preferred),
      entrance_(std::move(met.entrance)),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      warn_(plan.warn),
      connections_(met.table.connections),
      all_(std::move(met.table.ranks)),
      links_(all_.size() * static_cast<std::size_t>(connections_)),
      last_look_(Clock::now()) {
  watch_for(entrance_->descriptor(), EPOLL_CTL_ADD, EPOLLIN, entrance_key);
  for (std::size_t each = 0; each < met.sockets.size(); ++each) {
    if (met.sockets[each])
      connect(place_of(static_cast<int>(each), 0), std::move(met.sockets[each]));
  }
}

/// A collective sends its blocks under tags that grow by a constant: multiples of the golden ratio
/// spread evenly, whatever the constant (Knuth, The Art of Computer Programming, vol. 3, 6.4).
Links::Place Links::place_of(int rank, const MessageName& name) const {
  if (name.bytes <= Conversation::most_unasked_bytes) return place_of(rank, 0);
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
  const std::uint64_t mixed = name.tag * golden >> 32;
  return place_of(rank, static_cast<int>(mixed * static_cast<std::uint64_t>(connections_) >> 32));
}

Links::Link& Links::link(Place place) {
  auto& link = links_[place];
  if (!link) link = std::make_unique<Link>();
  return *link;
}

void Links::give_up(Place place, const std::string& why) const {
  die("messages between ranks", fmt::format("the connection to rank {} on {} has failed: {}",
                                            rank_at(place), where(place).host, why));
}

void Links::watch_for(int socket, int operation, std::uint32_t events, std::uint64_t key) const {
  epoll_event event{.events = events, .data = {.u64 = key}};
  if (::epoll_ctl(events_.get(), operation, socket, &event) != 0) {
    die("epoll_ctl", std::strerror(errno));
  }
}

// ---- messages

void Links::send(int to, const MessageName& name, const std::byte* data, Receipt receipt) {
  if (to == rank_) return to_self(name, data, receipt);
  const Place place = place_of(to, name);
  link(place).conversation.send(name, data, receipt);
  start(place);
}

void Links::receive(int from, const MessageName& name, std::byte* data, Receipt receipt) {
  if (from == rank_) return take_from_self(name, data, receipt);
  const Place place = place_of(from, name);
  link(place).conversation.receive(name, data, receipt);
  start(place);
}

/// A new message is due: sends it at once where that is possible.
void Links::start(Place place) {
  Link& to = link(place);
  if (!to.ended.empty()) {
    // What has come before the end is still there to be received.
    if (to.conversation.outstanding() > 0) give_up(place, to.ended);
    return;
  }
  if (to.conversation.is_connected()) return serve(place, /*readable=*/false);
  const bool is_retried = std::ranges::find(retries_, place, &Retry::place) != retries_.end();
  if (!to.call && !is_retried) call(place);
}

void Links::to_self(const MessageName& name, const std::byte* data, Receipt receipt) {
  const auto wish = std::ranges::find(wishes_, name, &Wish::name);
  if (wish == wishes_.end()) {
    notes_.push_back({name, {data, data + name.bytes}});
  } else {
    std::copy_n(data, name.bytes, wish->data);
    wish->receipt.give();
    wishes_.erase(wish);
  }
  receipt.give();
}

void Links::take_from_self(const MessageName& name, std::byte* data, Receipt receipt) {
  const auto note = std::ranges::find(notes_, name, &Note::name);
  if (note == notes_.end()) return wishes_.push_back({name, data, receipt});
  std::ranges::copy(note->bytes, data);
  notes_.erase(note);
  receipt.give();
}

// ---- progress

void Links::progress(std::chrono::milliseconds patience) {
  std::array<epoll_event, 32> events;
  const int ready = ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(patience.count()));
  for (int i = 0; i < ready; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    serve_event(event.data.u64, (event.events & ~std::uint32_t{EPOLLOUT}) != 0);
  }
  if (!retries_.empty()) call_again();
  if (!unheard_.empty()) leave_silent_addresses();
  constexpr unsigned calls_per_clock = 256;
  if (ready <= 0 && (patience.count() > 0 || ++quiet_ % calls_per_clock == 0)) look_for_silence();
}

/// For data that is under way the kernel keeps trying for a quarter of an hour.
void Links::look_for_silence() {
  const auto now = Clock::now();
  const auto since = now - last_look_;
  if (since < std::chrono::milliseconds(silence_patience_) / looks) return;
  last_look_ = now;
  for (Place place = 0; place < links_.size(); ++place) {
    tcp_info info{};
    socklen_t bytes = sizeof info;
    if (!links_[place] || !link(place).conversation.is_connected() ||
        ::getsockopt(link(place).conversation.socket(), IPPROTO_TCP, TCP_INFO, &info, &bytes) !=
            0) {
      continue;
    }
    const bool owes = info.tcpi_unacked > 0 || info.tcpi_probes > 0;
    const bool silent = std::chrono::milliseconds(info.tcpi_last_ack_recv) >= since;
    int& silent_looks = link(place).silent_looks;
    silent_looks = owes && silent ? silent_looks + 1 : 0;
    if (silent_looks >= looks) {
      give_up(place, fmt::format("no sign of its host for {} s", silence_patience_.count()));
    }
  }
}

void Links::serve_event(std::uint64_t key, bool readable) {
  if (key == entrance_key) {
    for (Guest& guest : entrance_->attend()) admit(std::move(guest));
    return;
  }
  const Place place = key >> 1;
  if (key == conversation_key(place)) return serve(place, readable);
  // An earlier event of the same round may have ended the call.
  if (link(place).call) continue_call(place);
}

void Links::serve(Place place, bool readable) {
  Link& peer = link(place);
  Conversation& conversation = peer.conversation;
  if (!conversation.is_connected()) return;
  // Reading first: what a rank sent before it ended still counts.
  std::string ended = readable ? conversation.read() : "";
  if (ended.empty() && conversation.wants_to_write()) ended = conversation.write();
  if (ended.empty()) return watch(place);
  if (conversation.outstanding() > 0) give_up(place, ended);
  conversation.disconnect();
  peer.ended = std::move(ended);
}

void Links::watch(Place place) {
  Link& peer = link(place);
  const std::uint32_t events = (peer.conversation.wants_to_read() ? EPOLLIN : 0u) |
                               (peer.conversation.wants_to_write() ? EPOLLOUT : 0u);
  if (events == peer.events) return;
  peer.events = events;
  watch_for(peer.conversation.socket(), EPOLL_CTL_MOD, events, conversation_key(place));
}

// ---- connections

void Links::connect(Place place, FileDescriptor socket) {
  Link& peer = link(place);
  // Only now: a rank that has ended answers nowhere, and that is another message.
  if (!peer.left.empty() && warn_ && !std::exchange(has_warned_, true)) {
    warn_(
        fmt::format("rank {} on {} cannot be reached at its network card's address: {}; its "
                    "messages take the network over which the ranks met",
                    rank_at(place), where(place).host, peer.left));
  }
  prepare(socket.get(), silence_patience_);
  peer.events = EPOLLIN;
  watch_for(socket.get(), EPOLL_CTL_ADD, EPOLLIN, conversation_key(place));
  peer.conversation.connect(std::move(socket));
  serve(place, /*readable=*/false);
}

void Links::call(Place place) {
  Link& to = link(place);
  const Whereabouts& there = where(place);
  to.preferred = has_preferred() && !there.preferred.empty();
  const auto& address = to.preferred ? there.preferred : there.address;
  const auto addresses = addresses_of(address, there.port);
  to.call = FileDescriptor(addresses.empty() ? -1 : begin_to_connect(addresses.front()));
  if (!to.call) {
    const std::string why = addresses.empty() ? "no address" : last_error();
    if (to.preferred) return call_elsewhere(place, why);
    give_up(place, fmt::format("{} port {}: {}", address, there.port, why));
  }
  if (to.preferred) {
    to.until = Clock::now() + preferred_patience_;
    unheard_.push_back(place);
  }
  prepare(to.call.get(), silence_patience_);
  to.hello_said = false;
  to.answer.clear();
  to.nonce = new_nonce();
  watch_for(to.call.get(), EPOLL_CTL_ADD, EPOLLOUT, call_key(place));
}

void Links::continue_call(Place place) {
  Link& to = link(place);
  if (to.hello_said) return hear_answer(place);
  const int error = error_of(to.call.get());
  if (error != 0 && to.is_settled()) return static_cast<void>(to.call = {});
  if (error != 0 && error != ECONNRESET && to.preferred) {
    return call_elsewhere(place, std::strerror(error));
  }
  if (error != 0 && error != ECONNRESET) {
    give_up(place, fmt::format("{} port {}: {}", where(place).address, where(place).port,
                               std::strerror(error)));
  }
  const Hello hello{.rank = rank_,
                    .to = rank_at(place),
                    .connection = number_at(place),
                    .size = size(),
                    .port = entrance_->port(),
                    .nonce = to.nonce,
                    .host = own().host};
  to.hello_said = error == 0 && say(to.call.get(), to_line(hello, secret_));
  if (!to.hello_said) return call_after_drop(place);
  watch_for(to.call.get(), EPOLL_CTL_MOD, EPOLLIN, call_key(place));
}

void Links::call_later(Place place) {
  link(place).call = FileDescriptor();
  retries_.push_back({place, Clock::now() + pause_between_calls});
}

/// The other rank may have too many visitors. What closes every call at a preferred address is
/// another process.
void Links::call_after_drop(Place place) {
  Link& to = link(place);
  if (to.preferred && ++to.dropped >= most_dropped) {
    return call_elsewhere(place, "what answers closes the connection");
  }
  call_later(place);
}

/// The rank cannot be reached at its preferred address: all calls to it go to where the ranks have
/// met.
void Links::call_elsewhere(Place place, std::string why) {
  all_[static_cast<std::size_t>(rank_at(place))].preferred.clear();
  link(place).left = std::move(why);
  call(place);
}

void Links::leave_silent_addresses() {
  const auto now = Clock::now();
  for (const Place place : std::exchange(unheard_, {})) {
    Link& to = link(place);
    // An event is to come for a call that has been heard.
    if (!to.preferred || to.hello_said || !to.is_unheard()) continue;
    if (to.is_settled()) {
      to.call = FileDescriptor();
    } else if (now >= to.until) {
      call_elsewhere(place, fmt::format("no answer for {} s", preferred_patience_.count()));
    } else {
      unheard_.push_back(place);
    }
  }
}

/// The other rank answers when its thread comes here: that may take as long as its computation.
void Links::hear_answer(Place place) {
  Link& to = link(place);
  const LineState state = read_line(to.call.get(), to.answer);
  if (state == LineState::incomplete && to.answer.size() <= longest_answer) return;
  // This rank has answered the other's call meanwhile. It has still said its hello: to the other
  // rank's entrance it was no stranger.
  if (to.is_settled()) return static_cast<void>(to.call = {});
  const auto welcome = state == LineState::complete ? parse_welcome(to.answer, secret_, to.nonce)
                                                    : std::optional<Welcome>();
  if (welcome == Welcome::yes) {
    watch_for(to.call.get(), EPOLL_CTL_DEL, 0, 0);
    return connect(place, std::move(to.call));
  }
  if (welcome == Welcome::crossed) return call_later(place);
  call_after_drop(place);
}

void Links::call_again() {
  const auto now = Clock::now();
  const auto is_due = [&](const Retry& retry) { return now >= retry.at; };
  std::vector<Retry> due;
  std::ranges::copy_if(retries_, std::back_inserter(due), is_due);
  std::erase_if(retries_, is_due);
  for (const Retry& retry : due) {
    const Link& to = link(retry.place);
    if (!to.is_settled() && !to.call) call(retry.place);
  }
}

void Links::admit(Guest guest) {
  if (guest.hello.connection >= connections_) return;
  const Place place = place_of(guest.hello.rank, guest.hello.connection);
  Link& from = link(place);
  if (from.is_settled()) return;
  // Its host does not know of a call there, and its preferred address may not lead to it.
  const bool dropped = from.preferred && !from.hello_said && from.is_unheard();
  if (dropped) from.call = FileDescriptor();
  const bool crossed = from.call && rank_ < guest.hello.rank;
  const Welcome welcome = crossed ? Welcome::crossed : Welcome::yes;
  const bool said = say(guest.socket.get(), to_line(welcome, secret_, guest.hello.nonce));
  if (said && !crossed) connect(place, std::move(guest.socket));
  if (!said && dropped) call_later(place);
}

}  // namespace dllaunch
