// Counts over several ranks equal those of one, exactly.
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <vector>

#include "runtime/communicators/opening/communicators.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "tests/trainer/training/targets_set.hpp"
#include "trainer/session/validation.hpp"
#include "trainer/training/prepare.hpp"

namespace dllaunch {
namespace {

class MetricsOnRanks : public testing::Test {
 protected:
  void SetUp() override {
    auto env = read_rank_env(process_environment());
    if (!env) throw std::runtime_error(env.error().what);
    auto opened = open_communicator("auto", *env);
    if (!opened) throw std::runtime_error(opened.error().what);
    communicator_ = *std::move(opened);
  }

  static void expect_equal(const Metrics& several, const Metrics& one) {
    EXPECT_EQ(several.images(), one.images());
    EXPECT_EQ(several.accuracy(), one.accuracy());
    EXPECT_EQ(several.top5_accuracy(), one.top5_accuracy());
    for (int actual = 0; actual < one.classes(); ++actual) {
      const ClassCounts counts = several.of_class(actual);
      EXPECT_EQ(counts.actual, one.of_class(actual).actual);
      EXPECT_EQ(counts.predicted, one.of_class(actual).predicted);
      EXPECT_EQ(counts.hit, one.of_class(actual).hit);
      for (int predicted = 0; predicted < one.classes() && one.has_matrix(); ++predicted) {
        EXPECT_EQ(several.confused(actual, predicted), one.confused(actual, predicted));
      }
    }
  }

  std::unique_ptr<Communicator> communicator_;
};

TEST_F(MetricsOnRanks, AddUpExactly) {
  constexpr int classes = 1000;  // a matrix of 8 MB
  std::mt19937 random(3);
  Metrics mine(classes);
  Metrics all(classes);
  for (int image = 0; image < 200; ++image) {
    std::vector<double> row(classes);
    for (double& logit : row) logit = static_cast<double>(random() % 100);
    const std::vector<std::int32_t> label{static_cast<std::int32_t>(random() % classes)};
    all.add(row, label);
    if (image % communicator_->size() == communicator_->rank()) mine.add(row, label);
  }
  mine.sum_over_ranks(*communicator_);
  expect_equal(mine, all);
}

TEST_F(MetricsOnRanks, ValidateEachImageOnce) {
  auto config = small_config("reference");
  config.data.images = 470;  // 47 for validation: uneven shares and partial batches
  config.data.classes = 7;
  const ScratchFolder folder;
  const PrepareOptions options{.config = config, .run_dir = folder.path(), .threads = 1};
  auto session = prepare(options, *communicator_);
  ASSERT_TRUE(session) << session.error().what;
  auto several = validate(*session, *communicator_);
  ASSERT_TRUE(several);

  auto alone = open_communicator("solo", RankEnv{});
  ASSERT_TRUE(alone);
  auto own_session = prepare(options, **alone);
  ASSERT_TRUE(own_session);
  auto one = validate(*own_session, **alone);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->metrics.images(), 47);
  expect_equal(several->metrics, one->metrics);
  EXPECT_NEAR(several->loss, one->loss, 1e-12);
}

TEST_F(MetricsOnRanks, ValidateSetsAndNumbersLikeOneRank) {
  for (const TargetKind kind : {TargetKind::class_set, TargetKind::values}) {
    const ScratchFolder folder;  // each rank has its own files with the same content
    write_targets_set(folder / "data", kind);
    auto config = small_config("reference");
    config.dataset = "npy";
    config.data = {.path = (folder / "data").string()};
    if (kind == TargetKind::values) config.loss = "mean_squared_error";
    const PrepareOptions options{.config = config, .run_dir = folder.path(), .threads = 1};
    auto session = prepare(options, *communicator_);
    ASSERT_TRUE(session) << session.error().what;
    auto several = validate(*session, *communicator_);
    ASSERT_TRUE(several);
    auto alone = open_communicator("solo", RankEnv{});
    ASSERT_TRUE(alone);
    auto own_session = prepare(options, **alone);
    ASSERT_TRUE(own_session);
    auto one = validate(*own_session, **alone);
    ASSERT_TRUE(one);
    EXPECT_EQ(several->images, 20);
    EXPECT_NEAR(several->loss, one->loss, 1e-12);
    if (kind == TargetKind::class_set) {
      expect_equal(several->metrics, one->metrics);
      EXPECT_EQ(several->metrics.f1_micro(), one->metrics.f1_micro());
    } else {
      EXPECT_NEAR(*several->errors.mean_absolute_error(), *one->errors.mean_absolute_error(),
                  1e-12);
    }
  }
}

}  // namespace
}  // namespace dllaunch
