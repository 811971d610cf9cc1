#include "launcher/lint/cpu_bind.hpp"

#include <gtest/gtest.h>

namespace dllaunch::lint {
namespace {

CpuBind bind_of(const std::string& value) {
  CpuBind bind;
  EXPECT_TRUE(read_bind_list(Text(value, 0), bind)) << value;
  return bind;
}

TEST(CpuBind, ReadsMasksAsSlurmDoes) {
  const CpuBind bind = bind_of("verbose,mask_cpu:0xFE,fe00,0x1*2");
  ASSERT_EQ(bind.items.size(), 4u);
  EXPECT_TRUE(bind.good());
  EXPECT_EQ(to_list(bind.items[0].cpus), "1-7");
  EXPECT_EQ(to_list(bind.items[1].cpus), "9-15");
  EXPECT_EQ(to_list(bind.items[3].cpus), "0");
}

TEST(CpuBind, ReadsMaps) {
  const CpuBind bind = bind_of("map_cpu:49,0x10");
  EXPECT_TRUE(bind.map);
  EXPECT_EQ(to_list(bind.items[0].cpus), "49");
  EXPECT_EQ(to_list(bind.items[1].cpus), "16");
}

TEST(CpuBind, TellsWhatIsWrongWithAnItem) {
  using State = BindItem::State;
  const CpuBind bind = bind_of("mask_cpu:0x0,,0xg,49-55,0x1*0, 0x1");
  ASSERT_EQ(bind.items.size(), 6u);
  EXPECT_EQ(bind.items[0].state, State::empty);
  EXPECT_EQ(bind.items[1].state, State::empty);
  for (std::size_t i = 2; i < 6; ++i) EXPECT_EQ(bind.items[i].state, State::malformed) << i;
}

TEST(CpuBind, IsNoListForOtherTypes) {
  CpuBind bind;
  for (const char* value : {"cores", "none", "verbose", "rank_ldom", "map_ldom:0,1", "mask_cpu"}) {
    EXPECT_FALSE(read_bind_list(Text(value, 0), bind)) << value;
  }
}

TEST(CpuBind, KnowsAListByItsLook) {
  EXPECT_TRUE(looks_like_bind_list("X", Text("0xfe,0xfe00", 0)));
  EXPECT_TRUE(looks_like_bind_list("MASKS", Text("fe,fe00", 0)));
  EXPECT_TRUE(looks_like_bind_list("CPU_MAP", Text("49,57", 0)));
  EXPECT_TRUE(looks_like_bind_list("X", Text("map_cpu:1", 0)));
  EXPECT_FALSE(looks_like_bind_list("CUDA_VISIBLE_DEVICES", Text("0,1,2", 0)));
  EXPECT_FALSE(looks_like_bind_list("NCCL_SOCKET_IFNAME", Text("hsn0,hsn1", 0)));
  EXPECT_FALSE(looks_like_bind_list("MASKED_MODEL", Text("bert-base", 0)));
}

}  // namespace
}  // namespace dllaunch::lint
