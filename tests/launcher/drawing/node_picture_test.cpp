#include "launcher/drawing/node_picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::HasSubstr;

TEST(NodePicture, ShowsWhoHasWhat) {
  Topology node;
  node.numa = {{.index = 0, .cpus = IdSet::range(0, 3), .memory_bytes = 128ull << 30},
               {.index = 1, .cpus = IdSet::range(4, 7)}};
  node.gpus = {{.index = 0, .numa = {0}},
               {.index = 1, .numa = {1}},
               {.index = 2, .numa = {0, 1}},
               {.index = 3, .numa = {9}}};
  node.nics = {{.name = "mlx5_0", .numa = {1}}};
  node.allowed_cpus = IdSet::range(0, 6);
  Placement placement;
  placement.ranks = {{.local_rank = 0, .gpus = {0}, .cpus = {1, 2}},
                     {.local_rank = 1, .gpus = {1}, .cpus = {5}, .nic = "mlx5_0"}};
  const auto drawing = draw(node, placement);
  for (const char* part :
       {"NUMA 0, 128 GiB", "NUMA 1<", "rank 0: CPUs 1-2", "rank 1: CPUs 5", "GPU 0: rank 0",
        "GPU 1: rank 1", "GPU 2, at NUMA nodes 0-1", "GPU 3", "mlx5_0: rank 1", "class=\"denied\""})
    EXPECT_THAT(drawing, HasSubstr(part));
  EXPECT_EQ(draw(Topology(), placement), "");
}

}  // namespace
}  // namespace dllaunch
