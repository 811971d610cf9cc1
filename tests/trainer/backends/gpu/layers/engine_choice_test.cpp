#include "trainer/backends/gpu/layers/engine_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/host_gpu/host_math.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/trainer/backends/gpu/convolution_arrays.hpp"
#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"

namespace dllaunch::gpu {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The weights are the largest array, so memory order differs from argument order.
const ConvolutionShape shape{.type = DType::f32,
                             .x = {1, 1, 2, 2, 100},
                             .y = {1, 1, 1, 1, 200},
                             .window = {{1, 2, 2}, {1, 1, 1}, {0, 0, 0}}};

struct Candidate {
  std::int64_t number = 0;
  double seconds = 0.001;  // of a call, by the book's clock
  Relaxation relaxation = Relaxation::none;
  std::size_t workspace = 0;
  bool fails = false;
  bool is_planned = true;
};

/// A library of candidates and a clock that only their calls move.
class EngineChoice : public testing::Test {
 protected:
  Result<EnginePlan> choose(const ConvolutionShape& of = shape) {
    runs.clear();
    return choose_engine("The library", of, Pass::forward, engines(), book);
  }
  std::int64_t chosen(const ConvolutionShape& of = shape) {
    const auto plan = choose(of);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().what);
    return plan ? plan->id.front() : -1;
  }
  PassEngines engines() {
    return {.list =
                [this] {
                  std::vector<Engine> all;
                  for (const Candidate& one : candidates)
                    all.push_back({{one.number}, one.relaxation});
                  return all;
                },
            .plan = [this](const EngineId& id) -> std::optional<EnginePlan> {
              for (const Candidate& one : candidates) {
                if (id != EngineId{one.number} || !one.is_planned) continue;
                return EnginePlan{
                    id, one.relaxation, one.workspace,
                    [this, one](GpuStream, const ConvolutionMemory& at) { return run(one, at); }};
              }
              return std::nullopt;
            }};
  }
  std::string run(const Candidate& one, const ConvolutionMemory& at) {
    runs.push_back(one.number);
    for (const auto& [array, elements] :
         {std::pair(at.x, 400), std::pair(at.w, 80'000), std::pair(at.y, 200)}) {
      EXPECT_TRUE(gpu_owns(array));
      const auto* const values = static_cast<const float*>(array);
      EXPECT_EQ(values[0], 0);
      EXPECT_EQ(values[elements - 1], 0);
    }
    if (one.workspace > 0) std::memset(at.workspace, 0xFF, one.workspace);
    now += one.seconds;
    return one.fails ? "it does not run" : "";
  }

  std::vector<Candidate> candidates;
  std::vector<std::int64_t> runs;
  std::vector<std::string> warnings;
  double now = 100;
  EngineBook book = [this] {
    EngineBook made("", "here", [this] { return now; });
    made.warn_through([this](std::string_view line) { warnings.emplace_back(line); });
    return made;
  }();
};

TEST_F(EngineChoice, PicksTheFastestOnZeros) {
  for (std::int64_t fast = 0; fast < 3; ++fast) {
    candidates = {{.number = 0, .workspace = 64}, {.number = 1, .workspace = 4096}, {.number = 2}};
    candidates[static_cast<std::size_t>(fast)].seconds = 0.0005;
    EXPECT_EQ(chosen(), fast);
    EXPECT_EQ(book.find(shape, Pass::forward), EngineId{fast});
    book.forget(shape, Pass::forward);
  }
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(EngineChoice, OneAloneIsTriedOnce) {
  candidates = {{.number = 5}};
  EXPECT_EQ(chosen(), 5);
  EXPECT_THAT(runs, ElementsAre(5));
  EXPECT_EQ(chosen(), 5);
  EXPECT_THAT(runs, ElementsAre(5)) << "of an earlier choice";
  book.forget(shape, Pass::forward);
  candidates[0].fails = true;
  const auto none = choose();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(none.error().what, HasSubstr("all engines of The library fail for convolution "
                                           "forward,f32,"));
  EXPECT_THAT(none.error().what, HasSubstr(": it does not run"));
}

TEST_F(EngineChoice, WhatWasChosenAndFailsIsForgotten) {
  candidates = {{.number = 1}, {.number = 2, .seconds = 1}};
  for (const bool is_planned : {true, false}) {
    book.choose(shape, Pass::forward, {1}, /*tried=*/true);
    candidates[0].fails = true;
    candidates[0].is_planned = is_planned;
    warnings.clear();
    EXPECT_EQ(chosen(), 2);
    EXPECT_EQ(book.find(shape, Pass::forward), EngineId{2});
    EXPECT_THAT(warnings,
                ElementsAre(HasSubstr(is_planned ? "(it does not run)" : "(cannot be planned)")));
  }
}

TEST_F(EngineChoice, WhatIsChosenIsNotTimedAgain) {
  book.choose(shape, Pass::forward, {2}, /*tried=*/true);
  candidates = {{.number = 1, .seconds = 0.001}, {.number = 2, .seconds = 1}};
  EXPECT_EQ(chosen(), 2);
  EXPECT_THAT(runs, ElementsAre(2));
}

TEST_F(EngineChoice, TheLeastRelaxationThatRunsIsTaken) {
  candidates = {{.number = 1, .relaxation = Relaxation::unordered},
                {.number = 2, .relaxation = Relaxation::rounded_sums},
                {.number = 3, .relaxation = Relaxation::rounded_inputs},
                {.number = 4, .relaxation = Relaxation::fft},
                {.number = 5, .relaxation = Relaxation::winograd},
                {.number = 6, .seconds = 0.5}};
  for (std::int64_t best = 6; best >= 1; --best) {
    EXPECT_EQ(chosen(), best) << "though the others are faster";
    EXPECT_THAT(runs, ElementsAre(best)) << "the others are not even tried";
    book.tell_relaxations();
    EXPECT_EQ(warnings.size(), best == 6 ? 0U : 1U);
    warnings.clear();
    book.forget(shape, Pass::forward);
    candidates.pop_back();
  }
  const auto none = choose();
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("The library has no engine for convolution forward,"));
}

TEST_F(EngineChoice, NothingFailsWhileAnyEngineRuns) {
  for (std::int64_t i = 0; i < 30; ++i) {
    candidates.push_back(
        {.number = i, .relaxation = i < 15 ? Relaxation::none : Relaxation::fft, .fails = i < 29});
  }
  candidates[3].workspace = max_workspace + 1;
  candidates[3].fails = false;
  candidates[4].is_planned = false;
  EXPECT_EQ(chosen(), 29);
  candidates[29].seconds = 1000;  // even if the time is over
  book.forget(shape, Pass::forward);
  EXPECT_EQ(chosen(), 29);
}

TEST_F(EngineChoice, TimesFewAndASlowOneOnce) {
  for (std::int64_t i = 0; i < 12; ++i) candidates.push_back({.number = i});
  candidates[1].seconds = 0.1;
  EXPECT_EQ(chosen(), 0);
  EXPECT_EQ(std::ranges::count(runs, 0), 4);
  EXPECT_EQ(std::ranges::count(runs, 1), 2) << "the first call may compile";
  EXPECT_EQ(std::ranges::count(runs, 7), 4);
  EXPECT_EQ(std::ranges::count(runs, 8), 0);
}

/// A start takes a stated time, however many shapes there are and however slow engines are.
TEST_F(EngineChoice, TheSearchEndsInTime) {
  candidates = {{.number = 1, .seconds = 0.3}, {.number = 2, .seconds = 0.2}, {.number = 3}};
  double begin = now;
  EXPECT_EQ(chosen(), 1) << "the second is not begun after a second";
  EXPECT_LE(now - begin, search_seconds_each + 0.3);
  begin = 100;
  ConvolutionShape other = shape;
  for (other.y.channels = 300; other.y.channels < 400; ++other.y.channels) {
    const auto plan = choose_engine(
        "The library", other, Pass::forward,
        {.list =
             [] {
               return std::vector<Engine>{{{1}}, {{2}}};
             },
         .plan =
             [this](const EngineId& id) {
               return std::optional(
                   EnginePlan{id, Relaxation::none, 0, [this](GpuStream, const ConvolutionMemory&) {
                                now += 0.3;
                                return std::string();
                              }});
             }},
        book);
    ASSERT_TRUE(plan);
  }
  EXPECT_LE(now - begin, search_seconds + 101 * 0.3) << "then one call each";
  EXPECT_GE(now - begin, search_seconds);
}

TEST_F(EngineChoice, WithoutTimeTheEngineOfAnotherBatchIsFirst) {
  candidates = {{.number = 1}, {.number = 2}, {.number = 3, .seconds = 0.0001}};
  EXPECT_EQ(chosen(), 3);
  book.spend(search_seconds);
  ConvolutionShape larger = shape;
  larger.x.rows = larger.y.rows = 2;
  EXPECT_EQ(chosen(larger), 3);
  EXPECT_THAT(runs, ElementsAre(3));
  larger.y.channels += 1;
  EXPECT_EQ(chosen(larger), 1) << "another convolution";
}

TEST_F(EngineChoice, WithoutMemoryTheFirstIsTakenUntried) {
  candidates = {{.number = 1, .is_planned = false}, {.number = 2}, {.number = 3}};
  const std::size_t all = host_gpus().bytes_each;
  host_gpus().bytes_each = 1000;
  EXPECT_EQ(chosen(), 2);
  host_gpus().bytes_each = all;
  EXPECT_THAT(runs, IsEmpty());
  EXPECT_FALSE(book.of_another_batch(shape, Pass::forward)) << "it was not measured";
}

class FirstStep : public testing::Test {
 protected:
  void SetUp() override { host_engines() = {}; }
  void TearDown() override { host_engines() = {}; }
  std::unique_ptr<Convolution> convolution() {
    auto made = make_host_engines(book)->convolution(shape);
    EXPECT_TRUE(made) << (made ? "" : made.error().what);
    host_engines().runs.clear();
    return *std::move(made);
  }
  static void call(Convolution& made, const ConvolutionArrays& at) {
    made.forward(nullptr, at[0], at[1], at[2], at[3]);
  }
  std::vector<std::string> warnings;
  std::shared_ptr<EngineBook> book = [this] {
    auto made = std::make_shared<EngineBook>("", "here", [] { return 0.0; });
    made->warn_through([this](std::string_view line) { warnings.emplace_back(line); });
    return made;
  }();
};

TEST_F(FirstStep, AnEngineThatFailsInItGivesWayToTheNext) {
  host_engines().listed = {{{1}}, {{2}, Relaxation::winograd}, {{3}}};
  const auto made = convolution();
  const ConvolutionArrays arrays(shape, made->workspace());
  host_engines().fails = {{1}};
  call(*made, arrays);
  call(*made, arrays);
  EXPECT_THAT(host_engines().runs, ElementsAre(EngineId{3}, EngineId{3}));
  EXPECT_EQ(book->find(shape, Pass::forward), EngineId{3});
  EXPECT_EQ(book->find(shape, Pass::backward_data), EngineId{1}) << "another pass";
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("fails in its first step (the engine fails); another "
                                              "one computes: exact")));
}

