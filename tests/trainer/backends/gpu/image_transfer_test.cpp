// The fake device does what a stream of its own was given as late as it may: when somebody waits.
#include "trainer/backends/gpu/image_transfer.hpp"

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
    images.start();
  }
  DeviceMemory memory;
  ImageTransfer images{elements, memory};
};

std::vector<float> at(const float* there) {
  return {there, there + elements};
}

TEST(ImageTransfer, BringsImagesAndZerosBehindThem) {
  Transfer transfer;
  const std::vector<float> first = {1, 2, 3, 4};
  transfer.images.send(first);
  const float* const there = transfer.images.receive(nullptr);
  EXPECT_TRUE(gpu_owns(there));
  EXPECT_EQ(at(there), (std::vector<float>{1, 2, 3, 4, 0, 0}));
  transfer.images.release(nullptr);
  const std::vector<float> second = {7, 8, 9, 10, 11, 12};
  transfer.images.send(second);
  EXPECT_EQ(at(transfer.images.receive(nullptr)), second);
  transfer.images.release(nullptr);
  transfer.images.send({});
  EXPECT_EQ(at(transfer.images.receive(nullptr)), std::vector<float>(elements));
}

/// Not on the stream that computes: there it would wait for the step before.
TEST(ImageTransfer, IsOnAStreamOfItsOwn) {
  Transfer transfer;
  const std::vector<float> images(elements, 5);
  transfer.images.send(images);
  EXPECT_TRUE(std::isnan(*transfer.memory.at<float>(0))) << "nobody has waited for it";
  EXPECT_EQ(*transfer.images.receive(nullptr), 5);
}

/// Kernels that still read the images before must not find the next ones there.
TEST(ImageTransfer, ComesAfterTheLastLookAtTheImagesBefore) {
  Transfer transfer;
  const std::vector<float> images(elements, 5);
  for (int step = 0; step < 3; ++step) {
    transfer.images.send(images);
    transfer.images.receive(nullptr);
    void* const kernel = transfer.memory.at<float>(0);
    ASSERT_EQ(gpu_clear_later(kernel, 4, nullptr), gpu_success);  // stands for one that reads
    transfer.images.release(nullptr);
    const std::uint64_t released = host_gpu_work();
    ASSERT_EQ(gpu_clear_later(kernel, 4, nullptr), gpu_success);  // the rest of the step
    transfer.images.send(images);
    EXPECT_EQ(host_gpus().follows, released) << "not before it, nor after the whole step";
    transfer.images.receive(nullptr);
    transfer.images.release(nullptr);
  }
}

/// What has been sent and not received keeps nobody from ending, and nothing is written after.
TEST(ImageTransfer, EndsWhileImagesAreOnTheirWay) {
  const std::vector<float> images(elements, 5);
  DeviceMemory memory;
  {
    ImageTransfer transfer(elements, memory);
    memory.place();
    ASSERT_EQ(memory.allocate(), gpu_success);
    transfer.start();
    transfer.send(images);
  }
  EXPECT_EQ(*memory.at<float>(0), 5);
}

}  // namespace
}  // namespace dllaunch::gpu
