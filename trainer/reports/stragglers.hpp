// Detects stragglers: compares the time every rank spends per epoch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/activity/activity.hpp"
#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

/// Seconds that one rank spent on the steps of an epoch. Doubles only: ranks gather it as an array.
struct RankSeconds {
  double steps = 0;
  double data = 0;  // waiting for the loader
  double forward = 0;
  double backward = 0;
  double update = 0;
  double between = 0;        // between steps: events, progress
  double pipeline = 0;       // waiting for other stages of a pipeline
  double communication = 0;  // exposed communication: the wait of the last rank to arrive
  double waiting = 0;        // additional wait for ranks that arrive later
  double delayed = 0;        // wait that this rank caused in steps where it arrived last
  // Sums of squares over steps of data, compute and between: their variance.
  std::array<double, 3> squares = {};
  double peak_memory_bytes = 0;  // of the process so far; 0: unknown

  double compute() const { return forward + backward + update; }
  double total() const { return data + compute() + between + pipeline + communication + waiting; }
};
static_assert(sizeof(RankSeconds) == 14 * sizeof(double), "gathered as an array of doubles");

enum class Lateness : std::uint8_t { data, compute, between };
std::string_view to_string(Lateness cause);

struct Straggler {
  int rank = 0;
  Lateness cause = Lateness::compute;
  RankPhase phase = RankPhase::backward;  // if compute: the phase that loses most
  double seconds = 0;                     // spent on `cause` in the epoch
  double median = 0;                      // over ranks
  double delayed = 0;                     // see RankSeconds
};

/// Returns the stragglers, worst first. A rank is one if its seconds exceed the median over the
/// ranks of its group by more than
/// - 5 % of the epoch: less is not worth reporting,
/// - 5 standard deviations over ranks, estimated from the median absolute deviation, which a few
///   slow ranks barely affect,
/// - 4 standard errors of its own steps: a single slow step does not count.
/// Uses the lower median of an even number of ranks, so one of two ranks can be a straggler. Epochs
/// of fewer than 8 steps have none. `groups`: the group of each rank, its stage; empty: all ranks
/// do the same.
std::vector<Straggler> find_stragglers(std::span<const RankSeconds> ranks,
                                       std::span<const int> groups = {});

/// A stage of a pipeline for which the others wait.
struct SlowStage {
  int stage = 0;  // from 0
  int stages = 0;
  double ratio = 0;    // of its seconds of computing to the mean of the other stages
  double waiting = 0;  // what these seconds exceed that mean by, as a share of the epoch
};

/// Compares the stages by their median ranks, since replicas do the same. nullopt: one stage, fewer
/// than 8 steps, or the others wait less than 5 % of the epoch.
std::optional<SlowStage> find_slow_stage(std::span<const RankSeconds> ranks,
                                         std::span<const int> stages);

/// An epoch's seconds of all ranks. Empty on all ranks but 0.
struct EpochRanks {
  std::vector<RankSeconds> ranks = {};
  std::vector<std::string> hosts = {};  // of every rank
  std::vector<Straggler> stragglers = {};
  std::vector<int> stages = {};  // of every rank, from 0
  std::optional<SlowStage> slow_stage = {};
};

/// Returns lines like "stage 2 of 2 computes 1.31 x the time of stage 1: ..." and "rank 3 on n1:
/// computes 1.31 x the median (backward); others waited up to 12 % of the epoch for it". At most
/// `most` lines about ranks, plus one with the number of remaining ones.
std::vector<std::string> straggler_lines(const EpochRanks& epoch, std::size_t most);

/// Splits a rank's wait in the reduction into communication and waiting for others. In each step,
/// the rank that waits least arrived last, so its wait is the communication time (Kurth et al.
/// 2018). The minimum over ranks travels with the next step's sums and adds no synchronisation.
class StragglerWatch {
 public:
  /// Collective. Reads `activity`'s seconds after every step and must be their only reader.
  /// `communicator`: of all ranks. `stage`: of a pipeline, from 0; ranks of different stages do
  /// different work and are not compared.
  StragglerWatch(Communicator& communicator, Activity& activity, std::string_view host,
                 int stage = 0);

  void begin_epoch();
  /// Within a step: before waiting for its sums, and after.
  void begin_exchange();
  void end_exchange();
  void end_step();
  /// Collective.
  EpochRanks end_epoch();

 private:
  Communicator& communicator_;
  Activity& activity_;
  std::vector<std::string> hosts_;
  std::vector<int> stages_;  // of every rank
  std::size_t stage_;        // of this one
  RankSeconds epoch_;
  double exposed_ = 0;  // in the latest step
  struct Extremes {
    double least = 0;
    double negated_most = 0;
  };
  std::vector<Extremes> extremes_;  // of `exposed_` over the ranks of each stage
  Pending exchange_;
};

}  // namespace dllaunch