TEST_F(FirstStep, WithoutAnotherEngineTheRankEnds) {
  const auto made = convolution();
  const ConvolutionArrays arrays(shape, made->workspace());
  host_engines().fails = {{1}};
  EXPECT_DEATH(call(*made, arrays), "host engines: convolution: the engine fails");
}

TEST_F(FirstStep, LaterFailuresAreTheDevicesAndFinal) {
  host_engines().listed = {{{1}}, {{2}}};
  const auto made = convolution();
  const ConvolutionArrays arrays(shape, made->workspace());
  call(*made, arrays);
  host_engines().fails = {{1}};
  EXPECT_DEATH(call(*made, arrays), "host engines: convolution: the engine fails");
}

/// An engine that cannot be captured runs outside a graph.
TEST_F(FirstStep, AFailureInACaptureEndsTheCaptureOnly) {
  host_engines().listed = {{{1}}, {{2}}};
  const auto made = convolution();
  const ConvolutionArrays arrays(shape, made->workspace());
  host_engines().fails = {{1}};
  capture_state() = {.active = true};
  call(*made, arrays);
  EXPECT_THAT(capture_state().failure, HasSubstr("the engine fails"));
  capture_state() = {};
  EXPECT_EQ(book->find(shape, Pass::forward), EngineId{1});
  host_engines().fails = {};
  call(*made, arrays);
  EXPECT_THAT(host_engines().runs, ElementsAre(EngineId{1}));
}

}  // namespace
}  // namespace dllaunch::gpu
