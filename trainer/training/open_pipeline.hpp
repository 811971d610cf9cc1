// Makes a session compute one stage of its network.
#pragma once

#include <span>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/pipeline/settle_cut.hpp"
#include "trainer/session/compiled_model.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

/// Returns how to cut the configuration's network, `replicas` of each stage; without memory_bytes.
CutOptions cut_options(const TrainConfig& config, int replicas);

/// bad_request: a setting does not go with a network in these stages.
Result<Ok> check_stages(const TrainConfig& config, std::span<const Graph> stages);

/// Collective; nothing with one stage. Cuts the network, where the user says or where measuring
/// finds best, which rank 0 logs; `session.graph` becomes this rank's stage. Errors as for
/// settle_cut(), and bad_request: the ranks are no multiple of the stages, or a setting does not
/// fit. Fails on all ranks if it fails on one.
Result<Ok> open_pipeline(Session& session, const PrepareOptions& options,
                         Communicator& communicator);

/// Has session.opened compile an executable for each further micro-batch that is in flight in this
/// stage.
Result<Ok> compile_for_flight(Session& session, const CompileSurroundings& surroundings);

}  // namespace dllaunch
