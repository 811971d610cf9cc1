#include "runtime/watchdog/stall_reporter.hpp"

namespace dllaunch {
namespace {

/// Other ranks may still be leaving the same collective.
constexpr std::int64_t surely_over_ns = 300'000'000;

}  // namespace

StallReporter::Turn StallReporter::next(const std::optional<Verdict>& verdict,
                                        std::int64_t now_ns) {
  if (!told_) return verdict ? Turn::tell : Turn::nothing;
  const bool same = verdict && verdict->wait == told_->wait;
  if (same) {
    gone_since_ns_ = 0;
    return now_ns >= next_ns_ ? Turn::tell : Turn::nothing;
  }
  if (gone_since_ns_ == 0) gone_since_ns_ = now_ns;
  return verdict || now_ns - gone_since_ns_ >= surely_over_ns ? Turn::tell_over : Turn::nothing;
}

void StallReporter::told(const Verdict& verdict, std::int64_t now_ns) {
  told_ = verdict;
  began_ns_ = now_ns - verdict.waited_ns;
  next_ns_ = now_ns + verdict.waited_ns;
  gone_since_ns_ = 0;
}

Verdict StallReporter::last(std::int64_t now_ns) const {
  Verdict verdict = told_.value_or(Verdict{});
  verdict.waited_ns = (gone_since_ns_ != 0 ? gone_since_ns_ : now_ns) - began_ns_;
  return verdict;
}

}  // namespace dllaunch
