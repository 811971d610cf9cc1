#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/data/datasets/idx_bytes.hpp"
#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {
namespace {

TEST(Mnist, NamesTheDigits) {
  const ScratchFolder folder;
  write_small_mnist(folder.path());
  DatasetOptions options;
  options.path = folder.path().string();
  auto dataset = find_dataset("mnist")->open(options);
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->class_names().at(7), "7");
}

TEST(Mnist, ReportsThatOnlyTheTestSplitExists) {
  const std::filesystem::path shared =
      std::filesystem::path(DLLAUNCH_SOURCE_DIR) / "../shared/data/mnist";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "no " << shared;
  DatasetOptions options;
  options.path = shared.string();
  auto dataset = find_dataset("mnist")->open(options);
  ASSERT_FALSE(dataset);
  EXPECT_THAT(dataset.error().what,
              testing::HasSubstr("but not the training split; missing train"));
}

}  // namespace
}  // namespace dllaunch
