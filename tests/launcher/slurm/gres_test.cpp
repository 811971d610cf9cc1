#include "launcher/slurm/gres.hpp"

#include <gmock/gmock.h>

#include <random>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<GpuGres> two_kinds = {{"a100", 2}, {"v100", 2}};
const std::vector<GpuGres> sliced = {{"a100", 4}, {"1g.5gb", 7}};

TEST(Gres, ReadsEveryTypeOfANode) {
  EXPECT_EQ(read_gres("gpu:a100:2(S:0-1),gpu:v100:2(S:0,2),craynetwork:4,mps:400,shard:8"),
            two_kinds);
  EXPECT_THAT(read_gres("gpu:4"), ElementsAre(GpuGres{"", 4}));
  EXPECT_THAT(read_gres("gpu"), ElementsAre(GpuGres{"", 1}));
  EXPECT_THAT(read_gres("gpu:a100:2,gpu:a100:2"), ElementsAre(GpuGres{"a100", 4}));
  EXPECT_THAT(read_gres("gpu:a100:0"), IsEmpty());
  EXPECT_THAT(read_gres("(null)"), IsEmpty());
  EXPECT_THAT(read_gres(""), IsEmpty());
}

TEST(Gres, KnowsMigProfiles) {
  for (const char* slice : {"1g.5gb", "3g.40gb", "2g.10gb+me", "a100_1g.5gb", "nvidia_a100-3g.20gb",
                            "a100_80gb_2g.20gb", "1g5gb", "7g.80gb"})
    EXPECT_TRUE(is_gpu_slice(slice)) << slice;
  for (const char* whole : {"a100", "h100_80gb", "v100-32gb", "mi250x", "gh200", "", "1g", "g.5gb",
                            "tesla_p100-pcie-16gb"})
    EXPECT_FALSE(is_gpu_slice(whole)) << whole;
}

TEST(Gres, WholeOnesCountBeforeSlices) {
  EXPECT_THAT(counted_gpus(sliced), ElementsAre(GpuGres{"a100", 4}));
  EXPECT_EQ(counted_gpus(two_kinds), two_kinds);
  const std::vector<GpuGres> only = {{"1g.5gb", 4}, {"3g.20gb", 1}};
  EXPECT_EQ(counted_gpus(only), only);
}

TEST(Gres, AsksByTypeOnlyWhereOthersWouldDoToo) {
  EXPECT_EQ(gpu_request({}, "", 4), "4");
  EXPECT_EQ(gpu_request({{"a100", 4}}, "", 2), "2");
  EXPECT_EQ(gpu_request(sliced, "", 4), "a100:4");
  EXPECT_EQ(gpu_request(sliced, "1g.5gb", 7), "1g.5gb:7");
  EXPECT_EQ(gpu_request(two_kinds, "", 4), "4");
  EXPECT_EQ(gpu_request(two_kinds, "", 2), "a100:2");
  EXPECT_EQ(gpu_request(two_kinds, "", 3), "a100:2,v100:1");
  EXPECT_EQ(gpu_request(two_kinds, "v100", 1), "v100:1");
  EXPECT_EQ(gpu_request({{"", 2}, {"v100", 1}, {"1g.5gb", 7}}, "", 3), "3") << "no word for it";
}

/// Whatever an administrator typed: no crash, no count beyond a node, each type once.
TEST(Gres, AnyTextIsRead) {
  std::mt19937 random(4);
  constexpr std::string_view letters = "gpu:,()S-019a.\"";
  for (int round = 0; round < 20000; ++round) {
    std::string text = "gpu";
    for (auto length = random() % 24; length > 0; --length)
      text += letters[random() % letters.size()];
    const auto kinds = read_gres(text);
    EXPECT_LE(gpus_in(kinds), 4096) << text;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      EXPECT_GT(kinds[i].count, 0) << text;
      for (std::size_t k = 0; k < i; ++k) EXPECT_NE(kinds[i].type, kinds[k].type) << text;
    }
    gpu_request(kinds, "", static_cast<int>(random() % 8));
  }
}

}  // namespace
}  // namespace dllaunch
