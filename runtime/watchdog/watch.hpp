// One rank's watchdog, a tick at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/watchdog/end_of_node.hpp"
#include "runtime/watchdog/node_watch.hpp"
#include "runtime/watchdog/roll_call.hpp"
#include "runtime/watchdog/roster.hpp"
#include "runtime/watchdog/side_channel.hpp"
#include "runtime/watchdog/stall_reporter.hpp"
#include "runtime/watchdog/stall_text.hpp"
#include "runtime/watchdog/watchdog.hpp"

namespace dllaunch {

class Watch {
 public:
  Watch(WatchdogOptions options, Acquaintance acquaintance, std::optional<SideChannel> channel);

  RankRecord& record() const { return board_.own(); }
  const NodeWatch& node() const { return node_; }
  /// Readable when a message arrives; -1: none.
  int channel_fd() const { return channel_ ? channel_->fd() : -1; }

  /// May end the process.
  void tick(std::int64_t now_ns);
  /// The last tick: this rank leaves.
  void finish(std::int64_t now_ns);
  /// Whether the next tick should come soon, because a rank waits for an answer.
  bool is_busy() const { return !questions_.empty() || gathering_ || end_.has_begun(); }

 private:
  struct Question {
    int rank = 0;
    int asked_by = 0;
  };
  /// A verdict that is not yet a line: ranks are still being asked what they do.
  struct Gathering {
    StallContext scene = {};
    std::vector<int> asked = {};
    std::int64_t deadline_ns = 0;
  };

  void note_own_sleep(std::int64_t now_ns);
  void receive(std::int64_t now_ns);
  void take(const WatchdogMessage& message, std::int64_t now_ns);
  void send(const WatchdogMessage& message);
  void send_all(const std::vector<WatchdogMessage>& messages);
  void answer_questions(std::int64_t now_ns);
  void note_death(std::int64_t now_ns);
  void tell_deaths(const std::vector<RankState>& own);
  std::vector<RankState> everyone(std::int64_t now_ns, const std::vector<RankState>& own) const;
  Wait known_wait() const;
  void judge_stall(std::int64_t now_ns, const std::vector<RankState>& own);
  void gather(const Verdict& verdict, std::vector<RankState> ranks, std::int64_t now_ns);
  void finish_gathering(std::int64_t now_ns);
  void tell_over(std::int64_t now_ns);
  void tell(StallState state, const Verdict& verdict, std::string line);
  void consider_giving_up(std::int64_t now_ns, const std::vector<RankState>& own);
  void give_up(const Verdict& verdict, const std::vector<RankState>& ranks, std::int64_t now_ns);
  const std::string& host_of(int rank) const;

  WatchdogOptions options_;
  std::int64_t stall_ns_;
  std::int64_t abort_ns_;
  Roster roster_;
  NodeBoard board_;
  NodeWatch node_;
  RollCall roll_call_;
  std::optional<SideChannel> channel_;
  std::map<int, SideChannel::From> heard_from_;  // by rank
  std::vector<Question> questions_;
  std::optional<Gathering> gathering_;
  StallReporter story_;
  std::map<int, std::string> last_doing_;  // as last reported
  EndOfNode end_;
  std::int64_t last_tick_ns_ = 0;
  std::int64_t last_own_sleep_ns_ = 0;
  std::int64_t quiet_began_ns_ = 0;
  std::int64_t quiet_until_ns_ = 0;
  std::int64_t ending_since_ns_ = 0;  // 0: not asked to end
  std::int64_t death_ns_ = 0;         // of the first rank that died; 0: none
};

}  // namespace dllaunch
