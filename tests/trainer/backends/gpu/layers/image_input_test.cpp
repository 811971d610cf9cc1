// The network's input is the same whether CPUs prepare the images or a kernel does so from the data
// set's bytes. On the host in place of a GPU.
#include "trainer/backends/gpu/layers/image_input.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>

#include <fmt/core.h>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/data/codecs/jpeg_bytes.hpp"
#include "tests/trainer/data/datasets/cifar_bytes.hpp"
#include "tests/trainer/data/datasets/idx_bytes.hpp"
#include "tests/trainer/data/datasets/npy_bytes.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/data/loader.hpp"

namespace dllaunch::gpu {
namespace {

/// Random bytes, different in each image.
class Noise : public Dataset {
 public:
  Noise(ImageShape shape, bool floats = false) : shape_(shape), floats_(floats) {}

  const ImageShape& image_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int64_t size(Split) const override { return 50; }
  bool floats() const override { return floats_; }
  Result<std::int32_t> read(Split, std::int64_t index,
                            std::span<std::uint8_t> pixels) const override {
    if (index == broken) return Error{ErrorKind::bad_request, "image is broken", ""};
    std::minstd_rand random(static_cast<unsigned>(index + 1));
    for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random() >> 8);
    return static_cast<std::int32_t>(index % 3);
  }
  Result<std::int32_t> read_floats(Split, std::int64_t index,
                                   std::span<float> pixels) const override {
    std::fill(pixels.begin(), pixels.end(), static_cast<float>(index));
    return 0;
  }

  std::int64_t broken = -1;

 private:
  ImageShape shape_;
  bool floats_;
  std::vector<std::string> names_{"a", "b", "c"};
};

Normalization uneven(int channels) {
  Normalization made;
  for (int c = 0; c < channels; ++c) {
    made.mean.push_back(0.1 + 0.17 * c);
    made.std.push_back(0.2 + 0.05 * c);
  }
  return made;
}

/// An ImageInput and its output.
template <typename T>
class Seen {
 public:
  explicit Seen(const Volume& shape)
      : shape_(shape),
        to_(memory_.add(static_cast<std::size_t>(shape.elements()) * sizeof(T))),
        input_(shape, memory_) {
    memory_.place();
    EXPECT_EQ(memory_.allocate(), gpu_success);
    input_.start();
  }
  ImageInput& input() { return input_; }
  /// [rows, depth, height, width, channels]
  std::vector<float> unpacked() {
    input_.unpack(nullptr, memory_.at<T>(to_));
    std::vector<float> values;
    for (std::int64_t i = 0; i < shape_.elements(); ++i) {
      values.push_back(get(memory_.at<T>(to_)[i]));
    }
    return values;
  }
  std::vector<float> of(const Batch& batch) {
    input_.send(batch);
    return unpacked();
  }

