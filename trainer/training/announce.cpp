#include "trainer/training/announce.hpp"

#include <fmt/core.h>

#include "support/counted.hpp"
#include "trainer/graph/frozen_parameters.hpp"
#include "trainer/session/step_info.hpp"

namespace dllaunch {
namespace {

/// "1 rank", "4 ranks on 2 nodes, hierarchical over tcp".
std::string ranks_words(const StartEvent& start) {
  auto words = counted(start.ranks, "rank");
  if (start.nodes.value_or(1) > 1) words += " on " + counted(*start.nodes, "node");
  if (!start.transport) return words;
  words += ", " + start.communicator;
  // These two have their own way.
  if (start.communicator == "mpi" || start.communicator == "nccl") return words;
  return words + " over " + *start.transport;
}

}  // namespace

void announce(const TrainOptions& options, const Session& session, std::string_view communicator,
              Reports& reports) {
  const auto images = session.dataset->size(Split::train);
  StartEvent start{.ranks = session.shape.ranks * session.place().stages,
                   .nodes = options.nodes,
                   .model = session.config.model,
                   .parameters = session.whole().parameter_count(),
                   .frozen = frozen_count(session.whole()),
                   .global_batch = session.shape.global_batch(),
                   .epochs = session.config.epochs,
                   .steps_per_epoch = steps_per_epoch(images, session.shape),
                   .images = images,
                   .val_images = session.dataset->size(Split::validation),
                   .backend = session.backend.substr(0, session.backend.find(' ')),
                   .host = options.host,
                   .communicator = std::string(communicator)};
  if (!options.transport.empty()) start.transport = options.transport;
  if (!session.started_with.empty()) start.init_from = session.config.fine_tuning.init_from;
  reports.start(start);
  const int tokens = session.dataset->tokens();
  const std::string samples =
      tokens > 0 ? "sequences of " + counted(tokens, "token") : std::string("images");
  options.say(
      fmt::format("{} ({} parameters{}) on {}: {} {}, {} for validation; {}, global batch {}, "
                  "{} an epoch, {}",
                  start.model, start.parameters,
                  start.frozen > 0 ? fmt::format(", {} of them frozen", start.frozen) : "",
                  session.config.dataset, start.images, samples, start.val_images,
                  ranks_words(start), start.global_batch, counted(start.steps_per_epoch, "step"),
                  session.backend + preparation_words(session)));
  if (!session.started_with.empty()) options.say(session.started_with);
  if (session.resumed_from.empty()) return;
  options.say(fmt::format("resumed from {} at epoch {}, step {}{}", session.resumed_from,
                          session.position.epoch, session.position.step,
                          session.finished() ? ": nothing is left to do" : ""));
}

}  // namespace dllaunch
