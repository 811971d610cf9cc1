#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "trainer/dataset/dataset.hpp"

namespace dllaunch {
namespace {

TEST(Cifar10, IsReadFromThePublishedLayout) {
  const std::filesystem::path shared =
      std::filesystem::path(DLLAUNCH_SOURCE_DIR) / "../shared/data/cifar-10-batches-bin";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "no " << shared;
  DatasetOptions options;
  options.path = shared.string();
  auto dataset = find_dataset("cifar10")->open(options);
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->size(Split::train), 10000);
  EXPECT_EQ((*dataset)->size(Split::validation), 2000);
  EXPECT_EQ((*dataset)->class_names().at(9), "truck");
  // As everyone quotes them for the 50,000.
  auto normalization = measure_normalization(**dataset);
  ASSERT_TRUE(normalization);
  const std::array mean{0.4914, 0.4822, 0.4465};
  const std::array std{0.2470, 0.2435, 0.2616};
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(normalization->mean[c], mean[c], 5e-3);
    EXPECT_NEAR(normalization->std[c], std[c], 5e-3);
  }
}

}  // namespace
}  // namespace dllaunch
