// Applies loss scaling (fp16) around each backward pass.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/optimizers/loss_scale.hpp"
#include "trainer/parameters/parameter_arenas.hpp"
#include "trainer/reports/events.hpp"

namespace dllaunch {

class LossScaling {
 public:
  /// `scale` is part of the run's state and is updated. `staged`: the ranks of `communicator` hold
  /// different parameters. All arguments must outlive this.
  LossScaling(Precision precision, LossScale& scale, ParameterArenas& arenas,
              Communicator& communicator, bool staged = false);

  /// The factor by which a backward pass multiplies its loss.
  double factor() const { return scaled_ ? scale_.factor : 1; }

  /// Unscales the gradients after their reduction. Returns false, on every rank, if some
  /// overflowed: the step must be skipped. Collective if the arenas are sharded, or of a stage.
  bool take_back();

  /// take_back(), then an optimiser step unless gradients overflowed. unsatisfiable, on every rank:
  /// gradients overflow even at the smallest scale.
  std::optional<Error> begin_update(const StepInfo& now);

  /// Adds the scale and the number of steps skipped since the previous call.
  void tell(EpochEvent& event);

 private:
  bool scaled_;
  bool apart_;  // no rank sees all gradients
  LossScale& scale_;
  ParameterArenas& arenas_;
  Communicator& communicator_;
  std::int64_t skipped_ = 0;
};

}  // namespace dllaunch