 private:
  Volume shape_;
  DeviceMemory memory_;
  int to_;
  ImageInput input_;
};

/// One way to prepare images, and images to prepare.
struct Case {
  const Dataset* dataset = nullptr;
  LoaderOptions options = {};
  Slice slice = {};
  bool volume = false;  // channels become depth
};

Volume volume_of(const Case& of) {
  const ImageShape shape =
      prepared_shape(of.dataset->image_shape(), of.options.preparation.image_size);
  return {.rows = of.options.batch_size,
          .depth = of.volume ? shape.channels : 1,
          .height = shape.height,
          .width = shape.width,
          .channels = of.volume ? 1 : shape.channels};
}

std::string words_of(const Case& of) {
  const ImageShape& shape = of.dataset->image_shape();
  const PreparationOptions& options = of.options.preparation;
  return fmt::format("{}x{}x{} to {}, crop {}, flip {}, {} of {} images, {}, epoch {}{}",
                     shape.channels, shape.height, shape.width,
                     options.image_size.value_or(shape.height), options.crop, options.flip,
                     of.slice.count, of.options.batch_size,
                     of.options.split == Split::train ? "train" : "validation", options.epoch,
                     of.volume ? ", volumes" : "");
}

/// The kernel's arguments, which a test may change.
struct Sent {
  std::vector<ImageCut> cuts;
  ImageRecipe recipe;
};
using Change = std::function<void(Sent&)>;

/// Whether the values are equal: exactly, or up to rounding if the image was resized, since the
/// compiler may fuse multiplications and additions.
template <typename T>
bool is_same(float got, float wanted, bool resized) {
  constexpr float largest = 6;  // normalised level
  constexpr float last_bits = sizeof(T) == sizeof(float) ? 3e-7F : 0.008F;
  return got == wanted || (resized && std::abs(got - wanted) <= last_bits * largest);
}

struct Difference {
  bool as_bytes = false;  // sent as bytes
  int elements = 0;       // that differ
};

/// Compares images prepared by CPUs with the kernel's, whose arguments are changed by `change`.
template <typename T>
Difference compare(
    const Case& one, const Change& change = [](Sent&) {}) {
  const Dataset& dataset = *one.dataset;
  const Normalization normalization = uneven(dataset.image_shape().channels);
  Loader plain(dataset, normalization, {}, {one.slice}, one.options);
  auto floats = plain.next();
  EXPECT_TRUE(floats && floats->bytes == nullptr);
  Seen<T> by_cpu(volume_of(one));
  const std::vector<float> wanted = by_cpu.of(*floats);

  Seen<T> by_gpu(volume_of(one));
  LoaderOptions options = one.options;
  options.destination.takes_bytes = [&](const ImageRecipe& r) {
    return by_gpu.input().supports(r);
  };
  Loader loader(dataset, normalization, {}, {one.slice}, options);
  auto batch = loader.next();
  EXPECT_TRUE(batch);
  EXPECT_TRUE(std::ranges::equal(batch->labels, floats->labels));
  EXPECT_EQ(batch->count, floats->count);
  if (batch->bytes == nullptr) return {};
  EXPECT_TRUE(batch->images.empty());
  ByteImages bytes = *batch->bytes;
  Sent sent{.cuts = {bytes.cuts.begin(), bytes.cuts.end()}, .recipe = *bytes.recipe};
  change(sent);
  bytes.cuts = sent.cuts;
  bytes.recipe = std::make_shared<const ImageRecipe>(sent.recipe);
  batch->bytes = &bytes;
  const std::vector<float> got = by_gpu.of(*batch);
  Difference difference{.as_bytes = true};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    difference.elements += is_same<T>(got[i], wanted[i], bytes.recipe->resizes()) ? 0 : 1;
  }
  return difference;
}

/// Returns random preparation options of all kinds, in coprime sizes.
PreparationOptions random_preparation(std::minstd_rand& random) {
  const auto below = [&](unsigned bound) { return static_cast<int>(random() % bound); };
  PreparationOptions options{.seed = random(), .epoch = below(3)};
  if (below(2) == 0) options.image_size = 1 + below(20);
  if (below(4) > 0) options.crop = below(4) == 0 ? 2'000'000'000 : below(7);
  options.flip = below(2) == 0;
  return options;
}

Case random_case(const Dataset& dataset, std::minstd_rand& random) {
  Case made{.dataset = &dataset};
  made.options = {.split = random() % 3 == 0 ? Split::validation : Split::train,
                  .workers = static_cast<int>(random() % 2),
                  .batch_size = 1 + static_cast<int>(random() % 5),
                  .preparation = random_preparation(random)};
  const auto images = static_cast<unsigned>(dataset.size(made.options.split));
  const auto most = std::min(images, static_cast<unsigned>(made.options.batch_size));
  made.slice.count = static_cast<int>(random() % (most + 1));
  made.slice.begin = static_cast<std::int64_t>(random() % (images - most + 1));
  made.volume = random() % 4 == 0;
  return made;
}

