#include "trainer/reports/epoch_line.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace dllaunch {
namespace {

TEST(EpochLine, TellsWhatThereIs) {
  EpochEvent event{.epoch = 2, .loss = 0.41, .seconds = 9.12, .images_per_s = 6570.4};
  EXPECT_EQ(epoch_line(event, 5), "epoch 2/5: loss 0.4100, 9.1 s, 6570 images/s");
  event.accuracy = 0.8511;
  event.val_loss = 0.312;
  event.val_accuracy = 0.8873;
  event.skipped = 3;
  EXPECT_EQ(epoch_line(event, 5),
            "epoch 2/5: loss 0.4100, accuracy 0.8511, validation loss 0.3120, accuracy 0.8873, "
            "9.1 s, 6570 images/s, 3 bad images skipped");
  event.val_f1_micro = 0.75;
  event.skipped = 0;
  EXPECT_EQ(epoch_line(event, 5),
            "epoch 2/5: loss 0.4100, accuracy 0.8511, validation loss 0.3120, accuracy 0.8873, "
            "F1 micro 0.7500, 9.1 s, 6570 images/s");
  event = {.epoch = 1, .loss = 2, .seconds = 1, .loss_scale = 32768, .skipped_steps = 1};
  EXPECT_EQ(epoch_line(event, 1),
            "epoch 1/1: loss 2.0000, 1.0 s, 0 images/s, 1 step skipped (loss scale 32768)");
  event = {.epoch = 1, .loss = 2, .val_loss = 3, .val_mean_absolute_error = 1.5, .seconds = 1};
  EXPECT_EQ(epoch_line(event, 1),
            "epoch 1/1: loss 2.0000, validation loss 3.0000, mean absolute error 1.5000, 1.0 s, "
            "0 images/s");
}

TEST(EpochLine, AHugePerplexityIsShort) {
  const EpochEvent event{
      .epoch = 1, .loss = 258, .seconds = 1, .perplexity = std::exp(258.0), .tokens_per_s = 9};
  EXPECT_EQ(epoch_line(event, 1),
            "epoch 1/1: loss 258.0000, perplexity 1.117e+112, 1.0 s, 9 tokens/s");
}

}  // namespace
}  // namespace dllaunch
