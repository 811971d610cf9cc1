#include "trainer/training/choose_cut.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "trainer/session/compiled_model.hpp"
#include "trainer/tuning/memory_budget.hpp"

namespace dllaunch {
namespace {

/// Numbers per weight that a rank keeps besides its gradient.
double states_of(const TrainConfig& config, int replicas) {
  const OptimizerEntry* optimizer = find_optimizer(config.optimizer);
  const std::size_t states =
      optimizer->states(config.optimizer_options).size() + (config.average.decay ? 1 : 0);
  return static_cast<double>(states) / (config.shard ? replicas : 1);
}

int micro_batches_of(const TrainConfig& config, int replicas) {
  if (config.global_batch == 0) return config.accumulate;
  const std::int64_t at_once = std::int64_t{config.batch_size} * replicas;
  const std::int64_t most = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(most, (config.global_batch + at_once - 1) / at_once));
}

}  // namespace

CutOptions cut_options(const TrainConfig& config, int ranks) {
  const PipelineConfig& pipeline = config.runtime.pipeline;
  const int replicas = std::max(1, ranks / pipeline.stages);
  return {.stages = pipeline.stages,
          .after = pipeline.cut,
          .micro_batches = micro_batches_of(config, replicas),
          .sizes = {.batch = config.batch_size,
                    .precision = config.precision,
                    .states = states_of(config, replicas)}};
}

Result<std::vector<int>> choose_cut(const Session& session, const PrepareOptions& options,
                                    Communicator& communicator) {
  const TrainConfig& config = session.config;
  if (config.runtime.pipeline.stages == 1) return std::vector<int>();
  std::vector<std::unique_ptr<Backend>> opened;  // outlive what they compile
  const CompileSegment compile = [&](const Graph& segment) -> Result<std::unique_ptr<Executable>> {
    auto compiled = compile_model(config, segment, session.threads);
    if (!compiled) return std::move(compiled).error();
    opened.push_back(std::move(compiled->opened));
    return std::move(compiled->executable);
  };
  CutOptions wanted = cut_options(config, communicator.size());
  const std::int64_t left = rank_memory_left(options.ranks_on_node);
  if (left < std::numeric_limits<std::int64_t>::max()) wanted.memory_bytes = left;
  auto cut = settle_cut(session.graph, wanted, compile, communicator);
  if (!cut) return std::move(cut).error();
  if (communicator.rank() == 0) {
    for (const std::string& line : cut_lines(*cut)) options.say(line);
  }
  return std::move(cut->after);
}

}  // namespace dllaunch
