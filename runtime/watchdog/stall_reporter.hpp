// When to report a stall, and when to repeat the report.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/watchdog/judgement.hpp"

namespace dllaunch {

/// Pure. A stall is reported when it is known, again whenever its duration has doubled, and once
/// when it is over.
class StallReporter {
 public:
  enum class Turn { nothing, tell, tell_over };

  /// `verdict`: the judgement at `now_ns`.
  Turn next(const std::optional<Verdict>& verdict, std::int64_t now_ns);
  /// The verdict has just been reported.
  void told(const Verdict& verdict, std::int64_t now_ns);
  /// The last reported verdict, with its duration until `now_ns`.
  Verdict last(std::int64_t now_ns) const;
  /// What the last reported verdict is about.
  Wait wait() const { return told_ ? told_->wait : Wait{}; }
  /// Nobody waited in that time.
  void add_pause(std::int64_t pause_ns) {
    began_ns_ += pause_ns;
    next_ns_ += pause_ns;
  }
  bool is_told() const { return told_.has_value(); }
  void forget() { told_.reset(); }

 private:
  std::optional<Verdict> told_;
  std::int64_t began_ns_ = 0;
  std::int64_t next_ns_ = 0;
  std::int64_t gone_since_ns_ = 0;  // 0: the stall is not over
};

}  // namespace dllaunch