TEST(ImageInput, TheKernelPreparesImagesAsCpusDo) {
  std::minstd_rand random(7);
  int as_bytes = 0;
  int resized = 0;
  for (int i = 0; i < 200; ++i) {
    const auto side = [&] { return 1 + static_cast<int>(random() % 20); };
    const Noise dataset({.channels = 1 + i % 5, .height = side(), .width = side()});
    const Case one = random_case(dataset, random);
    SCOPED_TRACE(words_of(one));
    const Difference difference = i % 3 == 0   ? compare<float>(one)
                                  : i % 3 == 1 ? compare<BFloat16>(one)
                                               : compare<Float16>(one);
    ASSERT_EQ(difference.elements, 0);
    as_bytes += difference.as_bytes ? 1 : 0;
    resized += one.options.preparation.image_size ? 1 : 0;
  }
  EXPECT_GT(as_bytes, 120) << "the others are larger than what becomes of them";
  EXPECT_GT(resized, 60);
}

/// Small files for every kind of data set.
std::map<std::string_view, std::function<void(const ScratchFolder&)>> writers() {
  const auto noise = [](std::size_t bytes) {
    std::minstd_rand random(3);
    std::vector<std::uint8_t> made(bytes);
    for (auto& byte : made) byte = static_cast<std::uint8_t>(random() >> 8);
    return made;
  };
  const auto folders = [noise](const ScratchFolder& to) {
    for (const char* name :
         {"train/cat/1.jpg", "train/dog/2.jpg", "train/dog/3.jpg", "val/cat/4.jpg"}) {
      write_text(to / name, jpeg_bytes(noise(std::size_t{12} * 10 * 3), 12, 10));
    }
  };
  const auto arrays = [noise](const ScratchFolder& to) {
    for (const std::string split : {"train", "val"}) {
      write_text(to / (split + "_images.npy"),
                 npy_bytes(npy_header_text("|u1", "(6, 9, 7, 4)"),
                           raw_bytes(noise(std::size_t{6} * 9 * 7 * 4))));
      write_text(to / (split + "_labels.npy"),
                 npy_bytes(npy_header_text("|u1", "(6,)"), std::string(6, '\1')));
    }
  };
  const auto cifar100 = [](const ScratchFolder& to) {
    write_text(to / "train.bin", cifar_records(0, 9, 100, "\x13"));
    write_text(to / "test.bin", cifar_records(5, 4, 100, "\x13"));
  };
  const auto mnist = [](const ScratchFolder& to) { write_small_mnist(to.path()); };
  return {{"synthetic", [](const ScratchFolder&) {}},
          {"mnist", mnist},
          {"fashion-mnist", mnist},
          {"cifar10", [](const ScratchFolder& to) { write_small_cifar10(to.path()); }},
          {"cifar100", cifar100},
          {"image-folder", folders},
          {"npy", arrays}};
}

TEST(ImageInput, PreparesEveryKindOfDataSet) {
  const auto write = writers();
  std::minstd_rand random(11);
  for (const DatasetEntry& entry : datasets()) {
    if (entry.name == "tokens") continue;  // has no images
    SCOPED_TRACE(entry.name);
    ASSERT_TRUE(write.contains(entry.name)) << "a kind that this test has no files of";
    const ScratchFolder folder;
    write.at(entry.name)(folder);
    DatasetOptions options;
    options.path = folder.path().string();
    if (!entry.files) options.channels = 3;
    auto dataset = entry.open(options);
    ASSERT_TRUE(dataset) << dataset.error().what;
    int as_bytes = 0;
    for (int i = 0; i < 12; ++i) {
      const Case one = random_case(**dataset, random);
      SCOPED_TRACE(words_of(one));
      const Difference difference = compare<float>(one);
      ASSERT_EQ(difference.elements, 0);
      as_bytes += difference.as_bytes ? 1 : 0;
    }
    EXPECT_GT(as_bytes, 3);
  }
}

