// A network with split dense layers as one executable: its parts, and exchanges between them.
#pragma once

#include <memory>
#include <span>

#include "runtime/activity/activity.hpp"
#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/split/split_network.hpp"

namespace dllaunch {

/// The ranks of split layers. Both outlive the executable; `activity` may be nullptr.
struct SplitRanks {
  Communicator* communicator = nullptr;
  Activity* activity = nullptr;
};

/// Compiles split_network()'s parts of `graph`. forward(), of either phase, and backward() are
/// collective: all ranks must call them equally often, if need be with an empty batch. A slot with
/// `rows` gets the gradient over the samples of all ranks.
/// Errors as of Backend::compile(). Not collective.
Result<std::unique_ptr<Executable>> compile_split(Backend& backend, const Graph& graph,
                                                  std::span<const SplitPart> parts,
                                                  const CompileOptions& options,
                                                  const SplitRanks& ranks);

}  // namespace dllaunch
