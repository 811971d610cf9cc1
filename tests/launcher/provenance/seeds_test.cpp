#include "launcher/provenance/seeds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(Seeds, AreFoundAtAnyDepth) {
  const Json job = {{"train", {{"seed", 7}, {"dataset", {{"shuffle_seed", 8}, {"seed", nullptr}}}}},
                    {"seeds", Json::array({1})}};
  EXPECT_THAT(seeds_of(job),
              ElementsAre(Pair("train.dataset.shuffle_seed", "8"), Pair("train.seed", "7")));
  EXPECT_TRUE(seeds_of(Json()).empty());
}

}  // namespace
}  // namespace dllaunch