/// Mutations that the comparison must detect.
TEST(ImageInputMutation, EveryPartOfTheRecipeMatters) {
  const Noise dataset({.channels = 3, .height = 9, .width = 7});
  Case plain{.dataset = &dataset};
  plain.options = {.workers = 0, .batch_size = 4, .preparation = {.crop = 2, .flip = true}};
  plain.slice = {.begin = 3, .count = 4};
  Case resized = plain;
  resized.options.preparation.image_size = 11;
  const std::map<std::string, Change> everywhere{
      {"a line further down", [](Sent& sent) { sent.cuts[1].down += 1; }},
      {"a column further left", [](Sent& sent) { sent.cuts[3].right -= 1; }},
      {"the cut of the image beside it",
       [](Sent& sent) { std::ranges::rotate(sent.cuts, sent.cuts.begin() + 1); }},
      {"mirrored or not the other way round",
       [](Sent& sent) {
         const bool was = sent.cuts[0].kind == ImageCut::Kind::mirrored;
         sent.cuts[0].kind = was ? ImageCut::Kind::upright : ImageCut::Kind::mirrored;
       }},
      {"an image left out", [](Sent& sent) { sent.cuts.pop_back(); }},
      {"levels of the channel beside it",
       [](Sent& sent) {
         std::ranges::rotate(sent.recipe.levels, sent.recipe.levels.begin() + 256);
       }},
      {"black that is grey", [](Sent& sent) { sent.recipe.levels[0] += 0.5F; }}};
  const std::map<std::string, Change> of_resized{
      {"a line that weighs more", [](Sent& sent) { sent.recipe.rows.weight[2] += 0.01F; }},
      {"no step to the next column", [](Sent& sent) { sent.recipe.columns.step[4] = 0; }},
      {"another line", [](Sent& sent) { sent.recipe.rows.from[6] -= 1; }}};
  for (const Case* one : {&plain, &resized}) {
    ASSERT_TRUE(compare<float>(*one).as_bytes);
    EXPECT_EQ(compare<float>(*one).elements, 0);
    for (const auto& [what, change] : everywhere) {
      EXPECT_GT(compare<float>(*one, change).elements, 0) << what;
    }
  }
  for (const auto& [what, change] : of_resized) {
    EXPECT_GT(compare<float>(resized, change).elements, 0) << what;
  }
}

TEST(ImageInput, TakesBytesThatAreNoMoreThanTheFloats) {
  const auto takes = [](ImageShape from, std::optional<int> size, const Volume& shape) {
    const Noise dataset(from);
    const ImagePreparation preparation(dataset, uneven(from.channels), {.image_size = size});
    return Seen<float>(shape).input().supports(*preparation.recipe());
  };
  const Volume rgb{.rows = 2, .height = 8, .width = 8, .channels = 3};
  EXPECT_TRUE(takes({.channels = 3, .height = 8, .width = 8}, std::nullopt, rgb));
  EXPECT_TRUE(takes({.channels = 3, .height = 16, .width = 16}, 8, rgb));
  EXPECT_FALSE(takes({.channels = 3, .height = 17, .width = 16}, 8, rgb));
  EXPECT_FALSE(takes({.channels = 1, .height = 8, .width = 8}, std::nullopt, rgb));
  EXPECT_FALSE(takes({.channels = 3, .height = 8, .width = 9}, std::nullopt, rgb));
  const Volume depth{.rows = 2, .depth = 3, .height = 8, .width = 8, .channels = 1};
  EXPECT_TRUE(takes({.channels = 3, .height = 8, .width = 8}, std::nullopt, depth));
}

TEST(ImageInput, FloatsAreSentAsTheyAre) {
  const Noise dataset({.channels = 2, .height = 4, .width = 3}, /*floats=*/true);
  Case one{.dataset = &dataset};
  one.options = {.workers = 0, .batch_size = 3, .preparation = {.crop = 1, .flip = true}};
  one.slice = {.begin = 0, .count = 2};
  const Difference difference = compare<float>(one);
  EXPECT_FALSE(difference.as_bytes);
}

/// The replacement of a bad image is cropped as itself, not as the bad image.
TEST(ImageInput, BadImagesAreReplacedOrLeftOutAlike) {
  for (const Split split : {Split::train, Split::validation}) {
    Noise dataset({.channels = 3, .height = 6, .width = 5});
    dataset.broken = 4;
    Case one{.dataset = &dataset};
    one.options = {.split = split,
                   .workers = 0,
                   .batch_size = 4,
                   .skip_bad = true,
                   .preparation = {.crop = 2, .flip = true}};
    one.slice = {.begin = 3, .count = 3};
    const Difference difference = compare<float>(one);
    EXPECT_TRUE(difference.as_bytes);
    EXPECT_EQ(difference.elements, 0);
  }
}

