#include "runtime/gradients/gradient_compression.hpp"

#include <cassert>
#include <cstring>

#include "runtime/gradients/error_feedback.hpp"

namespace dllaunch {
namespace {

DType wire_type(Compression compression, DType arena) {
  switch (compression) {
    case Compression::none:
      return arena;
    case Compression::fp16:
      return DType::f16;
    case Compression::bf16:
      return DType::bf16;
  }
  return arena;
}

}  // namespace

GradientCompressor::GradientCompressor(Communicator& communicator, const ArenaLayout& layout,
                                       std::span<std::byte> gradients, Compression compression,
                                       int copies)
    : arena_type_(layout.type), type_(wire_type(compression, layout.type)), gradients_(gradients) {
  for (int i = 0; i < copies; ++i) {
    copies_.push_back(communicator.allocate(layout.total * bytes_of(type_)));
  }
  if (compression == Compression::none) return;
  assert(copies > 0 && layout.type == DType::f32);
  limit_ = largest_summand(type_, communicator.size());
  residuals_ = std::make_unique<float[]>(layout.total);
}

std::byte* GradientCompressor::at(int copy, std::size_t offset) const {
  if (copies_.empty()) return gradients_.data() + offset * bytes_of(type_);
  return copies_[static_cast<std::size_t>(copy)].data() + offset * bytes_of(type_);
}

void GradientCompressor::pack(int copy, const ArenaRange& range) {
  if (copies_.empty()) return;
  if (residuals_) {
    compress(type_, limit_, {gradients_at(range.offset), range.elements},
             residuals_.get() + range.offset, at(copy, range.offset));
    return;
  }
  const std::size_t size = bytes_of(arena_type_);
  std::memcpy(at(copy, range.offset), gradients_.data() + range.offset * size,
              range.elements * size);
}

void GradientCompressor::unpack(int copy, const ArenaRange& range) const {
  if (copies_.empty()) return;
  if (residuals_) {
    expand(type_, at(copy, range.offset), {gradients_at(range.offset), range.elements});
    return;
  }
  const std::size_t size = bytes_of(arena_type_);
  std::memcpy(gradients_.data() + range.offset * size, at(copy, range.offset),
              range.elements * size);
}

}  // namespace dllaunch
