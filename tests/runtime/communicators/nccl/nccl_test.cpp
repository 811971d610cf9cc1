// The module as dltrain loads it. Without a GPU, checks the message; with GPUs, the collectives of
// as many ranks as the test was started with, at most one per GPU.
#include "runtime/communicators/nccl/nccl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace dllaunch {
namespace {

using testing::HasSubstr;

RankEnv this_rank() {
  auto env = read_rank_env(process_environment());
  if (!env) throw std::runtime_error(env.error().what);
  return *env;
}

TEST(Nccl, NamesWhatIsMissing) {
  const auto opened = open_nccl(this_rank());
  if (opened) GTEST_SKIP() << "nothing is missing";
  EXPECT_EQ(opened.error().kind, ErrorKind::unavailable);
  if (NCCL_IS_BUILT) {
    EXPECT_THAT(opened.error().what, HasSubstr("nccl: no GPU: "));
  } else {
    EXPECT_THAT(opened.error().what, HasSubstr("this build has no nccl: no libdltrain_nccl.so in"));
  }
  EXPECT_EQ(opened.error().hint, "use runtime.allreduce: auto");
}

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_nccl(this_rank());
    if (!opened) GTEST_SKIP() << opened.error().what;
    nccl = *std::move(opened);
  }
  std::unique_ptr<Communicator> nccl;
};

TEST_F(OnGpu, ReducesWhereItAllocates) {
  const auto ranks = static_cast<float>(nccl->size());
  std::vector<float> values(100003, 1.0F);
  const auto memory = nccl->allocate(values.size() * sizeof(float));
  ASSERT_EQ(nccl->memory(), MemorySpace::gpu);
  nccl->copy(memory.data(), values.data(), memory.size());
  nccl->wait(nccl->all_reduce(memory.data(), values.size(), DType::f32, ReduceOp::sum));
  nccl->copy(values.data(), memory.data(), memory.size());
  EXPECT_EQ(values, std::vector<float>(values.size(), ranks));
}

TEST_F(OnGpu, MovesBlocks) {
  const auto ranks = static_cast<std::size_t>(nccl->size());
  const auto mine = static_cast<std::size_t>(nccl->rank());
  constexpr std::size_t count = 1000;
  std::vector<double> values(ranks * count, 0.0);
  for (std::size_t i = 0; i < count; ++i) values[mine * count + i] = static_cast<double>(mine);
  const auto memory = nccl->allocate(values.size() * sizeof(double));
  nccl->copy(memory.data(), values.data(), memory.size());
  nccl->wait(nccl->all_gather(memory.data(), count, DType::f64));
  nccl->wait(nccl->reduce_scatter(memory.data(), count, DType::f64, ReduceOp::average));
  nccl->wait(nccl->broadcast(memory.data(), count, DType::f64, 0));
  nccl->copy(values.data(), memory.data(), memory.size());
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(values[i], 0.0);
  ASSERT_EQ(values[mine * count], static_cast<double>(mine));
}

TEST_F(OnGpu, TakesMemoryOfTheHostToo) {
  double one = 1;
  const Pending sum = nccl->all_reduce(&one, 1, DType::f64, ReduceOp::sum);
  nccl->wait(nccl->barrier());
  nccl->wait(sum);
  EXPECT_EQ(one, nccl->size());
}

}  // namespace
}  // namespace dllaunch
