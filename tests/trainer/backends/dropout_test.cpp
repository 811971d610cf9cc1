#include "trainer/graph/dropout.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

double part_kept(std::uint64_t key, std::string_view layer, double rate) {
  constexpr std::uint64_t elements = 100'000;
  const DropoutMask mask(key, layer, rate);
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < elements; ++i) kept += mask.keeps(i) ? 1 : 0;
  return static_cast<double>(kept) / elements;
}

TEST(Dropout, KeepsTheRightPart) {
  EXPECT_EQ(part_kept(1, "drop", 0), 1);
  for (const double rate : {0.1, 0.5, 0.9}) EXPECT_NEAR(part_kept(1, "drop", rate), 1 - rate, 0.01);
}

TEST(Dropout, EveryPlaceHasAMaskOfItsOwn) {
  std::set<std::uint64_t> keys;
  for (const std::uint64_t seed : {1u, 2u}) {
    for (std::int64_t step = 0; step < 5; ++step) {
      for (int rank = 0; rank < 5; ++rank) {
        for (std::size_t micro = 0; micro < 3; ++micro) {
          keys.insert(batch_key({seed, step, rank, micro}));
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), 2u * 5 * 5 * 3);
  // Masks of two layers agree in half of the elements, as independent ones do.
  const DropoutMask one(1, "drop1", 0.5);
  const DropoutMask other(1, "drop2", 0.5);
  int same = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) same += one.keeps(i) == other.keeps(i) ? 1 : 0;
  EXPECT_NEAR(same, 5000, 300);
}

TEST(Dropout, IsOffInEvaluation) {
  GraphBuilder net("m", {8});
  net.add("drop", Dropout{});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  const Images images(*graph, 3);
  for (const BackendEntry& backend : usable_backends()) {
    Compiled compiled(backend, *graph, {.batch = 4, .threads = 1});
    compiled->forward(images.batch(), Phase::train);
    const auto trained = compiled->logits();
    EXPECT_GT(std::ranges::count(trained, 0.0), 0) << backend.name;
    compiled->forward(images.batch(), Phase::evaluate);
    EXPECT_EQ(compiled->logits(), std::vector<double>(images.pixels.begin(), images.pixels.end()))
        << backend.name;
    for (std::size_t i = 0; i < trained.size(); ++i) {
      EXPECT_TRUE(trained[i] == 0 || trained[i] == 2.0 * static_cast<double>(images.pixels[i]));
    }
  }
}

TEST(Dropout, AResumedRunGoesOnToTheLastBit) {
  for (const BackendEntry& backend : usable_backends()) {
    SCOPED_TRACE(backend.name);
    auto config = small_config(std::string(backend.name));
    config.model = "mlp";
    config.data.image_size = 8;
    config.accumulate = 2;
    const ScratchFolder folder;
    auto whole = train_alone(config, folder / "whole");
    ASSERT_TRUE(whole) << whole.error().what;
    ASSERT_TRUE(train_alone(config, folder / "parts", /*stop_after=*/3));
    ASSERT_TRUE(train_alone(config, folder / "parts"));
    EXPECT_EQ(weights_at(folder / "parts", "step-00000008"),
              weights_at(folder / "whole", "step-00000008"));
    config.seed = 2;
    auto other = train_alone(config, folder / "other");
    ASSERT_TRUE(other);
    EXPECT_NE(other->losses, whole->losses);
  }
}

}  // namespace
}  // namespace dllaunch
