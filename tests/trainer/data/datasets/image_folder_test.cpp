#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "tests/trainer/data/codecs/jpeg_bytes.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

/// Cats are dark, dogs bright. Training images of a class are 1, 2, 3, ... levels brighter.
class ImageFolders : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) {
      put("train/cat/" + std::to_string(i) + ".jpg", 40 + i * 10);
      put("train/dog/" + std::to_string(i) + ".JPEG", 200 + i * 10);
    }
    put("val/dog/a.jpg", 230);
    options_.path = folder_.path().string();
  }

  void put(const std::string& name, int level, int height = 16, int width = 16) {
    write_text(folder_ / name, plain_jpeg(height, width, {static_cast<std::uint8_t>(level)}));
  }

  Result<std::unique_ptr<Dataset>> open() { return find_dataset("image-folder")->open(options_); }

  std::string error() {
    auto dataset = open();
    return dataset ? "" : dataset.error().what;
  }

  ScratchFolder folder_;
  DatasetOptions options_;
};

TEST_F(ImageFolders, SortsClassesAndFiles) {
  write_text(folder_ / "train/notes.txt", "no class");
  write_text(folder_ / "train/cat/notes.txt", "no image");
  put("train/cat/deeper/0.jpg", 100);
  auto dataset = open();
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_THAT((*dataset)->class_names(), ElementsAre("cat", "dog"));
  EXPECT_EQ((*dataset)->size(Split::train), 7);
  EXPECT_EQ((*dataset)->size(Split::validation), 1);
  EXPECT_EQ((*dataset)->image_shape().channels, 3);
  EXPECT_EQ((*dataset)->image_shape().height, 16);
  std::vector<std::uint8_t> pixels((*dataset)->pixels());
  const std::array levels{40, 50, 60, 100, 200, 210, 220};
  for (std::size_t i = 0; i < levels.size(); ++i) {
    auto label = (*dataset)->read(Split::train, static_cast<std::int64_t>(i), pixels);
    ASSERT_TRUE(label) << label.error().what;
    EXPECT_EQ(*label, i < 4 ? 0 : 1);
    for (const std::uint8_t pixel : pixels) ASSERT_NEAR(pixel, levels[i], 1);
  }
  EXPECT_EQ(*(*dataset)->read(Split::validation, 0, pixels), 1);  // dog, although the only class
                                                                  // here
}

TEST_F(ImageFolders, ResizesToTheRequestedSize) {
  put("train/cat/1.jpg", 50, 300, 200);
  put("train/dog/1.JPEG", 210, 3, 40);
  options_.image_size = 24;
  auto dataset = open();
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->image_shape().height, 24);
  std::vector<std::uint8_t> pixels((*dataset)->pixels());
  for (std::int64_t i = 0; i < 6; ++i) {
    ASSERT_TRUE((*dataset)->read(Split::train, i, pixels));
    const int level = (i < 3 ? 40 : 200) + static_cast<int>(i % 3) * 10;
    for (const std::uint8_t pixel : pixels) ASSERT_NEAR(pixel, level, 1) << i;
  }
}

TEST_F(ImageFolders, KeepsLeftAndRightAndColoursApart) {
  std::vector<std::uint8_t> halves;
  for (int i = 0; i < 16 * 16; ++i) {
    const bool left = i % 16 < 8;
    halves.insert(halves.end(), {static_cast<std::uint8_t>(left ? 220 : 20), 120,
                                 static_cast<std::uint8_t>(left ? 20 : 220)});
  }
  write_text(folder_ / "train/cat/0.jpg", jpeg_bytes(halves, 16, 16));
  for (const int size : {16, 32}) {
    options_.image_size = size;
    auto dataset = open();
    ASSERT_TRUE(dataset);
    std::vector<std::uint8_t> pixels((*dataset)->pixels());
    ASSERT_TRUE((*dataset)->read(Split::train, 0, pixels));
    const auto at = [&](int channel, int y, int x) {
      return pixels[static_cast<std::size_t>((channel * size + y) * size + x)];
    };
    EXPECT_NEAR(at(0, 3, 1), 220, 12);
    EXPECT_NEAR(at(0, 3, size - 2), 20, 12);
    EXPECT_NEAR(at(2, 3, 1), 20, 12);
    EXPECT_NEAR(at(2, 3, size - 2), 220, 12);
    EXPECT_NEAR(at(1, 3, 1), 120, 12);
  }
}

TEST_F(ImageFolders, ReadsGreyOnRequest) {
  options_.channels = 1;
  auto dataset = open();
  ASSERT_TRUE(dataset);
  EXPECT_EQ((*dataset)->pixels(), 256u);
  options_.channels = 4;
  EXPECT_THAT(error(), HasSubstr("1 or 3, not 4"));
}

