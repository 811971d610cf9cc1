// Runs to compare, as values.
#pragma once

#include <string>

#include "launcher/compare/compared_run.hpp"

namespace dllaunch {

/// A training of `epochs` epochs that starts from `loss` and halves it in each; ten seconds an
/// epoch.
inline ComparedRun trained(const std::string& label, double loss, int epochs) {
  ComparedRun run{.label = label, .path = "/runs/" + label, .state = "completed", .ranks = 2};
  run.value = 1234.5;
  run.unit = "images/s";
  run.goodput = 0.5;
  run.restarts = 0;
  run.seconds = 10.0 * epochs + 5;
  for (int i = 1; i <= epochs; ++i) {
    loss /= 2;
    run.epochs.push_back({.epoch = i,
                          .wall_s = 10.0 * i,
                          .loss = loss,
                          .accuracy = 1 - loss / 10,
                          .val_loss = 1.5 * loss,
                          .val_accuracy = 1 - loss / 5,
                          .images_per_s = 100.0 + i});
  }
  run.job = {{"name", label}, {"train", {{"seed", 1}, {"optimizer", {{"lr", loss}}}}}};
  run.origin = SubmissionRecord{.host = "login1", .dllaunch = "0.1.0"};
  run.origin->code = CodeState{.revision = "0123", .branch = "main", .dirty = false};
  return run;
}

/// A study of 1, 2 and 4 ranks.
inline ComparedRun scaled(const std::string& label) {
  auto run = trained(label, 1, 0);
  run.kind = ComparedKind::study;
  for (const int ranks : {1, 2, 4})
    run.sizes.push_back({.ranks = ranks,
                         .value = 90.0 * ranks,
                         .low = 80.0 * ranks,
                         .high = 95.0 * ranks,
                         .efficiency = 0.9});
  return run;
}

}  // namespace dllaunch
