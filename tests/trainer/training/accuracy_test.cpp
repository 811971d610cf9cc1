// Accuracies that whole trainings by dltrain must reach. Those of bench/training/curves.json take
// minutes and run with DLLAUNCH_TEST_FULL=1.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "support/json.hpp"
#include "support/random.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/tier.hpp"
#include "tests/trainer/data/datasets/npy_bytes.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// Returns the epochs of a training, which must succeed.
std::vector<Json> epochs_of(const Json& job) {
  const ScratchFolder folder;
  write_text(folder / "train.json", job.dump());
  // Spinning threads are slow beside other tests.
  const auto ended =
      run_program({"env", "OMP_WAIT_POLICY=passive", std::string(DLLAUNCH_BIN_DIR) + "/dltrain",
                   "--config", (folder / "train.json").string()});
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  return events_of(folder.path(), "epoch");
}

/// Writes noise with random labels, which can only be memorised.
void write_noise(const fs::path& folder, int images, int size, int channels) {
  const std::uint64_t key = random_key(1, "noise");
  std::string pixels(static_cast<std::size_t>(images * size * size * channels), '\0');
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<char>(random_bits(key, i) & 0xff);
  }
  std::vector<std::int64_t> labels;
  for (int i = 0; i < images; ++i) {
    labels.push_back(
        static_cast<std::int64_t>(random_below(random_bits(key, ~std::uint64_t(i)), 10)));
  }
  const std::string n = std::to_string(images);
  const std::string s = std::to_string(size);
  for (const std::string split : {"train", "val"}) {
    write_text(folder / (split + "_images.npy"),
               npy_bytes(npy_header_text("|u1", "(" + n + ", " + s + ", " + s + ", " +
                                                    std::to_string(channels) + ")"),
                         pixels));
    write_text(folder / (split + "_labels.npy"),
               npy_bytes(npy_header_text("<i8", "(" + n + ",)"), raw_bytes(labels)));
  }
}

struct Overfit {
  std::string model;
  int size;
  int channels;
  int epochs;
  Json optimizer;
  bool zero_gamma = false;
};

void PrintTo(const Overfit& one, std::ostream* out) {
  *out << one.model;
}

class Overfitting : public testing::TestWithParam<Overfit> {};

TEST_P(Overfitting, AHundredImagesAreMemorised) {
  const Overfit& one = GetParam();
  if (one.model == "resnet50" && !full_tier()) {
    GTEST_SKIP() << "twenty seconds: with DLLAUNCH_TEST_FULL=1";
  }
  const ScratchFolder data;
  write_noise(data.path(), 100, one.size, one.channels);
  Json job = Json::parse(R"({"batch_size": 25, "validate_every": 0,
                             "checkpoint": {"every_epochs": null}})");
  job["model"] = one.model;
  job["dataset"] = {{"kind", "npy"}, {"path", data.path().string()}, {"classes", 10}};
  job["epochs"] = one.epochs;
  job["optimizer"] = one.optimizer;
  job["zero_gamma"] = one.zero_gamma;
  const auto epochs = epochs_of(job);
  ASSERT_EQ(epochs.size(), static_cast<std::size_t>(one.epochs));
  EXPECT_GT(epochs.front()["loss"], 1.5) << "nothing to learn";
  EXPECT_LT(epochs.back()["loss"], 0.001);
  EXPECT_EQ(epochs.back()["accuracy"], 1.0);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Overfitting,
    testing::Values(Overfit{"lenet", 28, 1, 100, {{"name", "adam"}, {"lr", 0.004}}},
                    Overfit{"cnn", 28, 1, 40, {{"name", "adam"}, {"lr", 0.001}}},
                    Overfit{"resnet50", 32, 3, 25, {{"lr", 0.015}, {"momentum", 0.9}}, true}),
    [](const auto& one) { return one.param.model; });