TEST_F(ImageFolders, NamesTheBadFile) {
  const std::string sound = read_text(folder_ / "train/cat/1.jpg");
  write_text(folder_ / "train/cat/1.jpg", sound.substr(0, sound.size() / 2));
  put("train/dog/0.JPEG", 200, 16, 17);
  auto dataset = open();
  ASSERT_TRUE(dataset) << dataset.error().what;
  std::vector<std::uint8_t> pixels((*dataset)->pixels());
  auto corrupt = (*dataset)->read(Split::train, 1, pixels);
  ASSERT_FALSE(corrupt);
  EXPECT_EQ(corrupt.error().kind, ErrorKind::bad_request);
  EXPECT_THAT(corrupt.error().what, HasSubstr("train/cat/1.jpg: JPEG: "));
  auto other_size = (*dataset)->read(Split::train, 3, pixels);
  ASSERT_FALSE(other_size);
  EXPECT_THAT(other_size.error().what,
              HasSubstr("train/dog/0.JPEG: is 17x16 pixels, the first image is 16x16"));
  EXPECT_THAT(other_size.error().hint, HasSubstr("image_size"));
}

TEST_F(ImageFolders, TheFirstGoodImageDeterminesTheSize) {
  write_text(folder_ / "train/cat/0.jpg", "no picture");
  auto stopped = open();
  ASSERT_FALSE(stopped);
  EXPECT_THAT(stopped.error().what, HasSubstr("train/cat/0.jpg: is not a JPEG"));
  EXPECT_EQ(stopped.error().hint, "dataset.on_bad: skip continues without bad images");
  options_.skip_bad = true;
  auto dataset = open();
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->image_shape().height, 16);
  EXPECT_TRUE(measure_normalization(**dataset, true));
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "train")) {
    if (entry.is_regular_file()) write_text(entry.path(), "no picture");
  }
  EXPECT_THAT(error(), HasSubstr("none of the first 6 images is good; "));
}

/// A sparse file takes no disk space but would fill the memory.
TEST_F(ImageFolders, AFileOfGigabytesIsBad) {
  auto dataset = open();
  ASSERT_TRUE(dataset);
  std::error_code failed;
  fs::resize_file(folder_ / "train/cat/1.jpg", std::uintmax_t{1} << 42, failed);
  if (failed) GTEST_SKIP() << "no sparse file of that size here: " << failed.message();
  std::vector<std::uint8_t> pixels((*dataset)->pixels());
  auto huge = (*dataset)->read(Split::train, 1, pixels);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().kind, ErrorKind::bad_request);
  EXPECT_THAT(huge.error().what, HasSubstr("cat/1.jpg: is larger than 1 GiB"));
}

TEST_F(ImageFolders, NamesTheWrongFolder) {
  fs::create_directories(folder_ / "train/empty");
  EXPECT_THAT(error(), HasSubstr("train/empty: class folder without a .jpg file"));
  fs::remove(folder_ / "train/empty");
  put("val/mouse/a.jpg", 9);
  EXPECT_THAT(error(), HasSubstr("val/mouse: no class of the training images has this name"));
  fs::remove_all(folder_ / "val");
  EXPECT_THAT(error(), HasSubstr("val: no such folder"));
  fs::create_directories(folder_ / "val");
  EXPECT_THAT(error(), HasSubstr("val: no CLASS/*.jpg in it"));
  options_.path = "";
  EXPECT_EQ(error(), "dataset.path is missing");
}

TEST_F(ImageFolders, HandlesCyclicLinks) {
  fs::create_directory_symlink(folder_ / "train", folder_ / "train/cat/round");
  auto dataset = open();  // any result will do, as long as it returns
  if (!dataset) {
    EXPECT_THAT(dataset.error().what, HasSubstr("train/cat"));
  }
}

TEST(ImageFolder, RealPhotographsHaveTheColoursOfCifar10) {
  const fs::path shared = fs::path(DLLAUNCH_SOURCE_DIR) / "../shared/data/cifar10-jpeg.tar";
  if (!fs::exists(shared)) GTEST_SKIP() << "no " << shared;
  const ScratchFolder folder;
  const std::string unpack =
      "tar -xf '" + shared.string() + "' -C '" + folder.path().string() + "'";
  ASSERT_EQ(std::system(unpack.c_str()), 0);
  DatasetOptions options;
  options.path = (folder / "cifar10-jpeg").string();
  auto dataset = find_dataset("image-folder")->open(options);
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->size(Split::train), 1000);
  EXPECT_EQ((*dataset)->size(Split::validation), 500);
  EXPECT_EQ((*dataset)->class_names().front(), "airplane");
  auto normalization = measure_normalization(**dataset);
  ASSERT_TRUE(normalization) << normalization.error().what;
  EXPECT_NEAR(normalization->mean[0], 0.4914, 0.02);
  EXPECT_NEAR(normalization->std[2], 0.2616, 0.02);
}

}  // namespace
}  // namespace dllaunch
