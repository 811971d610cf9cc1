// Makes a session compute its units of split dense layers.
#pragma once

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

/// Whether ranks of this many hold parts of layers.
bool splits(const TrainConfig& config, int ranks);

/// What a rank holds of a network, in bytes: weights alone.
struct SplitWeights {
  std::int64_t whole = 0;
  std::int64_t of_rank = 0;
};
SplitWeights weights_of(const Graph& graph, std::span<const SplitPart> parts, Precision precision);

/// Collective; nothing unless it splits(). Sets session.parts and logs what a rank holds. Errors of
/// split_network(), on all ranks.
Result<Ok> open_split(Session& session, const PrepareOptions& options, Communicator& communicator);

}  // namespace dllaunch
