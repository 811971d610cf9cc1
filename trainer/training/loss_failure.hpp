// Names where a loss that is no finite number comes from.
#pragma once

#include <string>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

/// What one rank knows of a step whose loss, summed over ranks, is not finite.
struct BadLoss {
  double own = 0;            // this rank's part
  std::string culprit = {};  // if that is not finite: first_non_finite(); empty: an earlier stage's
};

/// Collective, in the step after the session's position. Returns an Error as agree() does: the rank
/// with the earliest layer names it, since such numbers spread between ranks.
Error explain_loss(const BadLoss& loss, const Session& session, Communicator& communicator);

}  // namespace dllaunch
