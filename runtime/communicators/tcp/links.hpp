// The connections of a rank to all others, several to each: opened at first use, served together.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/communicators/tcp/conversation.hpp"
#include "runtime/communicators/tcp/entrance.hpp"
#include "runtime/communicators/tcp/meeting.hpp"
#include "support/awake_clock.hpp"

namespace dllaunch {

/// Ranks are those of the job. A rank that has died, or a network that is cut, is fatal (die()) as
/// soon as a message is due over it. One thread at a time.
class Links {
 public:
  /// After that time without a sign of life from a host, its connections have failed. Its kernel
  /// gives signs: a rank may be stopped, or compute, for as long as it likes.
  static constexpr std::chrono::seconds silence_patience{300};

  /// A preferred address that the network does not reach within that time is left. The kernel tries
  /// after 0, 1, 3 and 7 s.
  static constexpr std::chrono::seconds preferred_patience{8};

  /// `silence`, `preferred`: in place of the constants, for tests; silence of at least 3 s.
  Links(const MeetingPlan& plan, Met met, std::chrono::seconds silence = silence_patience,
        std::chrono::seconds preferred = preferred_patience);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(all_.size()); }
  int connections() const { return connections_; }  // between two ranks
  bool has_preferred() const { return !own().preferred.empty(); }

  void send(int to, const MessageName& name, const std::byte* data, Receipt receipt);
  void receive(int from, const MessageName& name, std::byte* data, Receipt receipt);

  /// Moves messages. Waits up to `patience` until something moves.
  void progress(std::chrono::milliseconds patience);

  /// The number of a new group. Groups that share a rank differ in it: callers agree on the largest
  /// of their ranks' and call take_group() with it.
  std::uint32_t next_group() const { return next_group_; }
  void take_group(std::uint32_t group) { next_group_ = group + 1; }

  /// Connections of strangers that were refused.
  long refused() const { return entrance_->refused(); }

 private:
  /// One of the connections to another rank.
  struct Link {
    Conversation conversation = {};
    FileDescriptor call = {};           // this rank's, until it is answered
    bool hello_said = false;            // in the call
    bool preferred = false;             // the call goes to the rank's preferred address,
    AwakeClock::time_point until = {};  // which must answer by then
    std::string nonce = {};             // of the call
    std::string answer = {};            // so far
    std::uint32_t events = 0;           // of the conversation, that the kernel watches for
    std::string ended = {};             // why; empty: it has not
    int dropped = 0;        // calls to the preferred address that it has taken and closed
    std::string left = {};  // why the preferred address has been left
    int silent_looks = 0;   // in a row, at which the host owed an answer and had given none

    /// Calls have nothing to add: there is a connection, or there has been one.
    bool is_settled() const { return conversation.is_connected() || !ended.empty(); }
    /// The network has not brought the call to the other host.
    bool is_unheard() const;
  };
  /// A place in links_: the connections to rank 0, then those to rank 1, and so on.
  using Place = std::size_t;
  /// A call that was dropped before its answer, as under a flood of strangers, or has crossed a
  /// call of the other rank, which is to be used. If the other rank has ended instead, the next
  /// call says so.
  struct Retry {
    Place place = 0;
    AwakeClock::time_point at;
  };

  Place place_of(int rank, int number) const {
    return static_cast<Place>(rank) * static_cast<Place>(connections_) + static_cast<Place>(number);
  }
  /// Both ends choose alike, by the message's name, so that messages of one name stay in order.
  Place place_of(int rank, const MessageName& name) const;
  int rank_at(Place place) const { return static_cast<int>(place) / connections_; }
  int number_at(Place place) const { return static_cast<int>(place) % connections_; }
  const Whereabouts& own() const { return all_[static_cast<std::size_t>(rank_)]; }
  const Whereabouts& where(Place place) const {
    return all_[static_cast<std::size_t>(rank_at(place))];
  }
  Link& link(Place place);
  void to_self(const MessageName& name, const std::byte* data, Receipt receipt);
  void take_from_self(const MessageName& name, std::byte* data, Receipt receipt);
  void start(Place place);
  void call(Place place);
  void continue_call(Place place);
  void hear_answer(Place place);
  void admit(Guest guest);
  void connect(Place place, FileDescriptor socket);
  void serve(Place place, bool readable);
  void serve_event(std::uint64_t key, bool readable);
  void watch(Place place);
  void watch_for(int socket, int operation, std::uint32_t events, std::uint64_t key) const;
  void call_later(Place place);
  void call_elsewhere(Place place, std::string why);
  void call_after_drop(Place place);
  void call_again();
  void leave_silent_addresses();
  void look_for_silence();
  [[noreturn]] void give_up(Place place, const std::string& why) const;

  int rank_;
  std::string secret_;
  std::chrono::seconds silence_patience_;
  std::chrono::seconds preferred_patience_;
  std::unique_ptr<Entrance> entrance_;
  FileDescriptor events_;
  Say warn_;
  int connections_;                           // between two ranks
  bool has_warned_ = false;                   // of a preferred address that was left
  std::vector<Whereabouts> all_;              // by rank; own included
  std::vector<std::unique_ptr<Link>> links_;  // null: never used
  std::vector<Retry> retries_;
  std::vector<Place> unheard_;  // calls to preferred addresses
  AwakeClock::time_point last_look_;
  unsigned quiet_ = 0;  // calls of progress() in which nothing moved
  std::uint32_t next_group_ = 1;
  // Messages of this rank to itself.
  struct Note {
    MessageName name = {};
    std::vector<std::byte> bytes = {};
  };
  struct Wish {
    MessageName name = {};
    std::byte* data = nullptr;
    Receipt receipt = {};
  };
  std::vector<Note> notes_;
  std::vector<Wish> wishes_;
};

}  // namespace dllaunch
