#include "trainer/session/step_info.hpp"

namespace dllaunch {

StepInfo step_info(const TrainConfig& config, const StepShape& shape, std::int64_t images,
                   const TrainPosition& at) {
  const std::int64_t an_epoch = steps_per_epoch(images, shape);
  const std::int64_t step = at.epoch * an_epoch + at.images / shape.global_batch();
  return {.lr = learning_rate(config.schedule, config.optimizer_options.lr, shape.worth_ranks(),
                              an_epoch, step, at.step),
          .step = at.step + 1,
          .epoch = static_cast<double>(step) / static_cast<double>(an_epoch),
          .previous_lr = at.lr};
}

}  // namespace dllaunch
