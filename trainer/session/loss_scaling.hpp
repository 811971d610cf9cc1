// The loss scale of a run at work, around every backward pass.
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
  /// Of the run's own scale, which it changes. All outlive it.
  LossScaling(Precision precision, LossScale& scale, ParameterArenas& arenas,
              Communicator& communicator);

  /// What a backward pass multiplies its loss by.
  double factor() const { return scaled_ ? scale_.factor : 1; }

  /// When the gradients are summed over ranks: divides them again. False: some overflowed, and the
  /// step must be left out. The same on every rank; collective where the arenas are sharded.
  bool take_back();

  /// take_back(), and an optimiser step where that may be. unsatisfiable, on every rank: gradients
  /// overflow without any scale, as they would for ever.
  std::optional<Error> begin_update(const StepInfo& now);

  /// The scale, and the steps left out since the latest call.
  void tell(EpochEvent& event);

 private:
  bool scaled_;
  LossScale& scale_;
  ParameterArenas& arenas_;
  Communicator& communicator_;
  std::int64_t skipped_ = 0;
};

}  // namespace dllaunch
