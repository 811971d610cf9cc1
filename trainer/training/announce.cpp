#include "trainer/training/announce.hpp"

#include <fmt/core.h>

#include "support/counted.hpp"
#include "trainer/graph/frozen_parameters.hpp"
#include "trainer/session/step_info.hpp"

namespace dllaunch {

void announce(const TrainOptions& options, const Session& session, Reports& reports) {
  const auto images = session.dataset->size(Split::train);
  StartEvent start{.ranks = session.shape.ranks,
                   .nodes = options.nodes,
                   .model = session.config.model,
                   .parameters = session.graph.parameter_count(),
                   .frozen = frozen_count(session.graph),
                   .global_batch = session.shape.global_batch(),
                   .epochs = session.config.epochs,
                   .steps_per_epoch = steps_per_epoch(images, session.shape),
                   .images = images,
                   .val_images = session.dataset->size(Split::validation),
                   .backend = session.backend.substr(0, session.backend.find(' ')),
                   .host = options.host};
  if (!session.started_with.empty()) start.init_from = session.config.fine_tuning.init_from;
  reports.start(start);
  options.say(fmt::format(
      "{} ({} parameters{}) on {}: {} images, {} for validation; {}, global batch {}, "
      "{} an epoch, {}",
      start.model, start.parameters,
      start.frozen > 0 ? fmt::format(", {} of them frozen", start.frozen) : "",
      session.config.dataset, start.images, start.val_images, counted(start.ranks, "rank"),
      start.global_batch, counted(start.steps_per_epoch, "step"),
      session.backend + preparation_words(session)));
  if (!session.started_with.empty()) options.say(session.started_with);
  if (session.resumed_from.empty()) return;
  options.say(fmt::format("resumed from {} at epoch {}, step {}{}", session.resumed_from,
                          session.position.epoch, session.position.step,
                          session.finished() ? ": nothing is left to do" : ""));
}

}  // namespace dllaunch
