// The non-trained state of a network (running means and variances): initialisation, checkpoint
// tensors and synchronisation between ranks.
#pragma once

#include <span>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {

/// Sets every buffer to the initial value in the graph.
void initialise_buffers(const Graph& graph, Executable& executable);

/// Returns dense tensors named like "bn1.running_mean". Counts are i64, the rest has the
/// executable's dtype.
std::vector<Tensor> buffer_tensors(const Graph& graph, const Executable& executable);

/// Sets the buffers from the tensors of the same names and removes those from `tensors`, which
/// leaves the parameters. bad_request names a tensor that is missing or has the wrong type or
/// shape.
Result<Ok> take_buffers(const Graph& graph, Executable& executable, std::vector<Tensor>& tensors);

/// Collective. Every rank gets the mean over ranks, rounded to the checkpoint's type; counts to
/// integers. Until then ranks differ, since each has seen other images.
void average_buffers(const Graph& graph, Executable& executable, Communicator& communicator);

/// Collective. Every rank gets rank 0's buffers.
void broadcast_buffers(const Graph& graph, Executable& executable, Communicator& communicator);

}  // namespace dllaunch