/// Trainings of bench/training/curves.json, run by the script that also plots them. The folder
/// DLLAUNCH_CURVES keeps their results; existing ones are not trained again.
class Curves : public testing::Test {
 protected:
  static void SetUpTestSuite() { folder_ = std::make_unique<ScratchFolder>(); }
  static void TearDownTestSuite() { folder_.reset(); }

  void SetUp() override {
    if (!full_tier()) {
      GTEST_SKIP() << "minutes: with DLLAUNCH_TEST_FULL=1";
    }
    if (under_a_sanitizer()) GTEST_SKIP() << "an hour under a sanitizer; training_test covers it";
    if (!fs::exists("/usr/share/datasets/fashion-mnist")) {
      GTEST_SKIP() << "no Fashion-MNIST: apt-get install dataset-fashion-mnist";
    }
  }

  std::vector<Json> trained(const std::string& name) const {
    const char* kept = std::getenv("DLLAUNCH_CURVES");
    const fs::path runs = kept != nullptr ? fs::path(kept) : folder_->path();
    const auto ended =
        run_program({DLLAUNCH_SOURCE_DIR "/bench/training/curves", "train", runs.string(),
                     fs::path(DLLAUNCH_BIN_DIR).parent_path().string(), "--only", name});
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
    const auto asked = run_program(
        {DLLAUNCH_SOURCE_DIR "/bench/training/curves", "folder", runs.string(), "--only", name});
    auto epochs = events_of(asked.output.substr(0, asked.output.find('\n')), "epoch");
    EXPECT_FALSE(epochs.empty()) << asked.output;
    if (epochs.empty()) return {Json{{"loss", 99}, {"val_loss", 99}, {"val_accuracy", 0}}};
    std::printf("%s: loss %.4f, validation accuracy %.4f\n", name.c_str(),
                epochs.back()["loss"].get<double>(), final_accuracy(epochs));
    return epochs;
  }

  static double final_accuracy(const std::vector<Json>& epochs) {
    return epochs.back()["val_accuracy"];
  }

 private:
  /// Of all tests: each training is needed by several.
  inline static std::unique_ptr<ScratchFolder> folder_;
};

TEST_F(Curves, ASmallBatchPasses91InFiveEpochs) {
  const auto small = trained("batch 64");
  EXPECT_EQ(small.size(), 5u);
  EXPECT_GT(final_accuracy(small), 0.91);
}

TEST_F(Curves, WinogradMatchesDirectConvolution) {
  const auto small = trained("batch 64");
  const auto direct = trained("batch 64, direct convolution");
  EXPECT_NEAR(final_accuracy(direct), final_accuracy(small), 0.005);
  ASSERT_EQ(direct.size(), small.size());
  for (std::size_t i = 0; i < small.size(); ++i) {
    const double loss = direct[i]["loss"];
    EXPECT_NEAR(small[i]["loss"], loss, 0.05 * loss) << "epoch " << i + 1;
  }
}

/// Eight times the batch means an eighth of the steps: behind in the epoch of the warm-up and the
/// next one, caught up in the third.
TEST_F(Curves, EightTimesTheBatchAndRateMatchesTheSmallOne) {
  const auto small = trained("batch 64");
  const auto large = trained("batch 512, rate x 8 with warm-up");
  EXPECT_GT(final_accuracy(large), final_accuracy(small) - 0.01);
  ASSERT_EQ(large.size(), small.size());
  for (std::size_t i = 2; i < small.size(); ++i) {
    const double loss = small[i]["val_loss"];
    EXPECT_NEAR(large[i]["val_loss"], loss, 0.1 * loss) << "epoch " << i + 1;
  }
}

TEST_F(Curves, LarsAtTwoThousandReachesWhatTheSmallOneDoes) {
  const auto small = trained("batch 64");
  const auto lars = trained("LARS, batch 2,048");
  EXPECT_LE(lars.size(), 15u);
  EXPECT_GT(final_accuracy(lars), final_accuracy(small) - 0.01);
}

}  // namespace
}  // namespace dllaunch
