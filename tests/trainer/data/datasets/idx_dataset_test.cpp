#include "trainer/data/datasets/idx_dataset.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/data/datasets/idx_bytes.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

const IdxFamily digits{.default_path = "/nowhere",
                       .hint = "apt-get install digits",
                       .class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}};

Result<std::unique_ptr<Dataset>> open(const std::filesystem::path& folder) {
  return open_idx_dataset(
      digits,
      {.path = folder.string(), .images = {}, .classes = {}, .channels = {}, .image_size = {}});
}

TEST(IdxDataset, ReadsBothSplits) {
  const ScratchFolder folder;
  write_small_mnist(folder.path());
  auto dataset = open(folder.path());
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->size(Split::train), small_images);
  EXPECT_EQ((*dataset)->size(Split::validation), 10);
  EXPECT_EQ((*dataset)->classes(), 10);
  EXPECT_EQ((*dataset)->image_shape().height, 28);
  std::vector<std::uint8_t> pixels((*dataset)->pixels());
  EXPECT_EQ(*(*dataset)->read(Split::train, 13, pixels), 3);
  EXPECT_EQ(pixels[5], (13 * 784 + 5) * 7 % 251);
}

TEST(IdxDataset, NamesMissingFiles) {
  const ScratchFolder folder;
  auto nothing = open(folder / "absent");
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().what, HasSubstr("absent: no such folder"));
  EXPECT_EQ(nothing.error().hint, "apt-get install digits");

  write_small_mnist(folder.path());
  std::filesystem::remove(folder / "train-labels-idx1-ubyte");
  auto partial = open(folder.path());
  ASSERT_FALSE(partial);
  EXPECT_THAT(partial.error().what, HasSubstr("lacks train-labels-idx1-ubyte (with or without"));

  std::filesystem::remove(folder / "train-images-idx3-ubyte.gz");
  auto only_test = open(folder.path());
  ASSERT_FALSE(only_test);
  EXPECT_THAT(only_test.error().what,
              HasSubstr("has the test split (t10k) but not the training split"));
}

struct Wrong {
  const char* file;
  std::string content;
  std::string what;
};

TEST(IdxDataset, NamesTheFileAndTheError) {
  std::string bad_label = label_file(small_images);
  bad_label[8 + 17] = 10;
  const std::vector<Wrong> cases = {
      {"train-labels-idx1-ubyte", label_file(small_images - 1), "40 images"},
      {"train-labels-idx1-ubyte", bad_label, "ubyte: label 10 of image 17 is out of range 0..9"},
      {"train-labels-idx1-ubyte", image_file(2), "train-labels-idx1-ubyte: wrong magic number"},
      {"train-images-idx3-ubyte.gz", "hello", "train-images-idx3-ubyte.gz: wrong magic number"},
      {"train-images-idx3-ubyte.gz", packed(image_file(40)).substr(0, 500),
       "train-images-idx3-ubyte.gz: gzip data truncated"},
      {"t10k-images-idx3-ubyte", idx_bytes({10, 1, 1}, std::string(10, 'x')),
       "training images are 28x28, test images 1x1"},
      {"t10k-images-idx3-ubyte", idx_bytes({0, 28, 28}, ""), "holds no images"},
  };
  for (const auto& wrong : cases) {
    const ScratchFolder folder;
    write_small_mnist(folder.path());
    write_text(folder / wrong.file, wrong.content);
    auto dataset = open(folder.path());
    ASSERT_FALSE(dataset) << wrong.what;
    EXPECT_THAT(dataset.error().what, HasSubstr(wrong.what));
    EXPECT_EQ(dataset.error().kind, ErrorKind::bad_request);
  }
}

TEST(IdxDataset, ChoosesGzipByContentNotByName) {
  const ScratchFolder folder;
  write_small_mnist(folder.path());
  write_text(folder / "train-images-idx3-ubyte.gz", image_file(small_images));
  write_text(folder / "train-labels-idx1-ubyte", packed(label_file(small_images)));
  EXPECT_TRUE(open(folder.path()));
}

TEST(IdxDataset, SurvivesDamage) {
  const ScratchFolder folder;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    write_small_mnist(folder.path());
    write_text(folder / "train-images-idx3-ubyte.gz",
               mutated(packed(image_file(small_images)), seed));
    write_text(folder / "train-labels-idx1-ubyte", mutated(label_file(small_images), seed + 1));
    auto dataset = open(folder.path());
    if (!dataset) {
      EXPECT_FALSE(dataset.error().what.empty());
    }
  }
}

}  // namespace
}  // namespace dllaunch
