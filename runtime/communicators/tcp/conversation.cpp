#include "runtime/communicators/tcp/conversation.hpp"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace dllaunch {
namespace {

enum FrameKind : std::uint32_t { message = 1, wanted = 2 };

/// A frame's head on the wire, little-endian: kind, group, tag, bytes.
constexpr std::size_t head_bytes = 24;
/// Bytes read or written per call: other connections get their turn.
constexpr std::size_t most_at_once = std::size_t{4} << 20;

template <typename Named>
auto find_name(std::deque<Named>& in, const MessageName& name) {
  return std::ranges::find(in, name, &Named::name);
}

bool is_large(const MessageName& name) {
  return name.bytes > Conversation::most_unasked_bytes;
}

/// Of a message without bytes too.
std::size_t cost_of(const std::vector<std::byte>& early) {
  return early.size() + sizeof(MessageName);
}

bool is_not_now() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

}  // namespace

void Conversation::send(const MessageName& name, const std::byte* data, Receipt receipt) {
  ++outstanding_;
  Letter letter{name, data, receipt};
  if (is_large(name)) {
    const auto asked = std::ranges::find(wanted_, name);
    if (asked == wanted_.end()) return held_.push_back(letter);
    wanted_.erase(asked);
  }
  letters_.push_back(letter);
}

void Conversation::receive(const MessageName& name, std::byte* data, Receipt receipt) {
  ++outstanding_;
  const auto early = find_name(early_, name);
  if (early != early_.end()) {
    std::ranges::copy(early->bytes, data);
    early_bytes_ -= cost_of(early->bytes);
    early_.erase(early);
    return finish(receipt);
  }
  slots_.push_back({name, data, receipt});
  if (is_large(name)) notes_.push_back(name);
}

void Conversation::connect(FileDescriptor socket) {
  socket_ = std::move(socket);
}

void Conversation::finish(const Receipt& receipt) {
  --outstanding_;
  receipt.give();
}

// ---- out

/// Returns false if there is nothing to send.
bool Conversation::next_frame() {
  if (!notes_.empty()) {
    current_ = {.name = notes_.front()};
    head_ = {wanted, current_.name};
    notes_.pop_front();
  } else if (!letters_.empty()) {
    current_ = letters_.front();
    head_ = {message, current_.name};
    letters_.pop_front();
  } else {
    return false;
  }
  written_ = 0;
  writing_ = true;
  return true;
}

std::string Conversation::write() {
  std::size_t budget = most_at_once;
  while (budget > 0 && (writing_ || next_frame())) {
    std::array<std::byte, head_bytes> head;
    std::memcpy(head.data(), &head_.kind, 4);
    std::memcpy(head.data() + 4, &head_.name.group, 4);
    std::memcpy(head.data() + 8, &head_.name.tag, 8);
    std::memcpy(head.data() + 16, &head_.name.bytes, 8);
    const std::size_t body = head_.kind == message ? head_.name.bytes : 0;
    const std::size_t of_head = std::min(written_, head_bytes);
    const std::size_t of_body = written_ - of_head;
    std::array<iovec, 2> parts = {
        {{head.data() + of_head, head_bytes - of_head},
         {const_cast<std::byte*>(current_.data) + of_body, std::min(budget, body - of_body)}}};
    const msghdr text{.msg_name = nullptr,
                      .msg_namelen = 0,
                      .msg_iov = parts.data(),
                      .msg_iovlen = parts.size(),
                      .msg_control = nullptr,
                      .msg_controllen = 0,
                      .msg_flags = 0};
    const ssize_t sent = ::sendmsg(socket_.get(), &text, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && is_not_now()) return "";
    if (sent < 0) return std::strerror(errno);
    written_ += static_cast<std::size_t>(sent);
    budget -= std::min(budget, static_cast<std::size_t>(sent));
    if (written_ < head_bytes + body) continue;
    writing_ = false;
    if (head_.kind == message) finish(current_.receipt);
  }
  return "";
}

// ---- in

std::string Conversation::read() {
  std::size_t budget = most_at_once;
  while (budget > 0 && wants_to_read()) {
    // The rest of a message goes to its place. Heads, and what comes with them, go through a
    // buffer, so that a small message takes one call.
    const bool direct = left_ > 0;
    std::byte* const to = direct ? target_ : buffer_.data() + filled_;
    const std::size_t room = direct ? std::min(left_, budget) : buffer_.size() - filled_;
    const ssize_t got = ::recv(socket_.get(), to, room, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && is_not_now()) return "";
    if (got < 0) return std::strerror(errno);
    if (got == 0) return "closed by it";
    const auto bytes = static_cast<std::size_t>(got);
    budget -= std::min(budget, bytes);
    if (direct) {
      target_ += bytes;
      left_ -= bytes;
      if (left_ == 0) end_incoming();
    } else {
      filled_ += bytes;
      if (auto broken = open_frames(); !broken.empty()) return broken;
    }
    if (bytes < room) return "";  // that was all, and another call would only say so
  }
  return "";
}

/// Takes the frames out of the buffer; at its end may be a part of a head, or of a message.
std::string Conversation::open_frames() {
  std::size_t at = 0;
  while (filled_ - at >= head_bytes) {
    Head head;
    std::memcpy(&head.kind, buffer_.data() + at, 4);
    std::memcpy(&head.name.group, buffer_.data() + at + 4, 4);
    std::memcpy(&head.name.tag, buffer_.data() + at + 8, 8);
    std::memcpy(&head.name.bytes, buffer_.data() + at + 16, 8);
    at += head_bytes;
    if (auto broken = begin(head); !broken.empty()) return broken;
    if (!incoming_) continue;
    const std::size_t here = std::min(left_, filled_ - at);
    std::copy_n(buffer_.data() + at, here, target_);
    target_ += here;
    left_ -= here;
    at += here;
    if (left_ > 0) break;
    end_incoming();
  }
  std::copy(buffer_.data() + at, buffer_.data() + filled_, buffer_.data());
  filled_ -= at;
  return "";
}

std::string Conversation::begin(const Head& head) {
  const MessageName& name = head.name;
  if (head.kind == wanted) {
    const auto held = find_name(held_, name);
    if (held == held_.end()) {
      wanted_.push_back(name);
    } else {
      letters_.push_back(*held);
      held_.erase(held);
    }
    return "";
  }
  if (head.kind != message) return fmt::format("it sent a frame of unknown kind {}", head.kind);
  const auto slot = find_name(slots_, name);
  if (slot == slots_.end() && is_large(name)) {
    return fmt::format("it sent {} bytes that no receive asked for", name.bytes);
  }
  incoming_ = true;
  left_ = name.bytes;
  if (slot != slots_.end()) {
    slot_ = *slot;
    slots_.erase(slot);
    target_ = slot_.data;
  } else {
    slot_ = {};
    unexpected_ = {name, std::vector<std::byte>(name.bytes)};
    target_ = unexpected_.bytes.data();
  }
  return "";
}

void Conversation::end_incoming() {
  incoming_ = false;
  if (slot_.receipt.list != nullptr) return finish(slot_.receipt);
  // A receive may have been posted while it came.
  const auto slot = find_name(slots_, unexpected_.name);
  if (slot == slots_.end()) {
    early_bytes_ += cost_of(unexpected_.bytes);
    early_.push_back(std::move(unexpected_));
    return;
  }
  std::ranges::copy(unexpected_.bytes, slot->data);
  const Receipt receipt = slot->receipt;
  slots_.erase(slot);
  finish(receipt);
}

}  // namespace dllaunch
