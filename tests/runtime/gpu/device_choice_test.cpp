// Which GPU a rank drives: the rule itself, and a machine of fake GPUs with ranks as threads.
#include "runtime/gpu/device_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "runtime/gpu/own_gpu.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

const std::vector<SeenGpu> four = {
    {"0000:C1:00.0"}, {"0000:03:00.0"}, {"0000:83:00.0"}, {"0000:41:00.0"}};

int chosen(std::span<const SeenGpu> seen, const GpuWish& wish) {
  const auto device = choose_gpu(seen, wish);
  return device ? *device : -1;
}

TEST(DeviceChoice, AddressesAreWrittenOneWay) {
  EXPECT_EQ(plain_pci_address("0000:C1:00.0"), "0000:c1:00.0");
  EXPECT_EQ(plain_pci_address("00000000:C1:00.0"), "0000:c1:00.0");
  EXPECT_EQ(plain_pci_address("c1:00.0"), "0000:c1:00.0");
  EXPECT_EQ(plain_pci_address("00010000:C1:00.0"), "10000:c1:00.0");
  EXPECT_EQ(plain_pci_address("1:c1:00.0"), "0001:c1:00.0");
  EXPECT_EQ(plain_pci_address(""), "");
}

TEST(DeviceChoice, FollowsTheAddressNotTheIndex) {
  EXPECT_EQ(chosen(four, {.pci = {"0000:83:00.0"}, .local_rank = 0}), 2);
  EXPECT_EQ(chosen(four, {.pci = {"00000000:C1:00.0"}, .local_rank = 3}), 0);
  EXPECT_EQ(chosen(four, {.pci = {"0000:99:00.0", "0000:41:00.0"}}), 3) << "the first that is seen";
}

TEST(DeviceChoice, WithoutAddressesGoesInPciOrder) {
  const std::vector<int> in_order = {1, 3, 2, 0};
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(chosen(four, {.local_rank = rank}), in_order[static_cast<std::size_t>(rank)]);
  }
  EXPECT_EQ(chosen(four, {.local_rank = 5}), 3) << "more ranks than GPUs: MPS";
  EXPECT_EQ(chosen(std::span(four).first(1), {.local_rank = 3}), 0) << "one GPU per task, or MIG";
}

TEST(DeviceChoice, TheOnlyVisibleGpuIsTheRanksOwnUnderAnyAddress) {
  EXPECT_EQ(chosen(std::span(four).first(1), {.pci = {"0000:83:00.0"}, .local_rank = 1}), 0);
}

