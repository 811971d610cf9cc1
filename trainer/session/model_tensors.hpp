// The tensors of the whole model on the first rank, wherever its stages and split layers are.
#pragma once

#include <vector>

#include "support/result.hpp"
#include "trainer/session/session.hpp"
#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {

/// Collective over the stages of the first replica, and over all ranks if layers are split; other
/// ranks do nothing. Returns all weights and buffers on rank 0, none elsewhere.
std::vector<Tensor> model_tensors(const Session& session);
/// Likewise, and the optimiser's state: after gather_states() and average_buffers().
GatheredTensors checkpoint_tensors(const Session& session);

/// Collective over the stages of the first replica. Gives each stage its part of rank 0's tensors.
/// bad_request, on rank 0: one belongs to no stage.
Result<Ok> deal_to_stages(const Session& session, std::vector<Tensor>& weights,
                          std::vector<Tensor>& states);

}  // namespace dllaunch
