// Uses host_gpu_test's table: a backend with a caution, and `reference`.
#include "trainer/session/compiled_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/communicators/opening/communicators.hpp"
#include "tests/support/host_gpu/host_math.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/backends/table/backends.hpp"
#include "trainer/models/models.hpp"
#include "trainer/session/session.hpp"
#include "trainer/training/prepare.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Graph lenet() {
  return *find_model("lenet")->build({1, 28, 28}, 10);
}

TEST(CompiledModel, UsesTheFirstSuitableBackend) {
  auto config = small_config("auto");
  const auto first = compile_model(config, lenet(), 1);
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_THAT(first->backend, StartsWith("host_gpu"));
  EXPECT_THAT(first->passed_over, IsEmpty());
  EXPECT_THAT(first->caution, HasSubstr("in place of a GPU"));
  EXPECT_EQ(first->gpu_memory, backends().front().gpu_memory);
  config.precision = Precision::fp64;
  const auto exact = compile_model(config, lenet(), 1);
  ASSERT_TRUE(exact) << exact.error().what;
  EXPECT_THAT(exact->backend, StartsWith("reference"));
  EXPECT_THAT(exact->passed_over, HasSubstr("host_gpu"));
  EXPECT_THAT(exact->caution, IsEmpty());
}

class PreparedModel : public testing::Test {
 protected:
  Result<Session> prepared() {
    return prepare({.config = small_config("auto"),
                    .run_dir = folder.path(),
                    .threads = 1,
                    .warn = [this](std::string_view line) { said.emplace_back(line); }},
                   *communicator);
  }

  const ScratchFolder folder;
  std::unique_ptr<Communicator> communicator = *open_communicator("solo", RankEnv{});
  std::vector<std::string> said;
};

TEST_F(PreparedModel, ACautionIsWrittenToTheRunsLog) {
  const auto session = prepared();
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_THAT(said, Contains(HasSubstr("in place of a GPU")));
}

/// What a backend chooses by measuring is rank 0's, which is this rank; the user hears of it.
TEST_F(PreparedModel, EnginesAreStoredAndWarnedOf) {
  const std::filesystem::path file = std::filesystem::path(folder.path()) / "convolutions";
  gpu::host_engines() = {.listed = {{{1}, gpu::Relaxation::winograd}},
                         .book = std::make_shared<gpu::EngineBook>(file, "here")};
  const auto session = prepared();
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_THAT(said, Contains(HasSubstr("Winograd (larger rounding errors): forward,f32,")));
  const Images images(session->graph, session->config.batch_size);
  session->executable->forward(images.batch(), Phase::train);
  session->executable->backward(1, /*accumulate=*/false, [](int) {});
  EXPECT_TRUE(std::filesystem::exists(file));
  gpu::host_engines() = {};
}

}  // namespace
}  // namespace dllaunch
