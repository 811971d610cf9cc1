// The form in which gradients travel: in place, copied, or as 16-bit floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "runtime/gradients/arena.hpp"

namespace dllaunch {

enum class Compression : std::uint8_t { none, fp16, bf16 };

constexpr std::string_view to_string(Compression compression) {
  switch (compression) {
    case Compression::none:
      return "none";
    case Compression::fp16:
      return "fp16";
    case Compression::bf16:
      return "bf16";
  }
  return "";
}

/// One rank's gradients and their copies for the wire. Element i of the arena is element i of every
/// copy.
class GradientCompressor {
 public:
  /// Collective. Makes `copies` of the gradients in memory that `communicator` reduces fastest;
  /// with 0 they are reduced in place, without compression. Compression requires f32 and keeps a
  /// residual of the gradients' size. All arguments must outlive this object.
  GradientCompressor(Communicator& communicator, const ArenaLayout& layout,
                     std::span<std::byte> gradients, Compression compression, int copies);

  DType type() const { return type_; }
  /// Element `offset` of a copy, or of the gradients without copies.
  std::byte* at(int copy, std::size_t offset) const;

  /// Gradients to copy. The rounding error of compression stays in this rank's residual.
  void pack(int copy, const ArenaRange& range);
  /// Copy to gradients.
  void unpack(int copy, const ArenaRange& range) const;

 private:
  float* gradients_at(std::size_t offset) const {
    return reinterpret_cast<float*>(gradients_.data()) + offset;
  }

  DType arena_type_;
  DType type_;
  std::span<std::byte> gradients_;
  std::vector<std::span<std::byte>> copies_;
  float limit_ = 0;                     // largest magnitude of a compressed element
  std::unique_ptr<float[]> residuals_;  // of compression
};

}  // namespace dllaunch
