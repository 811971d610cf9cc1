#include "trainer/session/validation.hpp"

#include <gtest/gtest.h>

#include "runtime/communicators/opening/communicators.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/training/prepare.hpp"

namespace dllaunch {
namespace {

class ValidationOnBackend : public testing::TestWithParam<BackendEntry> {
 protected:
  void SetUp() override {
    auto opened = GetParam().open();
    if (!opened) GTEST_SKIP() << opened.error().what;
  }
};

/// The sums over forward() of each batch equal the counts.
TEST_P(ValidationOnBackend, SeesEveryImageOnce) {
  auto config = small_config(std::string(GetParam().name));
  config.data.images = 470;  // 47 to validate on, in batches of 16
  config.data.classes = 7;
  const ScratchFolder folder;
  auto communicator = open_communicator("solo", RankEnv{});
  ASSERT_TRUE(communicator);
  auto session =
      prepare({.config = config, .run_dir = folder.path(), .threads = 1}, **communicator);
  ASSERT_TRUE(session) << session.error().what;
  auto measured = validate(*session, **communicator);
  ASSERT_TRUE(measured);

  std::vector<std::int64_t> labels(7);
  std::vector<std::uint8_t> pixels(session->dataset->pixels());
  for (std::int64_t i = 0; i < 47; ++i) {
    auto label = session->dataset->read(Split::validation, i, pixels);
    ASSERT_TRUE(label);
    ++labels[static_cast<std::size_t>(*label)];
  }
  EXPECT_EQ(measured->metrics.images(), 47);
  for (int number = 0; number < 7; ++number) {
    EXPECT_EQ(measured->metrics.of_class(number).actual, labels[static_cast<std::size_t>(number)]);
  }

  double loss = 0;
  int correct = 0;
  Loader loader(*session->dataset, session->normalization, {},
                deal_validation(47, session->shape, 0),
                {.split = Split::validation, .workers = 0, .batch_size = 16});
  for (int i = 0; i < 3; ++i) {
    auto batch = loader.next();
    ASSERT_TRUE(batch);
    const ForwardResult result = session->executable->forward(*batch, Phase::evaluate);
    loss += result.loss_sum;
    correct += result.correct;
  }
  EXPECT_DOUBLE_EQ(measured->loss, loss / 47);
  EXPECT_EQ(measured->metrics.accuracy(), correct / 47.0);
}

INSTANTIATE_TEST_SUITE_P(Backends, ValidationOnBackend, testing::ValuesIn(usable_backends()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace dllaunch
