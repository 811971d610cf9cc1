#include "trainer/data/loader.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <set>
#include <stdexcept>

#include "tests/trainer/address_space.hpp"

namespace dllaunch {
namespace {

/// Image i has all pixels i % 256 and label i. Reading `broken` fails, reading `thrown` throws.
class Numbered : public Dataset {
 public:
  explicit Numbered(std::int64_t images) : images_(images) {}

  const ImageShape& image_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int64_t size(Split) const override { return images_; }
  Result<std::int32_t> read(Split, std::int64_t index,
                            std::span<std::uint8_t> pixels) const override {
    ++reads;
    if (index == broken) return Error{ErrorKind::bad_request, "image is broken", ""};
    if (index == thrown) throw std::runtime_error("out of luck");
    // Uneven delays, so that workers overtake each other.
    if (index % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    std::fill(pixels.begin(), pixels.end(), static_cast<std::uint8_t>(index));
    return static_cast<std::int32_t>(index);
  }

  std::int64_t broken = -1;
  std::int64_t thrown = -1;
  mutable std::atomic<int> reads{0};

 private:
  std::int64_t images_;
  ImageShape shape_{.channels = 2, .height = 2, .width = 3};
  std::vector<std::string> names_{"one"};
};

const Normalization plain{.mean = {0, 0.5}, .std = {1, 0.5}};

std::vector<Slice> slices_of(std::int64_t images, int batch) {
  return deal_epoch(images, {1, batch, 1}, 0, 0);
}

TEST(Loader, UsuallyLeavesComputingCpusAloneAndTakesThoseBesideAGpu) {
  for (const int cpus : {0, 1, 2, 16, 96}) EXPECT_EQ(usual_workers(false, cpus), 2);
  EXPECT_EQ(usual_workers(true, 0), 2) << "unknown";
  EXPECT_EQ(usual_workers(true, 1), 2) << "never fewer than before";
  EXPECT_EQ(usual_workers(true, 8), 7) << "one for the training thread";
  EXPECT_EQ(usual_workers(true, 16), 15);
  EXPECT_EQ(usual_workers(true, 96), 16);
}

TEST(Loader, ReturnsSlicesInOrderWithAnyNumberOfWorkers) {
  const Numbered dataset(50);
  const auto order = epoch_order(3, 0, 50);
  for (const int workers : {0, 1, 2, 5}) {
    Loader loader(dataset, plain, order, slices_of(50, 4),
                  {.split = Split::train, .workers = workers, .batch_size = 4});
    std::vector<std::int64_t> seen;
    for (std::size_t i = 0; i < 13; ++i) {
      auto batch = loader.next();
      ASSERT_TRUE(batch);
      EXPECT_EQ(batch->count, i == 12 ? 2 : 4);
      EXPECT_EQ(batch->images.size(), 4u * 12);
      for (int k = 0; k < batch->count; ++k) {
        const auto at = static_cast<std::size_t>(k);
        seen.push_back(batch->labels[at]);
        const double value = static_cast<double>(seen.back() % 256) / 255;
        EXPECT_FLOAT_EQ(batch->images[at * 12], static_cast<float>(value));
        EXPECT_FLOAT_EQ(batch->images[at * 12 + 6], static_cast<float>((value - 0.5) / 0.5));
      }
    }
    EXPECT_EQ(seen, order) << workers << " workers";
  }
}

TEST(Loader, CropsAndFlipsTheSameWithAnyNumberOfWorkers) {
  const Numbered dataset(50);
  const auto order = epoch_order(3, 0, 50);
  std::vector<float> first;
  for (const int workers : {0, 1, 5}) {
    std::vector<float> seen;
    Loader loader(dataset, plain, order, slices_of(50, 4),
                  {.split = Split::train,
                   .workers = workers,
                   .batch_size = 4,
                   .preparation = {.image_size = 5, .crop = 3, .flip = true, .epoch = 2}});
    for (std::size_t i = 0; i < 13; ++i) {
      auto batch = loader.next();
      ASSERT_TRUE(batch);
      EXPECT_EQ(batch->images.size(), 4u * 50);
      const auto images = batch->images.first(static_cast<std::size_t>(batch->count) * 50);
      seen.insert(seen.end(), images.begin(), images.end());
    }
    if (workers == 0) first = seen;
    EXPECT_EQ(seen, first) << workers << " workers";
  }
}

bool anything(const ImageRecipe&) {
  return true;
}

/// Checks the bytes that replace images, and their memory.
TEST(Loader, PassesBytesToABackendThatPreparesImages) {
  const Numbered dataset(50);
  const auto order = epoch_order(3, 0, 50);
  const PreparationOptions options{.image_size = 5, .crop = 3, .flip = true, .epoch = 2};
  const ImagePreparation preparation(dataset, plain, options);
  for (const int workers : {0, 1, 5}) {
    std::set<const std::byte*> pieces;
    const auto memory = [&](std::size_t bytes) {
      EXPECT_EQ(bytes, 4 * (12 + sizeof(ImageCut)));
      const std::shared_ptr<std::byte[]> made(new std::byte[bytes]);
      pieces.insert(made.get());
      return std::shared_ptr<std::byte>(made, made.get());
    };
    Loader loader(dataset, plain, order, slices_of(50, 4),
                  {.workers = workers,
                   .batch_size = 4,
                   .preparation = options,
                   .destination = {.memory = memory, .takes_bytes = anything}});
    std::size_t at = 0;
    std::set<std::uint64_t> numbers{0};
    for (std::size_t i = 0; i < 13; ++i) {
      auto batch = loader.next();
      ASSERT_TRUE(batch && batch->bytes != nullptr);
      EXPECT_TRUE(batch->images.empty());
      const ByteImages& bytes = *batch->bytes;
      ASSERT_EQ(bytes.cuts.size(), static_cast<std::size_t>(batch->count));
      ASSERT_EQ(bytes.pixels.size(), bytes.cuts.size() * 12);
      EXPECT_TRUE(pieces.contains(bytes.memory.get()));
      EXPECT_EQ(bytes.recipe->from.width, 3);
      EXPECT_EQ(bytes.recipe->columns.from.size(), 5u);
      EXPECT_TRUE(numbers.insert(bytes.number).second) << "of another batch";
      for (std::size_t k = 0; k < bytes.cuts.size(); ++k, ++at) {
        EXPECT_EQ(batch->labels[k], order[at]);
        EXPECT_EQ(bytes.pixels[k * 12 + 11], order[at]);
        const ImageCut wanted = preparation.cut_of(Split::train, order[at]);
        EXPECT_EQ(bytes.cuts[k].down, wanted.down);
        EXPECT_EQ(bytes.cuts[k].right, wanted.right);
        EXPECT_EQ(bytes.cuts[k].kind, wanted.kind);
      }
    }
  }
}

/// A batch that is ready is announced one call ahead.
TEST(Loader, AnnouncesTheNextBytes) {
  const Numbered dataset(20);
  const auto loader_of = [&](int workers) {
    return Loader(dataset, plain, {}, slices_of(20, 2),
                  {.workers = workers,
                   .batch_size = 2,
                   .destination = {.memory = {}, .takes_bytes = anything}});
  };
  for (const int workers : {1, 3}) {
    int told = 0;
    // On a busy machine the next one takes longer to be ready.
    for (int pause_ms = 20; told < 9 && pause_ms <= 2000; pause_ms *= 10) {
      Loader loader = loader_of(workers);
      told = 0;
      std::uint64_t next = 0;
      for (int i = 0; i < 10; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
        auto batch = loader.next();
        ASSERT_TRUE(batch);
        if (next != 0) {
          EXPECT_EQ(batch->bytes->number, next);
        }
        next = batch->ahead == nullptr ? 0 : batch->ahead->number;
        told += next != 0 ? 1 : 0;
      }
      EXPECT_EQ(next, 0u) << "nothing comes after the last";
    }
    EXPECT_EQ(told, 9) << workers << " workers";
  }
  Loader alone = loader_of(0);
  EXPECT_EQ(alone.next()->ahead, nullptr) << "it is read when its turn comes";
}

TEST(Loader, WithoutAnOrderPositionsAreImages) {
  const Numbered dataset(10);
  Loader loader(dataset, plain, {}, {{7, 2}}, {.workers = 1, .batch_size = 2});
  auto batch = loader.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->labels[0], 7);
  EXPECT_EQ(batch->labels[1], 8);
}

TEST(Loader, PreparesABoundedNumberOfBatches) {
  const Numbered dataset(1000);
  Loader loader(dataset, plain, {}, slices_of(1000, 1), {.workers = 2, .batch_size = 1});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(dataset.reads, 4);
  ASSERT_TRUE(loader.next());
  ASSERT_TRUE(loader.next());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(dataset.reads, 6);
}

/// An image is 2 x 2 x 3 floats and a label: 52 bytes.
TEST(Loader, KeepsFewerBatchesWhereMemoryIsShort) {
  const auto order = epoch_order(3, 0, 50);
  for (const std::size_t ready : {1, 2, 3}) {
    for (const bool bytes : {false, true}) {
      const Numbered dataset(50);
      const std::size_t image = bytes ? 12 + sizeof(ImageCut) + 4 : 52;
      std::size_t pieces = 0;
      const auto memory = [&](std::size_t size) {
        ++pieces;
        const std::shared_ptr<std::byte[]> made(new std::byte[size]);
        return std::shared_ptr<std::byte>(made, made.get());
      };
      ImageDestination destination{.memory = memory, .takes_bytes = {}};
      if (bytes) destination.takes_bytes = anything;
      Loader loader(dataset, plain, order, slices_of(50, 4),
                    {.workers = 4,
                     .batch_size = 4,
                     .destination = destination,
                     .memory = static_cast<std::int64_t>(2 * 4 * ready * image)});
      EXPECT_EQ(pieces, ready);
      std::vector<std::int64_t> seen;
      for (int i = 0; i < 13; ++i) {
        auto batch = loader.next();
        ASSERT_TRUE(batch);
        EXPECT_LE(dataset.reads, static_cast<int>(seen.size() + 4 * ready));
        seen.insert(seen.end(), batch->labels.begin(), batch->labels.begin() + batch->count);
      }
      EXPECT_EQ(seen, order) << ready;
    }
  }
}

TEST(Loader, MayBeDestroyedAtAnyTime) {
  const Numbered dataset(100);
  for (int taken = 0; taken < 20; ++taken) {
    Loader loader(dataset, plain, {}, slices_of(100, 5), {.workers = 3, .batch_size = 5});
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(loader.next());
  }
  const Loader without_slices(dataset, plain, {}, {}, {.workers = 2, .batch_size = 5});
}

/// Exits with 0 if all images arrive in order although only `room` bytes are available for the
/// stacks of eight threads, 8 MiB each.
[[noreturn]] void load_with_room_for_stacks(std::size_t room) {
  const Numbered dataset(50);
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = address_space() + room;
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  Loader loader(dataset, plain, {}, slices_of(50, 4), {.workers = 8, .batch_size = 4});
  for (const auto& slice : slices_of(50, 4)) {
    auto batch = loader.next();
    if (!batch || batch->count != slice.count || batch->labels[0] != slice.begin) std::_Exit(1);
  }
  std::_Exit(0);
}

TEST(Loader, WorksWithTheThreadsThatCouldBeStarted) {
  if (!memory_may_be_limited()) GTEST_SKIP() << "a sanitizer maps memory itself";
  for (const std::size_t mib : {1, 20, 50}) {
    EXPECT_EXIT(load_with_room_for_stacks(mib << 20), testing::ExitedWithCode(0), "") << mib;
  }
}

TEST(Loader, ABadTrainingImageIsReplacedByTheNextGoodOne) {
  for (const int workers : {0, 1, 3}) {
    Numbered dataset(10);
    dataset.broken = 9;  // the next good one is image 0
    Loader loader(dataset, plain, {4, 9, 2, 0}, slices_of(4, 2),
                  {.workers = workers, .batch_size = 2, .skip_bad = true});
    std::vector<std::int32_t> labels;
    for (int i = 0; i < 2; ++i) {
      auto batch = loader.next();
      ASSERT_TRUE(batch);
      EXPECT_EQ(batch->count, 2);
      labels.insert(labels.end(), batch->labels.begin(), batch->labels.end());
    }
    EXPECT_EQ(labels, (std::vector<std::int32_t>{4, 0, 2, 0}));
    EXPECT_EQ(loader.take_skipped().size(), 1u);
    EXPECT_TRUE(loader.take_skipped().empty());
  }
}

TEST(Loader, ABadValidationImageIsLeftOut) {
  Numbered dataset(5);
  dataset.broken = 1;
  Loader loader(dataset, plain, {}, slices_of(5, 3),
                {.split = Split::validation, .workers = 1, .batch_size = 3, .skip_bad = true});
  auto batch = loader.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->count, 2);
  EXPECT_EQ(batch->labels[0], 0);
  EXPECT_EQ(batch->labels[1], 2);
  EXPECT_FLOAT_EQ(batch->images[12], 2.0F / 255);
  ASSERT_EQ(loader.take_skipped().size(), 1u);
  EXPECT_EQ(loader.next()->count, 2);
}

TEST(Loader, FailsIfNoImageIsGood) {
  Numbered dataset(1);
  dataset.broken = 0;
  Loader loader(dataset, plain, {}, {{0, 1}}, {.workers = 1, .batch_size = 1, .skip_bad = true});
  auto batch = loader.next();
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().kind, ErrorKind::unsatisfiable);
  EXPECT_EQ(batch.error().what, "1 images in a row are bad, the first of them image is broken");
}

TEST(Loader, AStorageErrorIsNotABadImage) {
  Numbered dataset(4);
  dataset.thrown = 1;
  Loader loader(dataset, plain, {}, slices_of(4, 2),
                {.workers = 1, .batch_size = 2, .skip_bad = true});
  EXPECT_FALSE(loader.next());
}

TEST(Loader, ReportsErrorsInOrder) {
  for (const int workers : {0, 2}) {
    Numbered dataset(10);
    dataset.broken = 5;
    dataset.thrown = 9;
    Loader loader(dataset, plain, {}, slices_of(10, 2), {.workers = workers, .batch_size = 2});
    ASSERT_TRUE(loader.next());
    ASSERT_TRUE(loader.next());
    auto broken = loader.next();
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().what, "image is broken");
    ASSERT_TRUE(loader.next());
    auto thrown = loader.next();
    ASSERT_FALSE(thrown);
    EXPECT_EQ(thrown.error().what, "reading images: out of luck");
  }
}

}  // namespace
}  // namespace dllaunch