TEST(DeviceChoice, NamesTheGpusSeenInstead) {
  const auto hidden = choose_gpu(std::span(four).first(2), {.pci = {"0000:83:00.0"}});
  ASSERT_FALSE(hidden);
  EXPECT_EQ(hidden.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(hidden.error().what,
            "this rank's GPU 0000:83:00.0 is not among those it sees: 0000:c1:00.0, 0000:03:00.0");
  EXPECT_EQ(choose_gpu({}, {}).error().what, "none is visible");
}

TEST(DeviceChoice, ReadsTheRanksOwnAddresses) {
  const auto wish = [](const std::string& list) {
    return read_gpu_wish({.local_rank = 2}, [&](const std::string& name) {
      return name == "DLLAUNCH_GPUS" ? std::optional(list) : std::nullopt;
    });
  };
  EXPECT_EQ(wish("0000:c1:00.0").pci, std::vector<std::string>{"0000:c1:00.0"});
  EXPECT_EQ(wish("a:b:c,d:e:f").pci, (std::vector<std::string>{"a:b:c", "d:e:f"}));
  EXPECT_TRUE(wish("").pci.empty());
  EXPECT_EQ(wish("").local_rank, 2);
}

std::string problem(const LibraryVersion& library) {
  const auto found = version_problem(library);
  return found ? found->what : "";
}

TEST(DeviceChoice, HoldsLibrariesToWhatTheBuildNeeds) {
  EXPECT_EQ(problem({.name = "cuDNN", .found = 91900, .needed = 91900}), "");
  EXPECT_EQ(problem({.name = "cuDNN", .found = 92001, .needed = 91900}), "");
  EXPECT_EQ(problem({.name = "cuDNN", .found = 90100, .needed = 91900}),
            "found cuDNN 9.1.0, this build needs 9.19.0 or a later 9");
  EXPECT_EQ(problem({.name = "NCCL", .found = 30000, .needed = 22809}),
            "found NCCL 3.0.0, this build needs 2.28.9 or a later 2");
  EXPECT_EQ(problem({.name = "NCCL", .found = 0, .needed = 22809}),
            "found no NCCL, this build needs 2.28.9 or a later 2");
  const auto driver = [](int found) {
    return problem({.name = "a driver for CUDA",
                    .found = found,
                    .needed = 13010,
                    .units = cuda_units,
                    .is_driver = true});
  };
  EXPECT_EQ(driver(13000), "") << "a newer toolkit of the same major number";
  EXPECT_EQ(driver(14020), "");
  EXPECT_EQ(driver(12040), "found a driver for CUDA 12.4, this build needs 13.0 or later");
}

class OnFakeGpus : public testing::Test {
 protected:
  void SetUp() override {
    host_gpus().pci = {"0000:C1:00.0", "0000:03:00.0", "0000:83:00.0", "0000:41:00.0"};
    host_gpus().driver = 13000;
  }
  void TearDown() override {
    host_gpus().is_exclusive = false;
    host_gpus().counting = gpu_success;
  }
};

/// Each rank must write to the GPU that the plan put its cores near.
TEST_F(OnFakeGpus, EveryRankWorksOnItsOwn) {
  const std::vector<std::string> planned = {"0000:03:00.0", "0000:41:00.0", "0000:83:00.0",
                                            "0000:c1:00.0"};
  std::vector<std::string> got(planned.size());
  std::vector<std::string> named(planned.size());
  std::vector<GpuStatus> foreign(planned.size(), gpu_success);
  void* shared = nullptr;
  ASSERT_EQ(gpu_set_device(0), gpu_success);
  ASSERT_EQ(gpu_allocate(&shared, 64), gpu_success);
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < planned.size(); ++rank) {
    ranks.emplace_back([&, rank] {
      const auto taken = take_own_gpu({.pci = {planned[rank]}});
      if (!taken) return;
      named[rank] = address_of_gpu(*taken);
      void* mine = nullptr;
      if (gpu_allocate(&mine, 64) != gpu_success) return;
      got[rank] = plain_pci_address(host_gpus().pci[static_cast<std::size_t>(host_gpu_of(mine))]);
      foreign[rank] = gpu_copy(shared, mine, 64);
      static_cast<void>(gpu_free(mine));
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(got, planned);
  EXPECT_EQ(named, planned) << "whose sensors are read";
  EXPECT_EQ(foreign, (std::vector{GpuStatus::wrong_device, GpuStatus::wrong_device,
                                  GpuStatus::wrong_device, gpu_success}));
  EXPECT_EQ(gpu_free(shared), gpu_success);
}

TEST_F(OnFakeGpus, ReportsAnErrorInOneLine) {
  host_gpus().driver = 12020;
  EXPECT_EQ(take_own_gpu({}).error().what,
            "no GPU: host: found a driver for host 12.2, this build needs 13.0 or later");
  host_gpus().driver = 13000;
  host_gpus().pci.clear();
  EXPECT_EQ(take_own_gpu({}).error().what, "no GPU: host: none is visible");
  host_gpus().pci = {"0000:01:00.0", "0000:03:00.0"};
  EXPECT_THAT(take_own_gpu({.pci = {"0000:02:00.0"}}).error().what,
              HasSubstr("no GPU: this rank's GPU 0000:02:00.0 is not among"));
}

TEST_F(OnFakeGpus, SaysWhatToDoWhereAnotherProcessHoldsTheGpu) {
  host_gpus().is_exclusive = true;
  const auto taken = take_own_gpu({.pci = {"0000:83:00.0"}});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(taken.error().what, "GPU 0000:83:00.0: held by another process");
  EXPECT_EQ(taken.error().hint, "share it");
}

TEST_F(OnFakeGpus, SaysWhatToDoWithoutTheServiceThatSharesGpus) {
  host_gpus().counting = GpuStatus::no_service;
  EXPECT_EQ(take_own_gpu({}).error().what, "no GPU: host: no service");
  EXPECT_EQ(take_own_gpu({}).error().hint, "start the service");
}

}  // namespace
}  // namespace dllaunch
