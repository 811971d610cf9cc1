#include "trainer/training/open_split.hpp"

#include <utility>

#include <fmt/format.h>

#include "support/counted.hpp"
#include "trainer/session/agreement.hpp"

namespace dllaunch {

bool splits(const TrainConfig& config, int ranks) {
  return ranks > 1 && !config.runtime.split_dense.empty();
}

SplitWeights weights_of(const Graph& graph, std::span<const SplitPart> parts, Precision precision) {
  const std::int64_t each = precision == Precision::fp64 ? sizeof(double) : sizeof(float);
  SplitWeights weights{.whole = each * graph.parameter_count()};
  for (const SplitPart& part : parts) weights.of_rank += each * part.graph.parameter_count();
  return weights;
}

Result<Ok> open_split(Session& session, const PrepareOptions& options, Communicator& communicator) {
  const TrainConfig& config = session.config;
  if (!splits(config, communicator.size())) return Ok{};
  auto parts = split_network(session.graph, config.runtime.split_dense, communicator.rank(),
                             communicator.size());
  if (auto error = agree(communicator, error_of(parts))) return *std::move(error);
  session.parts = *std::move(parts);
  if (communicator.rank() > 0) return Ok{};
  constexpr double mib = 1 << 20;
  const SplitWeights weights = weights_of(session.graph, session.parts, config.precision);
  options.say(fmt::format(
      "{} split by columns among {}: each holds {:.1f} MiB of {:.1f} MiB of "
      "weights",
      fmt::join(config.runtime.split_dense, ", "), counted(communicator.size(), "rank"),
      static_cast<double>(weights.of_rank) / mib, static_cast<double>(weights.whole) / mib));
  return Ok{};
}

}  // namespace dllaunch
