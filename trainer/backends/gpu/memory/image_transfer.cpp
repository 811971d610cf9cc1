#include "trainer/backends/gpu/memory/image_transfer.hpp"

#include "trainer/backends/gpu/check.hpp"

namespace dllaunch::gpu {

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

void ImageTransfer::send(std::initializer_list<Part> parts) {
  check(gpu_wait_for(copies_, released_), "wait");
  for (const Part& part : parts) {
    auto* const to = memory_.at<std::byte>(part.to);
    const std::size_t sent = part.from.size();
    if (sent > 0) check(gpu_copy_later(to, part.from.data(), sent, copies_), "images");
    if (sent >= part.bytes) continue;
    check(gpu_clear_later(to + sent, part.bytes - sent, copies_), "images");
  }
  check(gpu_record(sent_, copies_), "record");
}

void ImageTransfer::receive(GpuStream stream) {
  check(gpu_wait_for(stream, sent_), "wait");
}

void ImageTransfer::release(GpuStream stream) {
  check(gpu_record(released_, stream), "record");
}

void ImageTransfer::wait() {
  check(gpu_synchronise(copies_), "images");
}

}  // namespace dllaunch::gpu
