#include "launcher/monitor/hold_notice.hpp"

namespace dllaunch {

std::string HoldNotice::look(const Journal& journal, const RunDir& run, double now) {
  const auto& last = journal.last;
  const auto waits_for = journal.waits && journal.waits->job == job_ ? journal.waits->reason : "";
  if (std::exchange(waits_for_, waits_for) != waits_for && !waits_for.empty())
    return words_of(*journal.waits);
  if (waits_ && journal.retry && journal.retry->time >= told_) {
    waits_ = false;
    return words_of(*journal.retry);
  }
  const bool held = journal.decided && last->next == Next::hold && last->job == job_ &&
                    last->time > told_ && last->until > now &&
                    !(journal.retry && journal.retry->time >= last->time);
  if (!held) return "";
  told_ = last->time;
  waits_ = true;
  return hold_words(*last, run);
}

}  // namespace dllaunch
