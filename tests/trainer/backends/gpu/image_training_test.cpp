// Steps and trainings with images prepared by the backend, on the host in place of a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>

#include "gpu_api.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr int rows = 4;
constexpr int batches = 4;

/// 14 synthetic images of 20x20, resized to 28x28: three and a half batches.
struct Source {
  Source() {
    DatasetOptions options;
    options.images = rows * batches - 2;
    options.image_size = 20;
    auto opened = find_dataset("synthetic")->open(options);
    EXPECT_TRUE(opened);
    dataset = *std::move(opened);
    normalization = *measure_normalization(*dataset);
  }
  Loader loader(const ImageDestination& destination, int workers) const {
    std::vector<Slice> slices;
    for (int b = 0; b < batches; ++b) {
      slices.push_back({.begin = b * rows, .count = b + 1 < batches ? rows : rows - 2});
    }
    return {*dataset,
            normalization,
            {},
            std::move(slices),
            {.workers = workers,
             .batch_size = rows,
             .preparation = {.image_size = 28, .crop = 3, .flip = true},
             .destination = destination}};
  }

  std::unique_ptr<Dataset> dataset;
  Normalization normalization;
};

Graph lenet() {
  for (const ModelEntry& model : models()) {
    if (model.name == "lenet") return *model.build({.channels = 1, .height = 28, .width = 28}, 10);
  }
  return {};
}

/// Returns all results of steps over the batches, to be compared bit for bit.
std::vector<double> steps(Compiled& compiled, Loader loader) {
  std::vector<double> seen;
  for (int b = 0; b < batches; ++b) {
    auto batch = loader.next();
    if (!batch) return {};
    seen.push_back(compiled->forward(*batch, Phase::train).loss_sum);
    const auto logits = compiled->logits();
    seen.insert(seen.end(), logits.begin(), logits.end());
    compiled->backward(1, false, [](int) {});
    for (const auto& gradient : compiled.gradients()) {
      seen.insert(seen.end(), gradient.begin(), gradient.end());
    }
  }
  return seen;
}

TEST(ImageTraining, StepsAreTheSameWhoeverPreparesTheImages) {
  const Source source;
  const Graph graph = lenet();
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    Compiled compiled(backend_named("host_gpu"), graph, {.batch = rows, .precision = precision});
    compiled.set_weights(random_weights(graph));
    const ImageDestination gpu = destination_of(&*compiled);
    const std::vector<double> by_cpu = steps(compiled, source.loader({.memory = gpu.memory}, 0));
    ASSERT_FALSE(by_cpu.empty());
    for (const int workers : {0, 1, 3}) {
      EXPECT_EQ(steps(compiled, source.loader(gpu, workers)), by_cpu)
          << to_string(precision) << ", " << workers << " workers";
    }
  }
}

/// Transfers one byte per value and twelve per image, once per batch, and a table per loader.
TEST(ImageTraining, BytesTravelOnce) {
  const Source source;
  const Graph graph = lenet();
  Compiled compiled(backend_named("host_gpu"), graph, {.batch = rows});
  compiled.set_weights(random_weights(graph));
  const ImageDestination gpu = destination_of(&*compiled);
  constexpr std::size_t images = rows * batches - 2;
  constexpr std::size_t table = 256 * sizeof(float) + std::size_t{28 + 28} * 12;
  for (const int workers : {0, 1, 3}) {
    const std::size_t before = host_gpus().beside;
    steps(compiled, source.loader(gpu, workers));
    EXPECT_EQ(host_gpus().beside - before, images * (20 * 20 + 12) + table);
  }
  const std::size_t before = host_gpus().beside;
  steps(compiled, source.loader({.memory = gpu.memory}, 1));
  EXPECT_EQ(host_gpus().beside - before, images * 28 * 28 * sizeof(float));
}

/// The next batch's images are transferred after the loss of a step, and used by the next.
TEST(ImageTraining, BytesTravelAhead) {
  const Source source;
  const Graph graph = lenet();
  Compiled compiled(backend_named("host_gpu"), graph, {.batch = rows});
  compiled.set_weights(random_weights(graph));
  Loader loader = source.loader(destination_of(&*compiled), 3);
  std::size_t ahead = 0;
  for (int b = 0; b < batches; ++b) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // let workers read the next one
    auto batch = loader.next();
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->ahead != nullptr, b + 1 < batches);
    const std::size_t queued = host_gpus().beside;
    compiled->forward(*batch, Phase::train);
    const std::size_t next =
        batch->ahead == nullptr ? 0 : batch->ahead->pixels.size() + 12 * batch->ahead->cuts.size();
    if (b > 0) {
      EXPECT_EQ(host_gpus().beside - queued, next) << "its own were there";
    }
    ahead += next;
    compiled->backward(1, false, [](int) {});
  }
  EXPECT_GT(ahead, 0U);
}

TEST(ImageTraining, FindsInputsThatAreNotFinite) {
  const Source source;
  const Graph graph = lenet();
  Compiled compiled(backend_named("host_gpu"), graph, {.batch = rows});
  compiled.set_weights(random_weights(graph));
  Loader loader = source.loader(destination_of(&*compiled), 1);
  auto batch = loader.next();
  ASSERT_TRUE(batch && batch->bytes != nullptr);
  compiled->forward(*batch, Phase::train);
  EXPECT_EQ(compiled->first_non_finite(*batch), "");
  ImageRecipe recipe = *batch->bytes->recipe;
  recipe.levels.assign(recipe.levels.size(), std::numeric_limits<float>::quiet_NaN());
  ByteImages bytes = *batch->bytes;
  bytes.recipe = std::make_shared<const ImageRecipe>(recipe);
  bytes.number = ~bytes.number;
  batch->bytes = &bytes;
  compiled->forward(*batch, Phase::train);
  EXPECT_EQ(compiled->first_non_finite(*batch), "input");
}

TrainConfig moving_images(const std::string& backend) {
  TrainConfig config = small_config(backend);
  config.data.images = 24;
  config.data.image_size = 28;
  config.batch_size = 8;
  config.crop = 3;
  config.flip = true;
  return config;
}

/// The same images at the same step as with `reference`, in both epochs.
TEST(ImageTraining, LossesAreThoseOfCpus) {
  const ScratchFolder folder;
  const auto cpu = train_alone(moving_images("reference"), folder / "cpu");
  const auto gpu = train_alone(moving_images("host_gpu"), folder / "gpu");
  ASSERT_TRUE(cpu && gpu);
  ASSERT_EQ(gpu->losses.size(), 6u);
  ASSERT_EQ(cpu->losses.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(gpu->losses[i], cpu->losses[i], 1e-4) << i;
  const auto validated = [&](const std::string& run) {
    return events_of(folder / run, "epoch").back()["val_loss"].get<double>();
  };
  EXPECT_NEAR(validated("gpu"), validated("cpu"), 1e-4);
  EXPECT_THAT(gpu->said, Contains(HasSubstr("which prepares the images")));
  EXPECT_THAT(cpu->said, Not(Contains(HasSubstr("which prepares the images"))));
  // A step's loss depends on its images.
  TrainConfig other = moving_images("host_gpu");
  other.flip = false;
  const auto unlike = train_alone(other, folder / "other");
  ASSERT_TRUE(unlike);
  EXPECT_GT(std::abs(unlike->losses[0] - cpu->losses[0]), 1e-3);
}

}  // namespace
}  // namespace dllaunch
