// Uses the host instead of a GPU, computing in half precision, with arenas on the host.
#include "trainer/session/loss_scaling.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/communicators/opening/communicators.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/training/prepare.hpp"

namespace dllaunch {
namespace {

/// A scale that is far too large is reduced until gradients fit; until then nothing changes.
TEST(LossScaling, OverflowingStepsAreSkippedAndReported) {
  const ScratchFolder folder;
  TrainConfig config = small_config("host_gpu");
  config.precision = Precision::fp16;
  config.batch_size = 4;
  config.optimizer_options.lr = 1e-6;
  LossScale scale{.factor = 0x1p30};
  auto communicator = *open_communicator("solo", RankEnv{});
  auto session = prepare({.config = config, .run_dir = folder.path()}, *communicator);
  ASSERT_TRUE(session) << session.error().what;
  LossScaling scaling(config.precision, scale, *session->arenas, *communicator);
  Loader loader(*session->dataset, session->normalization, {},
                std::vector<Slice>(40, Slice{.begin = 0, .count = 4}),
                loader_options(*session, Split::train));
  const auto before = session->arenas->weights();
  int left_out = 0;
  for (int step = 1; step <= 40; ++step) {
    const auto batch = loader.next();
    ASSERT_TRUE(batch);
    session->executable->forward(*batch, Phase::train);
    session->executable->backward(scaling.factor() / 4, /*accumulate=*/false, [](int) {});
    if (scaling.take_back()) {
      session->arenas->update({.lr = 1e-6, .step = step});
      break;
    }
    ++left_out;
    const auto now = session->arenas->weights();
    for (std::size_t t = 0; t < now.size(); ++t) ASSERT_EQ(now[t].data, before[t].data);
  }
  EXPECT_GT(left_out, 5) << "2^30 is far too large";
  EXPECT_EQ(scale.factor, std::exp2(30 - left_out));
  EpochEvent event;
  scaling.tell(event);
  EXPECT_EQ(event.loss_scale, scale.factor);
  EXPECT_EQ(event.skipped_steps, left_out);
  scaling.tell(event);
  EXPECT_EQ(event.skipped_steps, 0);
  EXPECT_NE(session->arenas->weights()[0].data, before[0].data);
}

/// Host arenas, as with several ranks without NCCL, are unscaled on the host.
TEST(LossScaling, GradientsOnTheHostAreUnscaledToo) {
  const ScratchFolder folder;
  auto communicator = *open_communicator("solo", RankEnv{});
  auto session =
      prepare({.config = small_config("reference"), .run_dir = folder.path()}, *communicator);
  ASSERT_TRUE(session);
  LossScale scale{.factor = 4};
  LossScaling scaling(Precision::fp16, scale, *session->arenas, *communicator);
  auto* const gradients = reinterpret_cast<float*>(session->arenas->gradients().data());
  gradients[0] = 8;
  EXPECT_TRUE(scaling.take_back());
  EXPECT_EQ(gradients[0], 2);
  gradients[1] = HUGE_VALF;
  EXPECT_FALSE(scaling.take_back());
  EXPECT_EQ(scale.factor, 2);
}

TEST(LossScaling, GradientsAreClippedAfterTheScaleIsTakenOut) {
  const ScratchFolder folder;
  auto communicator = *open_communicator("solo", RankEnv{});
  auto config = small_config("reference");
  config.clip_norm = 1;
  auto session = prepare({.config = config, .run_dir = folder.path()}, *communicator);
  ASSERT_TRUE(session);
  LossScale scale{.factor = 1024};
  LossScaling scaling(Precision::fp16, scale, *session->arenas, *communicator);
  auto* const gradients = reinterpret_cast<float*>(session->arenas->gradients().data());
  gradients[0] = 1024 * 0.75F;
  EXPECT_FALSE(scaling.begin_update({.lr = 0.1, .step = 1}));
  EXPECT_EQ(gradients[0], 0.75F) << "below the bound";
  gradients[0] = 1024 * 3;
  gradients[1] = 1024 * 4;
  EXPECT_FALSE(scaling.begin_update({.lr = 0.1, .step = 2}));
  EXPECT_NEAR(gradients[0], 3.0 / 5, 1e-6);
  EXPECT_NEAR(gradients[1], 4.0 / 5, 1e-6);
}

/// A run that skips every step must not complete.
TEST(LossScaling, GradientsThatAlwaysOverflowEndTheRun) {
  const ScratchFolder folder;
  auto communicator = *open_communicator("solo", RankEnv{});
  auto session =
      prepare({.config = small_config("reference"), .run_dir = folder.path()}, *communicator);
  ASSERT_TRUE(session);
  LossScale scale{.factor = 2};
  LossScaling scaling(Precision::fp16, scale, *session->arenas, *communicator);
  auto* const gradients = reinterpret_cast<float*>(session->arenas->gradients().data());
  gradients[0] = HUGE_VALF;
  EXPECT_FALSE(scaling.begin_update({.lr = 0.1, .step = 1})) << "a smaller scale may do";
  EXPECT_EQ(scale.factor, 1);
  const auto ended = scaling.begin_update({.lr = 0.1, .step = 2});
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->what, "gradients of step 2 are too large for fp16, with a loss scale of 1");
  gradients[0] = 1;
  EXPECT_FALSE(scaling.begin_update({.lr = 0.1, .step = 3}));
}

TEST(LossScaling, OtherPrecisionsHaveNoScale) {
  const ScratchFolder folder;
  auto communicator = *open_communicator("solo", RankEnv{});
  auto session =
      prepare({.config = small_config("host_gpu"), .run_dir = folder.path()}, *communicator);
  ASSERT_TRUE(session);
  LossScale scale;
  LossScaling scaling(Precision::bf16, scale, *session->arenas, *communicator);
  EXPECT_EQ(scaling.factor(), 1);
  EXPECT_TRUE(scaling.take_back());
  EXPECT_EQ(scale, LossScale{});
}

}  // namespace
}  // namespace dllaunch
