// Engines of convolutions on several ranks with fake GPUs under mpirun: rank 0 chooses, the others
// follow, and what fails on one rank holds up no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/rank/measured.hpp"
#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/gpu/compiled_with_engines.hpp"
#include "trainer/parameters/parameter_arenas.hpp"
#include "trainer/session/agreement.hpp"
#include "trainer/session/rank_zero_choices.hpp"

namespace dllaunch::gpu {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class EnginesOnRanks : public testing::Test {
 protected:
  void SetUp() override {
    host_engines() = {};
    // Each rank alone would take another engine: its clock stands still, so the first listed wins.
    host_engines().listed = {{{1}}, {{2}}};
    if (rank() > 0) std::swap(host_engines().listed[0], host_engines().listed[1]);
  }
  void TearDown() override { host_engines() = {}; }

  int rank() const { return communicator->rank(); }
  bool is_last() const { return rank() == communicator->size() - 1; }

  /// Compiles as the trainer does; nullptr: this rank or another failed. `fails`: before the
  /// choice.
  std::unique_ptr<Executable> compile(bool fails = false) {
    const auto book =
        std::make_shared<EngineBook>(file, "rank " + std::to_string(rank()), [] { return 0.0; });
    RankZeroChoices choices(*communicator);
    Result<std::unique_ptr<Executable>> made = Error{ErrorKind::unavailable, "no GPU", ""};
    if (!fails) made = compile_with_engines(book, graph, &choices, warnings);
    choices.attend();
    tried = std::exchange(host_engines().runs, {});
    if (agree(*communicator, error_of(made))) return nullptr;
    return *std::move(made);
  }
  /// One step on the same images on all ranks. Returns the gradients.
  std::vector<float> step(Executable& executable) {
    const auto solo = *open_communicator("solo", RankEnv{});
    ParameterArenas arenas(executable, *solo, *find_optimizer("sgd"), {.lr = 0.1});
    arenas.initialise(graph, 7);
    const Images images(graph, 2);
    executable.forward(images.batch(), Phase::train);
    executable.backward(1, false, [](int) {});
    std::vector<float> gradients(arenas.layout().total);
    solo->copy(gradients.data(), arenas.gradients().data(), gradients.size() * sizeof(float));
    return gradients;
  }
  void expect_equal_on_all_ranks(std::vector<float> values) {
    const std::vector<float> own = values;
    communicator->wait(
        communicator->broadcast(values.data(), values.size(), DType::f32, /*root=*/0));
    EXPECT_EQ(own, values);
  }

  std::unique_ptr<Communicator> communicator = all_ranks();
  Graph graph = graph_of("lenet");
  TemporaryFolder folder;  // of this rank alone
  std::filesystem::path file = folder.path() + "/convolutions";
  std::vector<std::string> warnings;
  std::vector<EngineId> tried;  // while compiling
};

TEST_F(EnginesOnRanks, AllUseRankZerosChoice) {
  const auto executable = compile();
  ASSERT_TRUE(executable);
  expect_equal_on_all_ranks(step(*executable));
  EXPECT_THAT(host_engines().runs, Each(EngineId{1}));
  if (rank() > 0) {
    EXPECT_THAT(tried, Each(EngineId{1})) << "nothing is searched";
  }
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_EQ(std::filesystem::exists(file), rank() == 0) << "only rank 0 writes";
}

TEST_F(EnginesOnRanks, WhereRankZerosEngineFailsAnotherComputes) {
  if (is_last()) host_engines().fails = {{1}};
  const auto executable = compile();
  ASSERT_TRUE(executable);
  expect_equal_on_all_ranks(step(*executable));
  EXPECT_THAT(host_engines().runs, Each(EngineId{is_last() ? 2 : 1}));
  if (is_last()) {
    EXPECT_THAT(warnings, Contains(HasSubstr("does not run here (the engine fails); another one")));
  } else {
    EXPECT_THAT(warnings, IsEmpty());
  }
}

TEST_F(EnginesOnRanks, WhereItIsUnknownAnotherComputes) {
  if (is_last()) host_engines().listed = {{{3}}};
  const auto executable = compile();
  ASSERT_TRUE(executable);
  expect_equal_on_all_ranks(step(*executable));
  EXPECT_THAT(host_engines().runs, Each(EngineId{is_last() ? 3 : 1}));
  if (is_last()) {
    EXPECT_THAT(warnings, Contains(HasSubstr("(cannot be planned)")));
  }
}

TEST_F(EnginesOnRanks, OneThatFailsInTheFirstStepOfOneRankIsReplacedThere) {
  const auto executable = compile();
  ASSERT_TRUE(executable);
  if (is_last()) host_engines().fails = {{1}};
  expect_equal_on_all_ranks(step(*executable));
  EXPECT_THAT(host_engines().runs, Each(EngineId{is_last() ? 2 : 1}));
  EXPECT_EQ(warnings.empty(), !is_last());
}

TEST_F(EnginesOnRanks, ADamagedFileOfOneRankChangesNothing) {
  const std::string damage(100'000, '\xff');
  if (is_last() || rank() == 0) std::ofstream(file) << damage;
  const auto executable = compile();
  ASSERT_TRUE(executable);
  expect_equal_on_all_ranks(step(*executable));
  EXPECT_THAT(host_engines().runs, Each(EngineId{1}));
  if (rank() == 0) {
    EXPECT_THAT(recall_all(file), SizeIs(5)) << "lenet's passes";
    EXPECT_LT(std::filesystem::file_size(file), 2000U) << "the damage is gone";
  } else if (is_last()) {
    EXPECT_EQ(std::filesystem::file_size(file), damage.size()) << "not touched";
  }
}

TEST_F(EnginesOnRanks, ARankThatFailsBeforeTheChoiceHoldsUpNobody) {
  EXPECT_FALSE(compile(/*fails=*/is_last()));
  EXPECT_FALSE(compile(/*fails=*/rank() == 0));
  EXPECT_TRUE(compile());
}

}  // namespace
}  // namespace dllaunch::gpu
