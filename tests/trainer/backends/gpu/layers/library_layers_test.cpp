// Engines through a whole executable: one plan per shape, rank 0's choices, the file.
#include "trainer/backends/gpu/layers/library_layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/rank/measured.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/gpu/compiled_with_engines.hpp"
#include "tests/trainer/backends/gpu/device_arena.hpp"
#include "tests/trainer/backends/operation_cases.hpp"

namespace dllaunch::gpu {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Two of its three convolutions have the same shape.
Graph block() {
  for (const OperationCase& one : operation_cases()) {
    if (one.name == "block") return one.graph();
  }
  return {};
}

/// Choices as on a rank of a job, whose rank 0 sends `sent`.
class Choices final : public SharedChoices {
 public:
  explicit Choices(bool is_rank_0, std::string sent = "")
      : is_rank_0_(is_rank_0), sent_(std::move(sent)) {}
  bool decides() const override { return is_rank_0_; }
  std::string share(std::string mine) override {
    shared.push_back(mine);
    return is_rank_0_ ? mine : sent_;
  }
  std::vector<std::string> shared;

 private:
  bool is_rank_0_;
  std::string sent_;
};

class EnginesOfLayers : public testing::Test {
 protected:
  void SetUp() override {
    host_engines() = {};
    host_engines().listed = {{{1}}, {{2}, Relaxation::fft}};
    book->warn_through({});
  }
  void TearDown() override { host_engines() = {}; }

  std::unique_ptr<Executable> compile(Choices* choices) {
    auto made = compile_with_engines(book, graph, choices, warnings);
    EXPECT_TRUE(made) << (made ? "" : made.error().what);
    return *std::move(made);
  }
  void step(Executable& executable) {
    const DeviceArena weights(executable.slots());
    const DeviceArena gradients(executable.slots());
    executable.attach(weights.pieces(), gradients.pieces());
    executable.forward(Images(graph, 2).batch(), Phase::train);
    executable.backward(1, false, [](int) {});
  }

  Graph graph = block();
  TemporaryFolder folder;
  std::filesystem::path file = folder.path() + "/convolutions";
  std::shared_ptr<EngineBook> book = std::make_shared<EngineBook>(file, "here");
  std::vector<std::string> warnings;
};

TEST_F(EnginesOfLayers, AShapeIsPlannedOnce) {
  const auto executable = compile(nullptr);
  // Two passes of the first convolution, which reads images, and three of the other two.
  EXPECT_THAT(host_engines().planned, SizeIs(5));
  EXPECT_THAT(host_engines().runs, SizeIs(5)) << "tried once each";
  host_engines().runs.clear();
  step(*executable);
  EXPECT_THAT(host_engines().runs, SizeIs(8));
}

TEST_F(EnginesOfLayers, RankZeroSharesItsChoicesAndWritesThemAfterTheFirstStep) {
  Choices choices(/*is_rank_0=*/true);
  const auto executable = compile(&choices);
  ASSERT_THAT(choices.shared, SizeIs(1));
  EXPECT_THAT(measurements_of(choices.shared[0]), SizeIs(5));
  EXPECT_FALSE(std::filesystem::exists(file));
  step(*executable);
  EXPECT_THAT(recall_all(file), SizeIs(5));
  std::filesystem::remove(file);
  step(*executable);
  EXPECT_FALSE(std::filesystem::exists(file)) << "once";
}

TEST_F(EnginesOfLayers, WhatFailsInTheFirstStepIsNotWritten) {
  host_engines().listed = {{{1}}, {{3}}};
  Choices choices(/*is_rank_0=*/true);
  const auto executable = compile(&choices);
  host_engines().fails = {{1}};
  step(*executable);
  for (const Measurement& kept : recall_all(file)) EXPECT_EQ(kept.values, EngineId{3});
  EXPECT_THAT(recall_all(file), SizeIs(5));
}

TEST_F(EnginesOfLayers, OtherRanksFollowAndDoNotWrite) {
  Choices rank_0(/*is_rank_0=*/true);
  host_engines().listed = {{{2}, Relaxation::fft}};
  static_cast<void>(compile(&rank_0));
  EXPECT_THAT(warnings, Contains(HasSubstr("FFT (larger rounding errors): forward,")));
  warnings.clear();
  host_engines().listed = {{{1}}, {{2}, Relaxation::fft}};
  host_engines().runs.clear();
  book = std::make_shared<EngineBook>(file, "here");
  Choices other(/*is_rank_0=*/false, rank_0.shared[0]);
  const auto executable = compile(&other);
  step(*executable);
  EXPECT_THAT(other.shared, testing::ElementsAre("")) << "once";
  EXPECT_THAT(host_engines().runs, Each(EngineId{2}));
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_THAT(warnings, IsEmpty()) << "rank 0 has said it";
}

TEST_F(EnginesOfLayers, ATrialWritesNothing) {
  const auto executable = compile(nullptr);
  step(*executable);
  EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace dllaunch::gpu
