// Steps of SGD compared with PyTorch, twenty or, of transformers, a hundred, from the same weights
// and images: the losses of dltrain's trainings. DLLAUNCH_TEST_FULL=1 adds deep networks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include <fmt/core.h>

#include "tests/support/tier.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "tests/trainer/training/torch_question.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/graph/initial_weights.hpp"
#include "trainer/graph/zero_gamma.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

/// Few batches, each used several times, so that the loss falls far.
struct TrainingCase {
  std::string model;
  ImageShape image;
  int batch;
  double lr;
  bool zero_gamma = false;
  int batches = 2;
  int epochs = 10;
};

void PrintTo(const TrainingCase& one, std::ostream* out) {
  *out << one.model;
}

TrainConfig config_of(const TrainingCase& one) {
  TrainConfig config;
  config.model = one.model;
  config.zero_gamma = one.zero_gamma;
  config.dataset = "synthetic";
  config.data.images = one.batches * one.batch;
  config.data.channels = one.image.channels;
  config.data.image_size = one.image.height;
  if (one.model.starts_with("gpt2")) {
    config.data.channels = config.data.image_size = {};
    config.data.sequence = one.image.width;
    config.data.classes = 10;
  }
  config.batch_size = one.batch;
  config.epochs = one.epochs;
  config.optimizer = "sgd";
  config.optimizer_options = {.lr = one.lr, .momentum = 0.9};
  config.validate_every = 0;
  config.checkpoint.every_epochs = {};
  config.reports = {.csv = false, .tensorboard = false};
  return config;
}

/// Weights and images in the order of the training.
TorchQuestion question_of(const TrainConfig& config, const ImageShape& image) {
  Graph graph = *find_model(config.model)->build(image, 10);
  if (config.zero_gamma) {
    EXPECT_TRUE(zero_last_gammas(graph));
  }
  Tensors weights;
  for (const Parameter& parameter : graph.parameters) {
    weights.push_back(initial_weights(config.seed, parameter));
    for (double& value : weights.back()) value = static_cast<float>(value);
  }
  DatasetOptions options = config.data;
  options.seed = config.seed;
  const auto dataset = *find_dataset(config.dataset)->open(options);
  const Normalization normalization = *measure_normalization(*dataset);
  const std::int64_t count = dataset->size(Split::train);
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  for (std::int64_t epoch = 0; epoch < config.epochs; ++epoch) {
    Loader loader(*dataset, normalization, epoch_order(config.seed, epoch, count),
                  {{0, static_cast<int>(count)}},
                  {.workers = 0, .batch_size = static_cast<int>(count)});
    const Batch batch = *loader.next();
    pixels.insert(pixels.end(), batch.images.begin(), batch.images.end());
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
  TorchQuestion question(graph, weights);
  question.add_images(graph, pixels, labels);
  return question;
}

/// Returns the largest |a - b| / b over the first steps; of several answers b the nearest counts.
double farthest(const std::vector<double>& a, const std::vector<std::vector<double>>& b,
                std::size_t steps = std::numeric_limits<std::size_t>::max()) {
  double most = 0;
  for (std::size_t i = 0; i < std::min(steps, a.size()); ++i) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const auto& one : b) nearest = std::min(nearest, std::abs(a[i] - one.at(i)) / one.at(i));
    most = std::max(most, nearest);
  }
  return most;
}

std::vector<double> losses_of(TrainConfig config, ConvolutionAlgorithm convolution) {
  const ScratchFolder folder;
  config.convolution = convolution;
  auto trained = train_alone(config, folder.path());
  EXPECT_TRUE(trained) << trained.error().what;
  return trained ? trained->losses : std::vector<double>{};
}

class TorchTraining : public testing::TestWithParam<TrainingCase> {
 protected:
  void train() {
    const TrainingCase& one = GetParam();
    config_ = config_of(one);
    const auto theirs = question_of(config_, one.image)
                            .ask({"losses", one.model, std::to_string(one.batch),
                                  fmt::format("{}", one.lr), "0.9"});
    if (theirs == nullptr)
      GTEST_SKIP() << "/usr/bin/python3 cannot import torch: scripts/install-deps --test";
    nchw_ = (*theirs)["f32"];
    channels_last_ = (*theirs)["f32_channels_last"];
    ASSERT_EQ(nchw_.size(), static_cast<std::size_t>(one.batches * one.epochs));
    direct_ = losses_of(config_, ConvolutionAlgorithm::direct);
    ASSERT_EQ(direct_.size(), nchw_.size());
    EXPECT_LT(nchw_.back(), 0.8 * nchw_.front()) << "nothing was learnt";
  }

  void tell(const char* what, const std::vector<double>& ours) const {
    std::printf(
        "%s: losses %.4f to %.4f; %s is within %.1e of PyTorch's, whose layouts are %.1e "
        "apart\n",
        GetParam().model.c_str(), nchw_.front(), nchw_.back(), what,
        farthest(ours, {nchw_, channels_last_}), farthest(nchw_, {channels_last_}));
  }

  TrainConfig config_;
  std::vector<double> nchw_;
  std::vector<double> channels_last_;
  std::vector<double> direct_;
};

class ShallowTorchTraining : public TorchTraining {
 protected:
  void SetUp() override { train(); }
};

class DeepTorchTraining : public TorchTraining {
 protected:
  void SetUp() override {
    if (!full_tier()) {
      GTEST_SKIP() << "forty seconds: with DLLAUNCH_TEST_FULL=1";
    }
    train();
  }
};

void expect_those_of_pytorch(const std::vector<double>& ours,
                             const std::vector<std::vector<double>>& theirs) {
  EXPECT_LT(farthest(ours, theirs, 20), 1e-3);
  EXPECT_LT(farthest(ours, theirs), 1e-2);
}

TEST_P(ShallowTorchTraining, GivesTheLossesOfPyTorch) {
  tell("direct", direct_);
  expect_those_of_pytorch(direct_, {nchw_, channels_last_});
  // The transformers have no convolution that could be one of Winograd's.
  if (GetParam().model != "cnn") return;
  const auto winograd = losses_of(config_, ConvolutionAlgorithm::automatic);
  tell("auto", winograd);
  expect_those_of_pytorch(winograd, {nchw_, channels_last_});
}

/// Rounding errors grow from step to step in a deep network. PyTorch's own variation between memory
/// layouts sets the tolerance.
TEST_P(DeepTorchTraining, GivesTheLossesOfPyTorch) {
  tell("direct", direct_);
  EXPECT_LT(farthest(direct_, {nchw_, channels_last_}), 2 * farthest(nchw_, {channels_last_}));
}

const auto model_name = [](const auto& one) {
  std::string name = one.param.model;
  std::erase(name, '-');
  return name;
};
INSTANTIATE_TEST_SUITE_P(
    Models, ShallowTorchTraining,
    testing::Values(TrainingCase{"cnn", {1, 28, 28}, 32, 0.004},
                    TrainingCase{"gpt2-tiny", {1, 1, 32}, 16, 0.05, false, 20, 5},
                    TrainingCase{"vit-tiny", {3, 32, 32}, 16, 0.005, false, 20, 5}),
    model_name);
INSTANTIATE_TEST_SUITE_P(Models, DeepTorchTraining,
                         testing::Values(TrainingCase{"resnet50", {3, 32, 32}, 8, 0.01, true},
                                         TrainingCase{"resnet50v2", {3, 32, 32}, 8, 1e-5}),
                         model_name);

}  // namespace
}  // namespace dllaunch
