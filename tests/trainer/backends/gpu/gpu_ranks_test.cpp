// Several ranks with fake GPUs under mpirun: choice of device, communicator, kernels, buckets and
// their order, over tests/support/host_gpu in place of CUDA and NCCL. The last tests break each of
// these on one rank and check that it is noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "runtime/communicators/nccl/nccl_communicator.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "runtime/gpu/own_gpu.hpp"
#include "runtime/gradients/gradient_reducer.hpp"
#include "tests/runtime/communicators/forwarding.hpp"
#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/support/host_gpu/host_math.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "topology/node/synthetic.hpp"
#include "topology/placement/placement.hpp"
#include "trainer/backends/gpu/step/gpu_executable.hpp"
#include "trainer/models/models.hpp"
#include "trainer/parameters/parameter_arenas.hpp"
#include "trainer/session/loss_scaling.hpp"

namespace dllaunch::gpu {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int most_ranks = 4;

RankEnv this_rank() {
  return *read_rank_env(process_environment());
}

/// PCI addresses by rank, as planned for a node whose first GPU is closest to the last cores
/// (Perlmutter) with ranks numbered along the cores: no rank could derive its GPU from its number.
std::vector<std::string> planned_gpus() {
  auto node = *synthetic_topology("numa:4 cores:2 gpus:4");
  for (const std::size_t i : {0U, 1U}) {
    std::swap(node.gpus[i].cpus, node.gpus[3 - i].cpus);
    std::swap(node.gpus[i].numa, node.gpus[3 - i].numa);
  }
  const auto placed =
      place_ranks(node, {.ranks = this_rank().world_size, .order = RankOrder::numa});
  std::vector<std::string> gpus;
  for (const RankPlacement& rank : placed->ranks) {
    gpus.push_back(node.gpus[static_cast<std::size_t>(rank.gpus.front())].pci);
  }
  return gpus;
}

/// Opens the communicator of this program's ranks, each on the GPU named by its shim.
Result<std::unique_ptr<Communicator>> open_on(const std::string& own_gpus) {
  // In CUDA's order, the fastest first, which is unrelated to their location.
  host_gpus().pci = {"00000000:03:00.0", "00000000:01:00.0", "00000000:04:00.0",
                     "00000000:02:00.0"};
  host_collectives() = {};
  ::setenv("DLLAUNCH_GPUS", own_gpus.c_str(), 1);
  auto host = all_ranks();
  return NcclCommunicator::open(host, this_rank());
}

std::string own(const std::vector<std::string>& gpus, int further = 0) {
  return gpus[static_cast<std::size_t>(this_rank().rank + further) % gpus.size()];
}

/// Returns the ranks that are not on their planned GPU.
std::vector<std::string> strays(const std::vector<std::string>& planned) {
  std::vector<std::string> found;
  const auto& devices = host_collectives().devices;
  for (std::size_t rank = 0; rank < planned.size(); ++rank) {
    if (rank < devices.size() && devices[rank] == planned[rank]) continue;
    found.push_back("rank " + std::to_string(rank) + " drives another GPU than " + planned[rank]);
  }
  return found;
}

/// A network with its arenas and buckets, as the trainer's session creates them.
struct Rank {
  explicit Rank(Communicator& over, bool shard = false, std::string_view optimizer = "sgd")
      : communicator(over),
        graph(graph_of("lenet")),
        math(make_host_math()),
        executable(*compile_for_gpu("host_gpu", graph, {.batch = images_each}, *math)),
        arenas(*executable, over, *find_optimizer(optimizer), {.lr = 0.1}, {.shard = shard}),
        buckets(arenas.plan(20e3)) {
    arenas.freeze(graph);
    arenas.deal(buckets);
    if (over.rank() == 0) arenas.initialise(graph, 7);
    arenas.broadcast();
  }

  static constexpr int images_each = 2;

  /// Gradients of this rank's own images, summed over the ranks through `collectives`.
  void step(int number, Communicator& collectives) {
    GradientReducer reducer(collectives, arenas.layout(), arenas.gradients(), buckets,
                            {.scatter = arenas.sharded()});
    const Images images(graph, images_each,
                        static_cast<unsigned>(number * most_ranks + communicator.rank()));
    executable->forward(images.batch(), Phase::train);
    reducer.begin();
    executable->hold_ready_until(reducer.last_slots());
    executable->backward(1, false, [&](int slot) {
      if (slot != no_slot) reducer.ready(slot);
      reducer.progress();
    });
    reducer.finish();
  }

