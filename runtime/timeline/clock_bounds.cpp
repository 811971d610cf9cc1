#include "runtime/timeline/clock_bounds.hpp"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "runtime/activity/activity.hpp"

namespace dllaunch {
namespace {

constexpr int rounds_measured = 10;

/// Collective over all ranks; every rank but 0 returns its rounds.
std::vector<ClockRound> exchange(Communicator& communicator) {
  std::vector<ClockRound> rounds(rounds_measured);
  std::int64_t closed = 0;
  // The broadcast after the last round only conveys when that round closed.
  for (int i = 0; i <= rounds_measured; ++i) {
    std::array<std::int64_t, 2> told = {monotonic_ns(), closed};
    communicator.wait(communicator.broadcast(told.data(), told.size(), DType::i64, 0));
    const std::int64_t received = monotonic_ns();
    if (i > 0) rounds[static_cast<std::size_t>(i - 1)].closed_ns = told[1];
    if (i == rounds_measured) break;
    ClockRound& round = rounds[static_cast<std::size_t>(i)];
    round.sent_ns = told[0];
    round.received_ns = received;
    round.answered_ns = monotonic_ns();
    communicator.wait(communicator.barrier());
    closed = monotonic_ns();
  }
  return rounds;
}

}  // namespace

ClockBounds bounds_of(std::span<const ClockRound> rounds) {
  ClockBounds bounds{.low_ns = std::numeric_limits<std::int64_t>::min(),
                     .high_ns = std::numeric_limits<std::int64_t>::max()};
  for (const ClockRound& round : rounds) {
    bounds.low_ns = std::max(bounds.low_ns, round.sent_ns - round.received_ns);
    bounds.high_ns = std::min(bounds.high_ns, round.closed_ns - round.answered_ns);
    bounds.at_ns = round.answered_ns;
  }
  return bounds;
}

std::int64_t clock_identity() {
  std::string identity;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> identity;
  std::array<char, 256> text = {};
  // A time namespace shifts the clock within one kernel.
  if (readlink("/proc/self/ns/time", text.data(), text.size() - 1) > 0) identity += text.data();
  if (gethostname(text.data(), text.size() - 1) == 0 && identity.empty()) identity = text.data();
  return static_cast<std::int64_t>(XXH3_64bits(identity.data(), identity.size()));
}

ClockBounds measure_clock(Communicator& communicator, std::int64_t identity) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const ClockBounds own = bounds_of(exchange(communicator));
  std::vector<std::array<std::int64_t, 3>> all(ranks);
  all[static_cast<std::size_t>(communicator.rank())] = {identity, own.low_ns, own.high_ns};
  communicator.wait(communicator.all_gather(all.data(), 3, DType::i64));

  ClockBounds bounds = own;
  if (identity == all[0][0]) return {.at_ns = own.at_ns, .low_ns = 0, .high_ns = 0};
  for (const auto& [clock, low, high] : all) {
    if (clock != identity) continue;
    bounds.low_ns = std::max(bounds.low_ns, low);
    bounds.high_ns = std::min(bounds.high_ns, high);
  }
  // A clock was set meanwhile (a suspended machine): only the latest round is of any use.
  if (bounds.low_ns > bounds.high_ns) std::swap(bounds.low_ns, bounds.high_ns);
  return bounds;
}

}  // namespace dllaunch
