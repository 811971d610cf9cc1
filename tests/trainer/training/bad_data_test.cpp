// Every kind of bad data, through a whole training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/data/codecs/jpeg_bytes.hpp"
#include "tests/trainer/data/datasets/cifar_bytes.hpp"
#include "tests/trainer/data/datasets/idx_bytes.hpp"
#include "tests/trainer/data/datasets/npy_bytes.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// Writes 24 training images of 28x28 in two classes, and 6 for validation.
void write_folder(const std::filesystem::path& folder) {
  for (int i = 0; i < 30; ++i) {
    const std::string split = i < 24 ? "train" : "val";
    const std::string name = std::string(i % 2 == 0 ? "cat" : "dog") + "/" + std::to_string(i);
    const auto level = static_cast<std::uint8_t>(i % 2 == 0 ? 20 + i : 200 + i);
    write_text(folder / split / (name + ".jpg"), plain_jpeg(28, 28, {level, level, level}));
  }
}

class BadData : public testing::Test {
 protected:
  BadData() {
    config_ = small_config("reference");
    config_.dataset = "image-folder";
    config_.data = {};
    config_.data.path = data().string();
    config_.epochs = 1;
    config_.batch_size = 5;
    write_folder(data());
  }

  std::filesystem::path data() const { return folder_ / "data"; }
  std::filesystem::path run_dir() const { return folder_ / "run"; }

  std::string failure() {
    auto trained = train_alone(config_, run_dir());
    if (!trained) return trained.error().what;
    return trained->report.error ? trained->report.error->what : "";
  }

  ScratchFolder folder_;
  TrainConfig config_;
};

TEST_F(BadData, StopsAndNamesTheFile) {
  EXPECT_EQ(failure(), "");
  write_text(data() / "train/dog/7.jpg", "no picture");
  EXPECT_THAT(failure(), HasSubstr("train/dog/7.jpg: is not a JPEG"));
  write_folder(data());
  write_text(data() / "val/cat/26.jpg", plain_jpeg(28, 27, {1, 2, 3}));
  std::filesystem::remove_all(run_dir());
  EXPECT_THAT(failure(), HasSubstr("val/cat/26.jpg: is 27x28 pixels, the first image is 28x28"));
  std::filesystem::create_directories(data() / "train/bird");
  EXPECT_THAT(failure(), HasSubstr("train/bird: class folder without a .jpg file"));
}

/// Found in a step, not while measuring pixels, where another message would name it.
TEST_F(BadData, StopsWithinAStepAndNamesTheFile) {
  config_.epochs = 3;
  config_.data.image_size = 28;
  auto trained = train_alone(config_, run_dir(), 0,
                             [this] { write_text(data() / "train/dog/7.jpg", "no picture"); });
  ASSERT_TRUE(trained) << trained.error().what;
  EXPECT_EQ(trained->report.status, TrainStatus::failed);
  ASSERT_TRUE(trained->report.error);
  EXPECT_EQ(trained->report.error->kind, ErrorKind::bad_request);
  EXPECT_THAT(trained->report.error->what, HasSubstr("train/dog/7.jpg: is not a JPEG"));
  EXPECT_EQ(trained->report.error->hint, "dataset.on_bad: skip continues without bad images");
  EXPECT_LE(trained->losses.size(), 10u);  // two epochs
}

TEST_F(BadData, TheFirstFileMayBeBad) {
  config_.data.skip_bad = true;
  write_text(data() / "train/cat/0.jpg", "no picture");
  ASSERT_EQ(failure(), "");
  EXPECT_EQ(events_of(run_dir(), "epoch")[0]["skipped"], 1);
}