  std::vector<float> gradients() {
    std::vector<float> here(arenas.layout().total);
    communicator.copy(here.data(), arenas.gradients().data(), here.size() * sizeof(float));
    return here;
  }

  Communicator& communicator;
  Graph graph;
  std::unique_ptr<MathLibrary> math;
  std::unique_ptr<Executable> executable;
  ParameterArenas arenas;
  std::vector<Bucket> buckets;
};

/// Returns the ranges that NCCL reduced: offsets in bytes, and element counts.
std::vector<std::pair<std::int64_t, std::int64_t>> reduced_pieces() {
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  for (const HostCollective& call : host_collectives().calls) {
    if (call.kind == host_all_reduce) pieces.emplace_back(call.offset, call.count);
  }
  return pieces;
}

TEST(GpuRanks, EachDrivesTheGpuThatItsPlanPutItBeside) {
  const auto planned = planned_gpus();
  const auto opened = open_on(own(planned));
  ASSERT_TRUE(opened) << opened.error().what;
  EXPECT_EQ((*opened)->memory(), MemorySpace::gpu);
  EXPECT_EQ(host_collectives().devices, planned);
  EXPECT_THAT(strays(planned), IsEmpty());
}

TEST(GpuRanks, WithoutAddressesTheyGoInPciOrder) {
  const auto opened = open_on("");
  ASSERT_TRUE(opened) << opened.error().what;
  for (int rank = 0; rank < this_rank().world_size; ++rank) {
    EXPECT_EQ(host_collectives().devices[static_cast<std::size_t>(rank)],
              "0000:0" + std::to_string(rank + 1) + ":00.0");
  }
}

/// Sharded or not, parameters are on the GPU, are updated there, and are equal on all ranks after
/// every step. Sharding gives the same weights and checkpoints.
TEST(GpuRanks, ShardsOnTheGpuTrainAsWholeArenasDo) {
  const auto opened = open_on(own(planned_gpus()));
  ASSERT_TRUE(opened) << opened.error().what;
  for (const std::string_view optimizer : {"adam", "lamb"}) {
    SCOPED_TRACE(optimizer);
    Rank whole(**opened, /*shard=*/false, optimizer);
    Rank shared(**opened, /*shard=*/true, optimizer);
    ASSERT_TRUE(whole.arenas.on_device() && shared.arenas.on_device());
    for (int step = 1; step <= 3; ++step) {
      for (Rank* const rank : {&whole, &shared}) {
        rank->step(step, **opened);
        rank->arenas.update({.lr = 0.01, .step = step});
      }
    }
    shared.arenas.gather_states();
    const auto host = all_ranks();
    const auto expect_near = [&](const std::vector<Tensor>& seen,
                                 const std::vector<Tensor>& wanted) {
      ASSERT_EQ(seen.size(), wanted.size());
      for (std::size_t t = 0; t < wanted.size(); ++t) {
        ASSERT_EQ(seen[t].name, wanted[t].name);
        const std::size_t count = wanted[t].data.size() / sizeof(float);
        const auto* const a = reinterpret_cast<const float*>(seen[t].data.data());
        const auto* const b = reinterpret_cast<const float*>(wanted[t].data.data());
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_NEAR(a[i], b[i], 1e-5 * (1 + std::abs(b[i]))) << wanted[t].name << ' ' << i;
        }
      }
    };
    expect_near(shared.arenas.weights(), whole.arenas.weights());
    if (this_rank().rank == 0) expect_near(shared.arenas.states(), whole.arenas.states());
    for (const Tensor& tensor : shared.arenas.weights()) {
      auto of_rank_0 = tensor.data;
      host->wait(host->broadcast(of_rank_0.data(), of_rank_0.size(), DType::u8, 0));
      EXPECT_EQ(tensor.data, of_rank_0) << tensor.name;
    }
  }
  EXPECT_THAT(host_collectives().complaints, IsEmpty());
}

