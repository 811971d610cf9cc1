// Guards a training against wrong numbers: replicas compare what they hold, and name who differs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/activity/activity.hpp"
#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/integrity/comparing.hpp"
#include "trainer/integrity/drill.hpp"
#include "trainer/integrity/verdict.hpp"
#include "trainer/session/session.hpp"
#include "trainer/training/reports.hpp"

namespace dllaunch {

struct GuardOptions {
  std::string host = {};
  std::optional<Drill> drill = {};
  Say warn = [](std::string_view) {};
};

/// Steps from one comparison to the next if `runtime.integrity.every_steps` is null.
constexpr std::int64_t usual_steps_between_comparisons = 50;

/// Exists on every rank. docs/how-to/integrity.md says what is found and what is not.
///
/// With two replicas a majority is missing. So, if the job sets `every_steps`, each rank also keeps
/// a hash of its own gradients of every step since the last comparison (its print). When the
/// replicas disagree, these are written to RUN/integrity.json, of bounded size: after
/// most_printed_steps() a comparison is due. The next start trains the same steps again, which is
/// bit for bit the same computation, and the rank that first has another print than before is the
/// one.
class Guard {
 public:
  /// Collective. All arguments but the options must outlive this.
  Guard(Session& session, Communicator& communicator, Activity& activity, Reports& reports,
        GuardOptions options);

  /// This rank's own gradient of the slot is final, and not yet reduced.
  void take_gradient(int slot) {
    if (prints_) print_ += session_.arenas->quick_hash_of_gradient(slot);
  }
  /// The gradients are summed, and not yet applied.
  void before_update();
  /// Call after the position has moved. `own_loss`: of this rank.
  void end_step(double own_loss);
  /// The training has completed. Rank 0 says if the drill's step was none of this start's.
  void end() const;

  /// Whether a comparison is due at the session's position.
  bool due() const;
  /// Collective, between steps, with all gradients applied and nothing under way on a GPU. Compares
  /// what the ranks hold, unless that was done at this step. An Error, on all ranks, ends the
  /// training; as with agree() only rank 0 has its words. The event is written then.
  Result<Ok> compare();
  /// The weights have changed since the step that was compared.
  void compare_again() { compared_ = -1; }
  /// After an Error of compare(): all ranks hold the same. A checkpoint is worth writing.
  bool agrees_here() const { return agrees_ && compared_ == session_.position.step; }

 private:
  std::filesystem::path file() const { return session_.run_dir / "integrity.json"; }
  void settle_on_comparing();
  void take_up_suspicion();
  std::vector<std::string> gather_hosts();
  std::vector<std::int64_t> gather(const std::vector<std::int64_t>& own);
  Result<Ok> settle_suspicion(std::span<const std::int64_t> deviated,
                              std::span<const Digest> digests);
  Result<Ok> disagree(const ReplicaVerdict& verdict, std::span<const std::int64_t> deviated,
                      std::span<const Digest> digests);
  Suspicion suspicion_now(std::span<const Digest> digests, std::vector<std::string> hosts);
  /// `since`: the last step before the fault that all agreed on.
  Error tell(const ReplicaVerdict& verdict, std::string_view how, std::vector<int> ranks,
             const std::vector<std::string>& hosts, std::int64_t since);
  void forget_suspicion();

  Session& session_;
  Communicator& communicator_;
  Activity& activity_;
  Reports& reports_;
  GuardOptions options_;
  std::int64_t every_ = 0;  // 0: never
  bool prints_ = false;
  std::uint64_t print_ = 0;           // of this step so far
  std::vector<std::uint64_t> since_;  // prints of the steps since agreed_
  std::int64_t began_;                // at this step
  std::int64_t agreed_;               // last step that all agreed on
  std::int64_t compared_ = -1;        // last step that was compared
  bool agrees_ = false;               // all ranks, then
  std::optional<Suspicion> earlier_;  // of an earlier start, until it is settled
  std::int64_t deviated_ = 0;         // first step with another print than then; 0: none
};

}  // namespace dllaunch
