#include "trainer/training/open_split.hpp"

#include <utility>

#include <fmt/format.h>

#include "support/counted.hpp"
#include "trainer/session/agreement.hpp"
#include "trainer/split/split_network.hpp"

namespace dllaunch {

namespace {

double weights_mib(const TrainConfig& config, std::int64_t parameters) {
  const double each = config.precision == Precision::fp64 ? sizeof(double) : sizeof(float);
  return static_cast<double>(parameters) * each / (1 << 20);
}

}  // namespace

bool splits(const TrainConfig& config, int ranks) {
  return ranks > 1 && !config.runtime.split_dense.empty();
}

Result<Ok> open_split(Session& session, const PrepareOptions& options, Communicator& communicator) {
  const TrainConfig& config = session.config;
  if (!splits(config, communicator.size())) return Ok{};
  auto parts = split_network(session.graph, config.runtime.split_dense, communicator.rank(),
                             communicator.size());
  if (auto error = agree(communicator, error_of(parts))) return *std::move(error);
  session.parts = *std::move(parts);
  if (communicator.rank() > 0) return Ok{};
  std::int64_t held = 0;
  for (const SplitPart& part : session.parts) held += part.graph.parameter_count();
  options.say(
      fmt::format("{} split by columns among {}: each holds {:.1f} MiB of {:.1f} MiB of weights",
                  fmt::join(config.runtime.split_dense, ", "), counted(communicator.size(), "rank"),
                  weights_mib(config, held), weights_mib(config, session.graph.parameter_count())));
  return Ok{};
}

}  // namespace dllaunch