/// In the memory that NCCL allocates, as in that of a single rank.
TEST(GpuRanks, OneWithoutMemorySaysWhatWouldFit) {
  const auto opened = open_on(own(planned_gpus()));
  ASSERT_TRUE(opened) << opened.error().what;
  const std::size_t all = host_gpus().bytes_each;
  if (this_rank().rank == this_rank().world_size - 1) {
    const Graph graph = graph_of("lenet");
    const auto math = make_host_math();
    auto executable = *compile_for_gpu("host_gpu", graph, {.batch = 256}, *math);
    constexpr std::size_t tables_of_the_optimiser = 8192;
    host_gpus().bytes_each = host_gpus().in_use[host_gpu_of_thread()] + tables_of_the_optimiser;
    std::string said;
    try {
      const ParameterArenas arenas(*executable, **opened, *find_optimizer("sgd"), {.lr = 0.1});
    } catch (const std::bad_alloc& refused) {
      said = refused.what();
    }
    host_gpus().bytes_each = all;
    EXPECT_THAT(said, HasSubstr("a parameter arena needs 1 MiB of GPU memory, 0 MiB are free "
                                "beside batches of 256 images; about "));
  }
}

/// It dies before a gradient that lacks the kernel reaches the others.
TEST(GpuRanks, OneThatFailsALaunchSendsNothing) {
  const auto opened = open_on(own(planned_gpus()));
  ASSERT_TRUE(opened) << opened.error().what;
  Rank rank(**opened);
  const Images images(rank.graph, Rank::images_each);
  if (this_rank().rank != 0) return;
  const auto fail = [&] {
    rank.executable->forward(images.batch(), Phase::train);
    host_gpus().launches_until_failure = 0;
    rank.executable->backward(1, false, [](int slot) { ::_exit(slot == no_slot ? 1 : 2); });
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(70), "kernel dllaunch::gpu::.*launch failed");
}

/// Each rank checks its own shards; an overflow found by one must reach all.
TEST(GpuRanks, AnOverflowOnOneRankLeavesTheStepOutOnAll) {
  const auto opened = open_on(own(planned_gpus()));
  ASSERT_TRUE(opened) << opened.error().what;
  Rank shared(**opened, /*shard=*/true);
  LossScale scale{.factor = 4};
  LossScaling scaling(Precision::fp16, scale, shared.arenas, **opened);
  const int last = this_rank().world_size - 1;
  shared.step(1, **opened);
  if (this_rank().rank == last) {
    const ArenaRange mine = part_of(shared.buckets[0], last, last + 1);
    const float endless = HUGE_VALF;
    auto* const gradients = reinterpret_cast<float*>(shared.arenas.gradients().data());
    ASSERT_EQ(gpu_copy(gradients + mine.offset, &endless, sizeof endless), gpu_success);
  }
  EXPECT_FALSE(scaling.take_back());
  EXPECT_EQ(scale.factor, 2);
  shared.step(2, **opened);
  EXPECT_TRUE(scaling.take_back());
  EXPECT_EQ(scale, (LossScale{.factor = 2, .good_steps = 1}));
}

TEST(GpuRanks, BucketsTravelInOneOrderAsTheyBecomeFinalAndEndAsSums) {
  const auto opened = open_on(own(planned_gpus()));
  ASSERT_TRUE(opened) << opened.error().what;
  Rank rank(**opened);
  ASSERT_GE(rank.buckets.size(), 3U);
  std::vector<std::pair<std::int64_t, std::int64_t>> expected;
  for (int step = 0; step < 3; ++step) {
    rank.step(step, **opened);
    for (const Bucket& bucket : rank.buckets) {
      expected.emplace_back(bucket.offset * sizeof(float), bucket.elements);
    }
  }
  EXPECT_EQ(reduced_pieces(), expected);
  EXPECT_THAT(host_collectives().complaints, IsEmpty());

  // The same without NCCL: the ranks' gradients, summed in host memory.
  const auto got = rank.gradients();
  auto alone = *open_communicator("solo", RankEnv{});
  rank.step(2, *alone);
  auto sums = rank.gradients();
  const auto host = all_ranks();
  host->wait(host->all_reduce(sums.data(), sums.size(), DType::f32, ReduceOp::sum));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    ASSERT_NEAR(got[i], sums[i], 1e-5 * (1 + std::abs(sums[i]))) << i;
  }
}