TEST_F(BadData, SkipsCountsAndReports) {
  config_.data.skip_bad = true;
  write_text(data() / "train/dog/7.jpg", "no picture");
  write_text(data() / "train/cat/4.jpg", plain_jpeg(28, 29, {1, 2, 3}));
  write_text(data() / "val/cat/26.jpg", read_text(data() / "val/cat/26.jpg").substr(0, 200));
  std::filesystem::create_directories(data() / "train/bird");
  auto trained = train_alone(config_, run_dir());
  ASSERT_TRUE(trained) << trained.error().what;
  EXPECT_EQ(trained->report.status, TrainStatus::completed);
  EXPECT_EQ(trained->losses.size(), 5u);  // 24 images in steps of 5, as without bad images
  EXPECT_EQ(events_of(run_dir(), "epoch")[0]["skipped"], 3);
  EXPECT_EQ(events_of(run_dir(), "start")[0]["images"], 24);
  EXPECT_THAT(trained->said, Contains(HasSubstr("3 bad images skipped")));
  EXPECT_THAT(trained->said, Contains(HasSubstr("train/dog/7.jpg: is not a JPEG")));
  EXPECT_THAT(trained->said, Contains(HasSubstr("val/cat/26.jpg: JPEG: ")));
}

TEST_F(BadData, ValidationIsTheMeanOverTheGoodImages) {
  config_.data.skip_bad = true;
  config_.optimizer_options.lr = 1e-12;
  write_text(data() / "val/cat/26.jpg", "no picture");
  auto with_a_bad_one = train_alone(config_, folder_ / "a");
  std::filesystem::remove(data() / "val/cat/26.jpg");
  auto without = train_alone(config_, folder_ / "b");
  ASSERT_TRUE(with_a_bad_one && without);
  EXPECT_DOUBLE_EQ(events_of(folder_ / "a", "epoch")[0]["val_loss"].get<double>(),
                   events_of(folder_ / "b", "epoch")[0]["val_loss"].get<double>());
}

TEST_F(BadData, NothingGoodIsAnError) {
  config_.data.skip_bad = true;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data() / "val")) {
    if (entry.is_regular_file()) write_text(entry.path(), "no picture");
  }
  EXPECT_THAT(failure(), HasSubstr("all validation images are damaged"));
  std::filesystem::remove_all(data() / "train");
  EXPECT_THAT(failure(), HasSubstr("train: no such folder"));
}

TEST_F(BadData, LabelsOutOfRangeAreBadInEveryKind) {
  std::string records = cifar_records(0, 20);
  records[7 * (cifar_pixels + 1)] = 10;
  write_small_cifar10(folder_ / "cifar10");
  write_text(folder_ / "cifar10/data_batch_1.bin", records);
  write_small_mnist(folder_ / "mnist");
  std::string labels = label_file(small_images);
  labels[8 + 17] = 10;
  write_text(folder_ / "mnist/train-labels-idx1-ubyte", labels);
  for (const std::string split : {"train", "val"}) {
    const std::vector<std::uint8_t> numbers{0, 1,
                                            static_cast<std::uint8_t>(split == "val" ? 2 : 1)};
    write_text(folder_ / "npy" / (split + "_labels.npy"),
               npy_bytes(npy_header_text("|u1", "(3,)"), raw_bytes(numbers)));
    write_text(folder_ / "npy" / (split + "_images.npy"),
               npy_bytes(npy_header_text("|u1", "(3, 28, 28)"), std::string(3 * 784, 'x')));
  }
  for (const std::string kind : {"cifar10", "mnist", "npy"}) {
    config_.dataset = kind;
    config_.data.path = (folder_ / kind).string();
    config_.data.skip_bad = false;
    EXPECT_THAT(failure(), HasSubstr("is out of range 0..")) << kind;
    config_.data.skip_bad = true;
    auto trained = train_alone(config_, folder_ / ("run-" + kind));
    ASSERT_TRUE(trained) << kind << ": " << trained.error().what;
    EXPECT_EQ(trained->report.status, TrainStatus::completed) << kind;
    EXPECT_EQ(events_of(folder_ / ("run-" + kind), "epoch")[0]["skipped"], 1) << kind;
    EXPECT_THAT(trained->said, Contains(HasSubstr("is out of range 0.."))) << kind;
  }
}

}  // namespace
}  // namespace dllaunch
