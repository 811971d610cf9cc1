#include "trainer/step_info.hpp"

namespace dllaunch {

StepInfo step_info(const TrainConfig& config, const StepShape& shape, std::int64_t images,
                   const TrainPosition& at) {
  const std::int64_t an_epoch = steps_per_epoch(images, shape);
  const std::int64_t step = at.epoch * an_epoch + at.images / shape.global_batch();
  const auto rate = [&](std::int64_t of, std::int64_t taken) {
    return learning_rate(config.schedule, config.optimizer_options.lr, shape.ranks, an_epoch, of,
                         taken);
  };
  return {.lr = rate(step, at.step),
          .step = at.step + 1,
          .epoch = static_cast<double>(step) / static_cast<double>(an_epoch),
          .previous_lr = step > 0 ? rate(step - 1, at.step - 1) : 0};
}

}  // namespace dllaunch
