// When to speak of a stall, and when again.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/watchdog/judgement.hpp"

namespace dllaunch {

/// Pure. A stall is told when it is known, again each time it has lasted twice as long, and once
/// when it is over.
class StallReporter {
 public:
  enum class Turn { nothing, tell, tell_over };

  /// `verdict`: what is known at `now_ns`.
  Turn next(const std::optional<Verdict>& verdict, std::int64_t now_ns);
  /// It has been told, now.
  void told(const Verdict& verdict, std::int64_t now_ns);
  /// What was told last, with the time it lasted until `now_ns`.
  Verdict last(std::int64_t now_ns) const;
  bool is_told() const { return told_.has_value(); }
  void forget() { told_.reset(); }

 private:
  std::optional<Verdict> told_;
  std::int64_t began_ns_ = 0;
  std::int64_t next_ns_ = 0;
  std::int64_t gone_since_ns_ = 0;  // 0: it is not gone
};

}  // namespace dllaunch
