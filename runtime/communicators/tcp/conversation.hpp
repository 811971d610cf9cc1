// The messages between this rank and one other that take one of their connections.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "support/shared_memory.hpp"

namespace dllaunch {

/// Which messages belong together: a receive takes the oldest message with the same name. Messages
/// of one group and tag that differ in size may overtake each other.
struct MessageName {
  std::uint32_t group = 0;
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;

  bool operator==(const MessageName&) const = default;
};

/// What to do when a message has been sent or received: add `exchange` to `list`.
struct Receipt {
  std::vector<std::int64_t>* list = nullptr;  // must outlive the message
  std::int64_t exchange = 0;

  void give() const {
    if (list != nullptr) list->push_back(exchange);
  }
};

/// Messages go from memory to memory: a large one is sent when its receiver has said where it
/// wants it, which usually happens before. A small one is sent at once; if no receive is posted for
/// it, it waits in memory here, up to a limit, and then in the socket. No call waits.
///
/// A connection carries frames: a head, then the message's bytes.
class Conversation {
 public:
  static constexpr std::size_t most_unasked_bytes = std::size_t{1} << 16;  // of a small message
  static constexpr std::size_t most_early_bytes = std::size_t{64} << 20;   // that wait in memory

  void send(const MessageName& name, const std::byte* data, Receipt receipt);
  void receive(const MessageName& name, std::byte* data, Receipt receipt);

  /// Takes the connection, non-blocking. Until then messages wait.
  void connect(FileDescriptor socket);
  void disconnect() { socket_ = FileDescriptor(); }
  bool is_connected() const { return static_cast<bool>(socket_); }
  int socket() const { return socket_.get(); }

  /// Reads, or writes, what the socket allows now, for a moment at most. Returns why the connection
  /// has ended; empty: it has not.
  std::string read();
  std::string write();

  bool wants_to_read() const { return early_bytes_ < most_early_bytes; }
  bool wants_to_write() const { return writing_ || !notes_.empty() || !letters_.empty(); }
  /// Messages that the caller has been promised and not given.
  int outstanding() const { return outstanding_; }

 private:
  struct Head {
    std::uint32_t kind = 0;
    MessageName name = {};
  };
  struct Letter {
    MessageName name = {};
    const std::byte* data = nullptr;
    Receipt receipt = {};
  };
  struct Slot {
    MessageName name = {};
    std::byte* data = nullptr;
    Receipt receipt = {};
  };
  struct Early {
    MessageName name = {};
    std::vector<std::byte> bytes = {};
  };

  std::string open_frames();
  std::string begin(const Head& head);
  void end_incoming();
  void finish(const Receipt& receipt);
  bool next_frame();

  FileDescriptor socket_;
  int outstanding_ = 0;

  // To be sent.
  std::deque<Letter> letters_;       // in this order
  std::deque<Letter> held_;          // large, and not wanted yet
  std::deque<MessageName> notes_;    // "this one is wanted": sent before the next letter
  std::vector<MessageName> wanted_;  // by the other rank, and not sent by this one yet
  bool writing_ = false;             // a frame is under way:
  Letter current_ = {};              // its letter; no data: a note
  Head head_ = {};
  std::size_t written_ = 0;  // bytes of head and data

  // To be received.
  std::deque<Slot> slots_;
  std::deque<Early> early_;
  std::size_t early_bytes_ = 0;
  std::byte* target_ = nullptr;  // of the message under way
  std::size_t left_ = 0;         // bytes of it still to come
  bool incoming_ = false;        // a message is under way:
  Slot slot_ = {};               // its receive; without a receipt it goes to `early_`
  Early unexpected_ = {};
  std::array<std::byte, 8192> buffer_;  // heads, and small messages with them
  std::size_t filled_ = 0;
};

}  // namespace dllaunch
