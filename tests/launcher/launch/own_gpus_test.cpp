#include "launcher/launch/own_gpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/fake_system.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;

class OwnGpus : public testing::Test {
 protected:
  /// Numbers of the GPUs that are left; {-1}: unknown.
  std::vector<int> own() {
    const auto node = with_own_gpus(system_, *synthetic_topology("cores:8 gpus:4"));
    std::vector<int> numbers;
    if (!node) return {-1};
    for (const Gpu& gpu : node->gpus) numbers.push_back(gpu.index);
    return numbers;
  }
  FakeSystem system_;
};

TEST_F(OwnGpus, AreThoseThatTheVariableNames) {
  EXPECT_THAT(own(), ElementsAre(0, 1, 2, 3));
  system_.variables["CUDA_VISIBLE_DEVICES"] = "2,3";
  EXPECT_THAT(own(), ElementsAre(2, 3));
}

TEST_F(OwnGpus, AreUnknownWhereTheyAreNumberedAnew) {
  system_.variables = {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"SLURM_STEP_GPUS", "2,3"}};
  EXPECT_THAT(own(), ElementsAre(-1));
  system_.variables = {{"NVIDIA_VISIBLE_DEVICES", "GPU-1"}};
  EXPECT_THAT(own(), ElementsAre(-1));
}

}  // namespace
}  // namespace dllaunch
