#include "trainer/training/open_pipeline.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "support/counted.hpp"
#include "trainer/session/agreement.hpp"
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

Result<Ok> check_ranks(int ranks, int stages) {
  if (ranks % stages == 0) return Ok{};
  return Error{ErrorKind::bad_request,
               fmt::format("runtime.pipeline: {} cannot be divided equally among {}",
                           counted(ranks, "rank"), counted(stages, "stage")),
               fmt::format("start a multiple of {} ranks", stages)};
}

/// What the host has, or the GPU that computes.
std::int64_t memory_for_stage(const Backend* backend, int ranks_on_node) {
  constexpr double share = 0.9;  // as of the host's
  const auto device = backend == nullptr ? std::nullopt : backend->free_memory();
  return device ? static_cast<std::int64_t>(share * static_cast<double>(*device))
                : rank_memory_left(ranks_on_node);
}

SampleSizes sample_sizes(const Session& session) {
  const bool targets = session.dataset->targets() != TargetKind::class_index;
  return {.batch = static_cast<std::size_t>(session.config.batch_size),
          .labels = static_cast<std::size_t>(session.labels()),
          .targets = targets ? static_cast<std::size_t>(session.dataset->classes()) : 0};
}

}  // namespace

Result<Ok> check_stages(const TrainConfig& config, std::span<const Graph> stages) {
  if (!config.shard) return Ok{};
  for (int stage = 0; stage < std::ssize(stages); ++stage) {
    const auto shared = shared_with_others(stages, stage);
    if (shared.empty()) continue;
    return Error{ErrorKind::bad_request,
                 fmt::format("optimizer.shard: stages share {}, of whose gradients each rank has "
                             "another part",
                             shared.front().name),
                 "train this model in stages without optimizer.shard"};
  }
  return Ok{};
}

CutOptions cut_options(const TrainConfig& config, int replicas) {
  return {.stages = config.runtime.pipeline.stages,
          .after = config.runtime.pipeline.cut,
          .micro_batches = micro_batches_of(config, replicas),
          .sizes = {.batch = config.batch_size,
                    .precision = config.precision,
                    .accumulates = micro_batches_of(config, replicas) > 1,
                    .states = states_of(config, replicas)}};
}

Result<Ok> open_pipeline(Session& session, const PrepareOptions& options,
                         Communicator& communicator) {
  const TrainConfig& config = session.config;
  const int stages = config.runtime.pipeline.stages;
  if (stages == 1) return Ok{};
  std::optional<Error> closed = error_of(check_ranks(communicator.size(), stages));
  if (auto error = agree(communicator, std::move(closed))) return *std::move(error);
  CutOptions cut_as = cut_options(config, communicator.size() / stages);
  std::unique_ptr<Backend> opened;  // outlives what it compiles
  const auto compile = [&](const Graph& segment) -> Result<std::unique_ptr<Executable>> {
    if (opened != nullptr)
      return opened->compile(segment, compile_options(config, session.threads));
    auto compiled = compile_model(config, segment, session.threads);
    if (!compiled) return std::move(compiled).error();
    opened = std::move(compiled->opened);
    return std::move(compiled->executable);
  };
  cut_as.memory_left = [&] {
    if (opened == nullptr)
      static_cast<void>(compile(cut_graph(session.graph, cut_points(session.graph)).front()));
    return memory_for_stage(opened.get(), options.ranks_on_node);
  };
  auto cut = settle_cut(session.graph, cut_as, compile, communicator);
  if (!cut) return std::move(cut).error();
  if (communicator.rank() == 0) {
    for (const std::string& line : cut_lines(*cut)) options.say(line);
  }
  auto graphs = cut_graph(session.graph, cut->after);
  closed = error_of(check_stages(config, graphs));
  if (auto error = agree(communicator, std::move(closed))) return *std::move(error);

  auto world = options.open_peers();
  closed = error_of(world);
  if (auto error = agree(communicator, std::move(closed))) return *std::move(error);
  auto pipeline =
      Pipeline::open(*std::move(world), stages, session.activity, options.open_replicas);
  closed = error_of(pipeline);
  if (auto error = agree(communicator, std::move(closed))) return *std::move(error);
  session.pipeline = *std::move(pipeline);
  session.replicas = &session.pipeline->replicas();
  session.no_nccl = session.pipeline->no_nccl();
  session.pipeline->connect(std::move(graphs), sample_sizes(session));
  session.network = std::exchange(session.graph, session.pipeline->graph());
  return Ok{};
}

Result<Ok> compile_for_flight(Session& session, const CompileSurroundings& surroundings) {
  if (session.pipeline == nullptr) return Ok{};
  const int micro_batches = micro_batches_of(session.config, session.place().replicas);
  for (int i = 1; i < most_in_flight(session.place(), micro_batches); ++i) {
    auto another = session.opened->compile(
        session.graph, compile_options(session.config, session.threads, surroundings));
    if (!another) return std::move(another).error();
    session.pipeline->add(*std::move(another));
  }
  return Ok{};
}

}  // namespace dllaunch
