// Who is late, and why: each epoch's seconds of every rank, compared.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/activity/activity.hpp"
#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

/// What one rank did with the steps of an epoch. Doubles only: ranks gather it as it lies.
struct RankSeconds {
  double steps = 0;
  double data = 0;  // waited for its loader
  double forward = 0;
  double backward = 0;
  double update = 0;
  double between = 0;        // steps: events, progress
  double communication = 0;  // exposed: what even the rank that came last waited
  double waiting = 0;        // beyond that: for ranks that came later
  double delayed = 0;        // in steps where it came last, what the first to arrive waited for it
  // Sums over steps of the square of data, compute and between: how much they vary.
  std::array<double, 3> squares = {};

  double compute() const { return forward + backward + update; }
  double total() const { return data + compute() + between + communication + waiting; }
};
static_assert(sizeof(RankSeconds) == 12 * sizeof(double), "gathered as an array of doubles");

enum class Lateness : std::uint8_t { data, compute, between };
std::string_view to_string(Lateness cause);

struct Straggler {
  int rank = 0;
  Lateness cause = Lateness::compute;
  RankPhase phase = RankPhase::backward;  // of compute: where most of it is lost
  double seconds = 0;                     // of `cause`, in the epoch
  double median = 0;                      // over ranks
  double delayed = 0;                     // RankSeconds::delayed
};

/// Worst first. A rank is one when its seconds lie above the median over ranks by more than
/// - 5 % of the epoch: less is not worth a line,
/// - 5 standard deviations of the ranks, estimated by the median absolute deviation, which a few
///   slow ranks cannot stretch as they stretch a standard deviation,
/// - 4 standard errors, from how much its steps vary: one hiccup is no straggler.
/// Of an even number of ranks the lower median is taken, so that one of two can be slow. Epochs of
/// fewer than 8 steps prove nothing.
std::vector<Straggler> find_stragglers(std::span<const RankSeconds> ranks);

/// An epoch's seconds of all ranks. Hosts and ranks only on rank 0.
struct EpochRanks {
  std::vector<RankSeconds> ranks = {};
  std::vector<std::string> hosts = {};  // of each rank
  std::vector<Straggler> stragglers = {};
};

/// "rank 3 on n1: computes 1.31 x the median (backward); others waited up to 12 % of the epoch for
/// it". At most `most` lines; one more counts the rest.
std::vector<std::string> straggler_lines(const EpochRanks& epoch, std::size_t most);

/// Splits what a rank waits in the reduction into communication and waiting for others: in each
/// step the rank that waits least came last, so that is what communication takes (as Kurth et al.
/// 2018 did). The minimum over ranks travels beside the next step's sums and costs no wait.
class StragglerWatch {
 public:
  /// Collective. `activity` is asked for its seconds after every step, by nobody else.
  StragglerWatch(Communicator& communicator, Activity& activity, std::string_view host);

  void begin_epoch();
  /// Within a step: before its sums are awaited, and after.
  void begin_exchange();
  void end_exchange();
  void end_step();
  /// Collective.
  EpochRanks end_epoch();

 private:
  Communicator& communicator_;
  Activity& activity_;
  std::vector<std::string> hosts_;
  RankSeconds epoch_;
  double exposed_ = 0;                   // of the latest step
  std::array<double, 2> extremes_ = {};  // least, and most negated, of `exposed_` over ranks
  Pending exchange_;
};

}  // namespace dllaunch
