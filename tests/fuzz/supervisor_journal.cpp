// RUN/supervisor.jsonl: damaged, torn, of a newer version. Whatever it says, a supervisor that is
// started anew comes to a decision.
#include <chrono>
#include <string>

#include "launcher/run/journal.hpp"
#include "launcher/supervise/policy.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto journal = parse_journal(text_of(data, size));
  if (journal.last) must_hold(!words_of(*journal.last).empty(), "a decision is told in words");
  must_hold(journal.before_retry <= journal.history.size(), "a retry comes after its attempts");
  if (journal.history.empty()) return 0;

  const auto here = attempts_here(journal.history);
  must_hold(here >= 1 && here <= static_cast<int>(journal.history.size()), "attempts are counted");
  const RecoverySettings settings{
      .plan = {.max_restarts = 3, .requeue_on = {}}, .trains = true, .asks_ranks = true};
  const auto decision = decide(journal.history, settings, 1000.0);
  must_hold(decision.exit_code >= 0 && decision.exit_code <= 128, "an exit code for the script");
  must_hold(decision.backoff <= std::chrono::minutes(1), "the back-off is bounded");

  const auto& last = journal.history.back();
  const auto again = parse_journal(line_of({.time = 1, .job = last.job}, last, 2));
  must_hold(again.history.size() == 1, "what is written is read");
  must_hold(again.history[0].exit_code == last.exit_code, "with its code");
  must_hold(again.history[0].cause == last.cause, "and its cause");
  return 0;
}
