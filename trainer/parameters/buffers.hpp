// What a network keeps beside its weights (running means and variances): in checkpoints, and the
// same on every rank where others look at it.
#pragma once

#include <span>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {

/// As the graph says they start.
void initialise_buffers(const Graph& graph, Executable& executable);

/// Plain and dense, named "bn1.running_mean"; counts are i64, the rest has the executable's dtype.
std::vector<Tensor> buffer_tensors(const Graph& graph, const Executable& executable);

/// Sets the buffers from those of `tensors` that bear their names, and removes these: what is left
/// are parameters. bad_request: one that is missing or of another type or shape, by name.
Result<Ok> take_buffers(const Graph& graph, Executable& executable, std::vector<Tensor>& tensors);

/// Collective: every rank ends with the mean over ranks, rounded to what a checkpoint holds; counts
/// to whole ones. Each rank saw other images, so each has other statistics until then.
void average_buffers(const Graph& graph, Executable& executable, Communicator& communicator);

/// Collective: every rank ends with rank 0's.
void broadcast_buffers(const Graph& graph, Executable& executable, Communicator& communicator);

}  // namespace dllaunch
