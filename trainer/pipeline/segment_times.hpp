// Measures how long segments of a network take on the backend that trains it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Collective. Returns the numbers of all ranks, rank 0's first.
std::vector<double> gather(Communicator& world, std::span<const double> mine);

/// Compiles a segment as training compiles its stage, for micro-batches of a known size, but with
/// nothing that waits for other ranks.
using CompileSegment = std::function<Result<std::unique_ptr<Executable>>(const Graph& segment)>;

/// Returns the seconds of a micro-batch of `batch` samples, forward and backward: the least of at
/// least three, since other work of the machine only adds. With random input. Errors are those of
/// `compile`.
Result<double> time_segment(const Graph& segment, const CompileSegment& compile, int batch);

/// Collective. Returns the seconds of each segment, the same on every rank. Segments that differ
/// only in names are measured once; ranks measure different ones at the same time, each one after
/// another. Fails on all ranks if it fails on one: the lowest gets the error, the others one of the
/// same kind with an empty `what`, as agree() does.
Result<std::vector<double>> time_segments(std::span<const Graph> segments,
                                          const CompileSegment& compile, int batch,
                                          Communicator& world);

}  // namespace dllaunch
