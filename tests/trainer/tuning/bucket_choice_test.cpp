// Runs on 1, 2, 3, 4 and 7 ranks.
#include "trainer/tuning/bucket_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "trainer/backends/table/backends.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// Six dense layers of 1 MiB each: different sizes make different buckets.
Graph dense_layers() {
  GraphBuilder net("dense layers", {1, 16, 16});
  net.add("flatten", Flatten{});
  for (int layer = 0; layer < 6; ++layer) {
    net.add("fc" + std::to_string(layer), Dense{.units = 512});
  }
  return *std::move(net).finish();
}

struct Setting {
  explicit Setting(bool shard = false)
      : communicator(all_ranks()),
        graph(dense_layers()),
        backend(*backends().back().open()),
        executable(*backend->compile(graph, {.batch = 1, .threads = 1})),
        arenas(*executable, *communicator, *find_optimizer("sgd"), {.lr = 0.1, .momentum = 0.9},
               {.shard = shard}),
        reducer(*communicator, arenas.layout(), arenas.gradients(), arenas.plan(25e6),
                {.scatter = shard}) {}

  BucketPlace place(const std::filesystem::path& file) {
    return {.file = file,
            .nodes = 1,
            .table = table_rows(*executable),
            .wire = "none",
            .say = [this](std::string_view line) { said.emplace_back(line); }};
  }

  /// Runs a step like the trainer, with integer gradients. Returns the number of buckets.
  int step(BucketChoice& choice, int number) {
    choice.start();
    reducer.begin();
    const ArenaLayout& layout = arenas.layout();
    for (int slot = 0; slot < static_cast<int>(layout.offset.size()); ++slot) {
      auto* g = static_cast<float*>(layout.at(arenas.gradients(), slot));
      std::fill_n(g, layout.elements[static_cast<std::size_t>(slot)],
                  static_cast<float>(communicator->rank() + slot + number));
      reducer.ready(slot);
    }
    const int buckets = reducer.finish().buckets;
    choice.stop();
    arenas.update({.lr = 0.01});
    choice.next();
    return buckets;
  }

  std::unique_ptr<Communicator> communicator;
  Graph graph;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Executable> executable;
  ParameterArenas arenas;
  GradientReducer reducer;
  std::vector<std::string> said;
};

/// A busy machine needs more time, but takes the same decisions.
constexpr TunerLimits patient{.seconds = 120};

TEST(BucketChoice, TriesSizesSettlesAndRemembers) {
  const ScratchFolder folder;
  Setting first;
  {
    BucketChoice choice(*first.communicator, first.arenas, first.reducer,
                        first.place(folder / "sizes"), true, patient);
    std::set<int> tried;
    int latest = 0;
    for (int step = 0; step < 40; ++step) tried.insert(latest = first.step(choice, step));
    if (first.communicator->size() == 1) {
      EXPECT_EQ(tried.size(), 1u);
      EXPECT_TRUE(first.said.empty());
      return;
    }
    EXPECT_GE(tried.size(), 2u);
    for (int step = 0; step < 5; ++step) EXPECT_EQ(first.step(choice, step), latest) << "settled";
  }
  if (first.communicator->rank() == 0) {
    ASSERT_EQ(first.said.size(), 1u);
    EXPECT_THAT(first.said[0], HasSubstr("buckets of "));
    EXPECT_THAT(first.said[0], HasSubstr("backward and sum "));
  } else {
    EXPECT_TRUE(first.said.empty());
  }

  Setting second;
  BucketChoice choice(*second.communicator, second.arenas, second.reducer,
                      second.place(folder / "sizes"), true);
  std::set<int> used;
  for (int step = 0; step < 20; ++step) used.insert(second.step(choice, step));
  EXPECT_EQ(used.size(), 1u) << "nothing is tried again";
  if (second.communicator->rank() != 0) return;
  ASSERT_EQ(second.said.size(), 1u);
  EXPECT_THAT(second.said[0], HasSubstr("as measured before"));
}

TEST(BucketChoice, MeasuresAgainIfTheRememberedResultIsInvalid) {
  const ScratchFolder folder;
  for (const char* instead : {" 13 .", " 25 25 .", ""}) {
    Setting setting;
    if (setting.communicator->size() == 1) GTEST_SKIP() << "one rank has one plan";
    for (const bool again : {false, true}) {
      BucketChoice choice(*setting.communicator, setting.arenas, setting.reducer,
                          setting.place(folder / "sizes"), true, patient);
      std::set<int> tried;
      for (int step = 0; step < 20; ++step) tried.insert(setting.step(choice, step));
      EXPECT_GE(tried.size(), 2u) << instead;
      if (again || setting.communicator->rank() != 0) continue;
      const std::string text = read_text(folder / "sizes");
      ASSERT_NE(text.find(' '), std::string::npos);
      write_text(folder / "sizes", text.substr(0, text.find(' ')) + instead);
    }
    std::filesystem::remove(folder / "sizes");
  }
}

TEST(BucketChoice, DoesNotChangeAWeight) {
  for (const bool shard : {false, true}) {
    Setting fixed(shard);
    Setting tuned(shard);
    fixed.arenas.deal(fixed.arenas.plan(25e6));
    BucketChoice none(*fixed.communicator, fixed.arenas, fixed.reducer, fixed.place({}), false);
    BucketChoice choice(*tuned.communicator, tuned.arenas, tuned.reducer, tuned.place({}), true,
                        patient);
    fixed.reducer.set_buckets(fixed.arenas.plan(25e6));
    for (int step = 0; step < 30; ++step) {
      fixed.step(none, step);
      tuned.step(choice, step);
    }
    const auto expected = fixed.arenas.weights();
    const auto got = tuned.arenas.weights();
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].data == expected[i].data, true) << got[i].name;
    }
  }
}

}  // namespace
}  // namespace dllaunch
