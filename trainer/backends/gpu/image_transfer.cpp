#include "trainer/backends/gpu/image_transfer.hpp"

#include "trainer/backends/gpu/check.hpp"

namespace dllaunch::gpu {

ImageTransfer::ImageTransfer(std::size_t elements, DeviceMemory& memory)
    : elements_(elements), memory_(memory), images_(memory.add(elements * sizeof(float))) {}

ImageTransfer::~ImageTransfer() {
  if (copies_ == nullptr) return;
  static_cast<void>(gpu_synchronise(copies_));
  static_cast<void>(gpu_destroy_event(sent_));
  static_cast<void>(gpu_destroy_event(released_));
  static_cast<void>(gpu_destroy_stream(copies_));
}

void ImageTransfer::start() {
  check(gpu_create_stream(copies_), "stream");
  check(gpu_create_event(sent_), "event");
  check(gpu_create_event(released_), "event");
  release(nullptr);
}

void ImageTransfer::send(std::span<const float> images) {
  auto* const there = memory_.at<float>(images_);
  check(gpu_wait_for(copies_, released_), "wait");
  if (!images.empty()) {
    check(gpu_copy_later(there, images.data(), images.size_bytes(), copies_), "images");
  }
  if (images.size() < elements_) {
    check(gpu_clear_later(there + images.size(), (elements_ - images.size()) * sizeof(float),
                          copies_),
          "images");
  }
  check(gpu_record(sent_, copies_), "record");
}

const float* ImageTransfer::receive(GpuStream stream) {
  check(gpu_wait_for(stream, sent_), "wait");
  return memory_.at<float>(images_);
}

void ImageTransfer::release(GpuStream stream) {
  check(gpu_record(released_, stream), "record");
}

}  // namespace dllaunch::gpu