/// The mutation: swaps the first two reductions of a step on one rank.
class SwapsTwoBuckets final : public Forwarding {
 public:
  SwapsTwoBuckets(Communicator& real, const Rank& rank) : Forwarding(real), of_(rank) {}
  Pending all_reduce(void* data, std::size_t count, DType type, ReduceOp op) override {
    const std::size_t call = calls_++;
    if (call > 1 || rank() != 1) return real_.all_reduce(data, count, type, op);
    const Bucket& other = of_.buckets[1 - call];
    std::byte* const place = of_.arenas.gradients().data() + other.offset * sizeof(float);
    return real_.all_reduce(place, other.elements, type, op);
  }

 private:
  const Rank& of_;
  std::size_t calls_ = 0;
};

TEST(GpuRanksMutation, ARankThatSwapsTwoBucketsIsNoticed) {
  if (this_rank().world_size == 1) GTEST_SKIP() << "takes two ranks";
  const auto opened = open_on(own(planned_gpus()));
  ASSERT_TRUE(opened) << opened.error().what;
  Rank rank(**opened);
  SwapsTwoBuckets swapping(**opened, rank);
  rank.step(0, swapping);
  EXPECT_THAT(host_collectives().complaints, Contains(HasSubstr("rank 1 brings ")));
  const auto got = rank.gradients();
  EXPECT_TRUE(std::isnan(got[rank.buckets[0].offset])) << "what was added does not belong together";
}

TEST(GpuRanksMutation, RanksThatExchangeTheirGpusAreNoticed) {
  if (this_rank().world_size == 1) GTEST_SKIP() << "takes two ranks";
  const auto planned = planned_gpus();
  const auto opened = open_on(own(planned, 1));
  ASSERT_TRUE(opened) << "NCCL itself sees nothing wrong: " << opened.error().what;
  EXPECT_EQ(strays(planned).size(), planned.size());
}

TEST(GpuRanksMutation, TwoRanksOnOneGpuAreRefused) {
  if (this_rank().world_size == 1) GTEST_SKIP() << "takes two ranks";
  const auto opened = open_on(planned_gpus().front());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(opened.error().what,
              HasSubstr("; ranks 0 and 1 share GPU " + planned_gpus().front()));
  EXPECT_THAT(opened.error().hint, HasSubstr("give each rank a GPU"));
}

TEST(GpuRanksMutation, ADeviceTakenInBetweenIsNoticed) {
  const auto opened = open_on(own(planned_gpus()));
  ASSERT_TRUE(opened) << opened.error().what;
  const auto memory = (*opened)->allocate(64);
  const int device = host_gpu_of_thread();
  ASSERT_EQ(gpu_set_device((device + 1) % most_ranks), gpu_success);
  (*opened)->wait((*opened)->all_reduce(memory.data(), 16, DType::f32, ReduceOp::sum));
  ASSERT_EQ(gpu_set_device(device), gpu_success);
  EXPECT_THAT(host_collectives().complaints, Contains(HasSubstr("another device")));
}

/// The mutation: skips NcclCommunicator::begin().
TEST(GpuRanksMutation, ASumThatDoesNotWaitForTheKernelsIsNoticed) {
  const auto opened = open_on(own(planned_gpus()));
  ASSERT_TRUE(opened) << opened.error().what;
  const auto memory = (*opened)->allocate(64);
  HostStream stream;
  HostComm* comm = nullptr;
  const ncclUniqueId id{{'d'}};
  const ncclConfig_t config;
  const RankEnv env = this_rank();
  ASSERT_EQ(ncclCommInitRankConfig(&comm, env.world_size, id, env.rank, &config), ncclSuccess);
  ASSERT_EQ(gpu_clear(memory.data(), 64), gpu_success);
  ASSERT_EQ(ncclAllReduce(memory.data(), memory.data(), 16, ncclFloat32, ncclSum, comm, &stream),
            ncclSuccess);
  EXPECT_THAT(host_collectives().complaints, Contains(HasSubstr("does not come after")));
  HostEvent end;
  ASSERT_EQ(gpu_record(&end, &stream), gpu_success);
  while (gpu_query(&end) == gpu_not_ready) continue;
  ASSERT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

}  // namespace
}  // namespace dllaunch::gpu
