#include <gtest/gtest.h>

#include <algorithm>

#include "tests/trainer/data/datasets/cifar_bytes.hpp"
#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {
namespace {

TEST(Cifar100, UsesTheFineLabel) {
  const ScratchFolder folder;
  write_text(folder / "train.bin", cifar_records(40, 120, 100, "\x13"));
  write_text(folder / "test.bin", cifar_records(99, 2, 100, "\x13"));
  DatasetOptions options;
  options.path = folder.path().string();
  auto dataset = find_dataset("cifar100")->open(options);
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->size(Split::train), 120);
  EXPECT_EQ((*dataset)->classes(), 100);
  std::vector<std::uint8_t> pixels((*dataset)->pixels());
  EXPECT_EQ(*(*dataset)->read(Split::train, 0, pixels), 40);
  EXPECT_EQ(*(*dataset)->read(Split::validation, 0, pixels), 99);
  EXPECT_EQ(pixels[0], 99 * 31 % 251);
}

TEST(Cifar100, NamesItsClassesInOrder) {
  const ScratchFolder folder;
  write_text(folder / "train.bin", cifar_records(0, 1, 100, "\x13"));
  write_text(folder / "test.bin", cifar_records(0, 1, 100, "\x13"));
  DatasetOptions options;
  options.path = folder.path().string();
  auto dataset = find_dataset("cifar100")->open(options);
  ASSERT_TRUE(dataset);
  const auto& names = (*dataset)->class_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace dllaunch
