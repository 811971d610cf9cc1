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
