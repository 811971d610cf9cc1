#include <gtest/gtest.h>

#include <filesystem>

#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {
namespace {

TEST(FashionMnist, IsReadFromTheDebianPackage) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
    GTEST_SKIP() << "apt-get install dataset-fashion-mnist";
  }
  auto dataset = find_dataset("fashion-mnist")->open({});
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->size(Split::train), 60000);
  EXPECT_EQ((*dataset)->size(Split::validation), 10000);
  EXPECT_EQ((*dataset)->class_names().back(), "Ankle boot");
  auto normalization = measure_normalization(**dataset);
  ASSERT_TRUE(normalization);
  EXPECT_NEAR(normalization->mean[0], 0.2860, 5e-5);  // the commonly quoted values
  EXPECT_NEAR(normalization->std[0], 0.3530, 5e-5);
}

}  // namespace
}  // namespace dllaunch