/// Two batches of a data set, as a loader returns them.
class Ahead : public testing::Test {
 protected:
  Ahead() {
    const ImagePreparation preparation(dataset_, uneven(3), {.crop = 2, .flip = true});
    for (std::size_t b = 0; b < 3; ++b) {
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t index = static_cast<std::int64_t>(b) * rows + i;
        const std::span image(memory_[b].get() + i * 60, 60);
        EXPECT_TRUE(dataset_.read(Split::train, index, image));
        cuts_[b].push_back(preparation.cut_of(Split::train, index));
      }
      bytes_[b] = {.pixels = {memory_[b].get(), rows * 60},
                   .cuts = cuts_[b],
                   .recipe = preparation.recipe(),
                   .memory = {memory_[b], reinterpret_cast<const std::byte*>(memory_[b].get())},
                   .number = 1000 + b};
    }
  }
  Batch batch(std::size_t b, std::size_t next) {
    return {.images = {}, .labels = {}, .count = rows, .bytes = &bytes_[b], .ahead = &bytes_[next]};
  }
  std::vector<float> alone(std::size_t b) { return Seen<float>(shape_).of(batch(b, b)); }

  static constexpr int rows = 2;
  const Noise dataset_{{.channels = 3, .height = 5, .width = 4}};
  const Volume shape_{.rows = rows, .height = 5, .width = 4, .channels = 3};
  std::array<std::shared_ptr<std::uint8_t[]>, 3> memory_{
      std::make_shared<std::uint8_t[]>(rows * 60), std::make_shared<std::uint8_t[]>(rows * 60),
      std::make_shared<std::uint8_t[]>(rows * 60)};
  std::array<std::vector<ImageCut>, 3> cuts_;
  std::array<ByteImages, 3> bytes_;
};

TEST_F(Ahead, WhatIsOnItsWayIsNotSentAgain) {
  const std::vector<float> second = alone(1);
  Seen<float> seen(shape_);
  EXPECT_EQ(seen.of(batch(0, 1)), alone(0));
  seen.input().prefetch(batch(0, 1));
  EXPECT_EQ(seen.unpacked(), second) << "they travel without being asked for";
  bytes_[1].pixels = {};  // sending it again would send nothing
  bytes_[1].cuts = {};
  EXPECT_EQ(seen.of(batch(1, 2)), second);
}

TEST_F(Ahead, TakesTheirPlaceOnlyBehindTheLastLookAtThoseBefore) {
  Seen<float> seen(shape_);
  seen.of(batch(0, 1));
  const std::uint64_t released = host_gpu_work();
  gpu_clear_later(nullptr, 0, nullptr);  // the rest of the step
  seen.input().prefetch(batch(0, 1));
  EXPECT_EQ(host_gpus().follows, released);
}

TEST_F(Ahead, AnotherBatchThanExpectedIsSent) {
  Seen<float> seen(shape_);
  seen.of(batch(0, 1));
  seen.input().prefetch(batch(0, 1));
  EXPECT_EQ(seen.of(batch(0, 1)), alone(0)) << "the same again, to look for what is not finite";
  EXPECT_EQ(seen.of(batch(1, 2)), alone(1));
  seen.input().prefetch(batch(1, 2));
  const std::vector<float> floats(60 * rows, 0.5F);
  EXPECT_EQ(seen.of({.images = floats, .labels = {}, .count = 1})[0], 0.5F);
  EXPECT_EQ(seen.of(batch(2, 0)), alone(2));
}

/// As if an epoch ended early: the prefetched images are not used, and their loader is destroyed.
TEST_F(Ahead, MemoryStaysWhileTheyTravel) {
  Seen<float> seen(shape_);
  seen.of(batch(0, 1));
  seen.input().prefetch(batch(0, 1));
  const std::weak_ptr<std::uint8_t[]> memory = memory_[1];
  memory_[1].reset();
  bytes_[1] = {};
  EXPECT_FALSE(memory.expired());
  seen.of(batch(2, 0));
  EXPECT_TRUE(memory.expired());
}

}  // namespace
}  // namespace dllaunch::gpu
