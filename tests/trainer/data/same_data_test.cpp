// data_on_ranks_test.cpp tests ranks that really differ.
#include "trainer/data/same_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "tests/trainer/data/datasets/cifar_bytes.hpp"
#include "tests/trainer/data/datasets/idx_bytes.hpp"
#include "tests/trainer/data/datasets/npy_bytes.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;

std::vector<std::string> rows_of(const std::string& kind, const std::filesystem::path& folder) {
  DatasetOptions options;
  options.path = folder.string();
  options.images = 20;
  auto dataset = find_dataset(kind)->open(options);
  EXPECT_TRUE(dataset) << dataset.error().what;
  if (!dataset) return {};
  return data_rows(**dataset, {.mean = {0.5, 0.25}, .std = {1, 0.125}});
}

TEST(SameData, RowsHaveSizesClassesLabelsAndNormalisation) {
  DatasetOptions options;
  options.images = 20;
  options.classes = 2;
  auto dataset = *find_dataset("synthetic")->open(options);
  EXPECT_THAT(
      data_rows(*dataset, {.mean = {0.5, 0.25}, .std = {1, 0.125}}),
      ElementsAre("training 20 images",
                  fmt::format("validation {} images", dataset->size(Split::validation)),
                  "classes 2", "class-0 class 0", "class-1 class 1",
                  "training-labels sum 0000000000000000", "validation-labels sum 0000000000000000",
                  "pixels mean 0.5 0.25, standard deviation 1 0.125"));
}

/// Changes one training label, then one validation label.
TEST(SameData, DetectsADifferentLabelInEveryDataSet) {
  const ScratchFolder folder;
  write_small_cifar10(folder / "cifar10");
  write_small_mnist(folder / "mnist");
  write_text(folder / "mnist/t10k-labels-idx1-ubyte", label_file(10));  // preferred to the .gz file
  for (const std::string split : {"train", "val"}) {
    write_text(folder / "npy" / (split + "_labels.npy"),
               npy_bytes(npy_header_text("|u1", "(3,)"), raw_bytes<std::uint8_t>({0, 1, 1})));
    write_text(folder / "npy" / (split + "_images.npy"),
               npy_bytes(npy_header_text("|u1", "(3, 4, 4)"), std::string(48, 'x')));
  }
  const std::vector<std::pair<std::string, std::string>> label_files{
      {"cifar10", "data_batch_2.bin"},      {"cifar10", "test_batch.bin"},
      {"mnist", "train-labels-idx1-ubyte"}, {"mnist", "t10k-labels-idx1-ubyte"},
      {"npy", "train_labels.npy"},          {"npy", "val_labels.npy"}};
  for (const auto& [kind, file] : label_files) {
    const auto before = rows_of(kind, folder / kind);
    std::string bytes = read_text(folder / kind / file);
    const std::size_t at = kind == "cifar10" ? 3 * (cifar_pixels + 1) : bytes.size() - 1;
    bytes[at] = bytes[at] == 0 ? 1 : 0;
    write_text(folder / kind / file, bytes);
    EXPECT_NE(rows_of(kind, folder / kind), before) << file;
  }
}

}  // namespace
}  // namespace dllaunch
