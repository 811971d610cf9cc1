// The fake device runs work on other streams as late as allowed: when something waits for it.
#include "trainer/backends/gpu/memory/image_transfer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace dllaunch::gpu {
namespace {

constexpr std::size_t elements = 6;

struct Transfer {
  Transfer() {
    memory.place();
    EXPECT_EQ(memory.allocate(), gpu_success);
    copies.start();
  }
  void send(const std::vector<float>& images) {
    copies.send(
        {{.to = to, .from = std::as_bytes(std::span(images)), .bytes = elements * sizeof(float)}});
  }
  /// Returns the contents of array `of` after receive().
  std::vector<float> there(int of) const {
    const auto* const first = memory.at<float>(of);
    return {first, first + elements};
  }

  DeviceMemory memory;
  int to = memory.add(elements * sizeof(float));
  int other = memory.add(elements * sizeof(float));
  ImageTransfer copies{memory};
};

TEST(ImageTransfer, BringsImagesAndZerosBehindThem) {
  Transfer transfer;
  const std::vector<float> first = {1, 2, 3, 4};
  transfer.send(first);
  transfer.copies.receive(nullptr);
  EXPECT_TRUE(gpu_owns(transfer.memory.at<float>(transfer.to)));
  EXPECT_EQ(transfer.there(transfer.to), (std::vector<float>{1, 2, 3, 4, 0, 0}));
  transfer.copies.release(nullptr);
  const std::vector<float> second = {7, 8, 9, 10, 11, 12};
  transfer.send(second);
  transfer.copies.receive(nullptr);
  EXPECT_EQ(transfer.there(transfer.to), second);
  transfer.copies.release(nullptr);
  transfer.send({});
  transfer.copies.receive(nullptr);
  EXPECT_EQ(transfer.there(transfer.to), std::vector<float>(elements));
}

TEST(ImageTransfer, BringsSeveralPartsAtOnce) {
  Transfer transfer;
  const std::vector<float> images = {1, 2, 3, 4, 5, 6};
  const std::vector<float> beside = {8, 9};
  transfer.copies.send({{.to = transfer.to, .from = std::as_bytes(std::span(images))},
                        {.to = transfer.other,
                         .from = std::as_bytes(std::span(beside)),
                         .bytes = 3 * sizeof(float)}});
  transfer.copies.receive(nullptr);
  EXPECT_EQ(transfer.there(transfer.to), images);
  const auto there = transfer.there(transfer.other);
  EXPECT_EQ(std::vector(there.begin(), there.begin() + 3), (std::vector<float>{8, 9, 0}));
  EXPECT_TRUE(std::isnan(there[3])) << "no more than was asked for";
}

/// Not on the compute stream, where it would wait for the previous step.
TEST(ImageTransfer, IsOnAStreamOfItsOwn) {
  Transfer transfer;
  const std::vector<float> images(elements, 5);
  transfer.send(images);
  EXPECT_TRUE(std::isnan(transfer.there(transfer.to)[0])) << "nothing has waited for it";
  transfer.copies.receive(nullptr);
  EXPECT_EQ(transfer.there(transfer.to), images);
}

TEST(ImageTransfer, WaitsForAllThatWasSent) {
  Transfer transfer;
  const std::vector<float> images(elements, 5);
  transfer.send(images);
  transfer.copies.wait();
  EXPECT_EQ(transfer.there(transfer.to), images);
}

/// Kernels that still read the previous images must not see the next ones.
TEST(ImageTransfer, ComesAfterTheLastLookAtTheImagesBefore) {
  Transfer transfer;
  const std::vector<float> images(elements, 5);
  for (int step = 0; step < 3; ++step) {
    transfer.send(images);
    transfer.copies.receive(nullptr);
    void* const kernel = transfer.memory.at<float>(transfer.to);
    ASSERT_EQ(gpu_clear_later(kernel, 4, nullptr), gpu_success);  // stands for a kernel that reads
    transfer.copies.release(nullptr);
    const std::uint64_t released = host_gpu_work();
    ASSERT_EQ(gpu_clear_later(kernel, 4, nullptr), gpu_success);  // the rest of the step
    transfer.send(images);
    EXPECT_EQ(host_gpus().follows, released) << "not before it, nor after the whole step";
    transfer.copies.receive(nullptr);
    transfer.copies.release(nullptr);
  }
}

/// Destruction with unreceived images does not block, and nothing is written afterwards.
TEST(ImageTransfer, EndsWhileImagesAreOnTheirWay) {
  const std::vector<float> images(elements, 5);
  DeviceMemory memory;
  const int to = memory.add(elements * sizeof(float));
  {
    ImageTransfer transfer(memory);
    memory.place();
    ASSERT_EQ(memory.allocate(), gpu_success);
    transfer.start();
    transfer.send({{.to = to, .from = std::as_bytes(std::span(images))}});
  }
  EXPECT_EQ(*memory.at<float>(to), 5);
}

}  // namespace
}  // namespace dllaunch::gpu
