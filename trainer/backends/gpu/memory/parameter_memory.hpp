// Parameters of a GPU backend: used in place if their arenas are on the GPU, else as device copies
// of host arenas.
#pragma once

#include <cstddef>
#include <vector>

#include "gpu_api.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"

namespace dllaunch::gpu {

/// Returns plain_slots(), with convolution weights channels last.
std::vector<ParameterSlot> channels_last_slots(const Graph& graph);

/// Converts such a slot from [outer, channels, pixels] to [outer, pixels, channels], and back.
void to_channels_last(const Shape& shape, const float* plain, float* arena);
void from_channels_last(const Shape& shape, const float* arena, float* plain);

class ParameterMemory {
 public:
  explicit ParameterMemory(const Graph& graph);

  const std::vector<ParameterSlot>& slots() const { return slots_; }
  /// Returns the bytes of the device copies if they do not fit, else 0.
  [[nodiscard]] std::size_t attach(std::vector<void*> weights, std::vector<void*> gradients);

  /// For host arenas: copy all weights to the GPU, all gradients to the GPU (to accumulate into
  /// them), and one slot's gradient back, which blocks. No-ops for arenas on the GPU.
  void fetch_weights(GpuStream stream) const;
  void fetch_gradients(GpuStream stream) const;
  void give_gradient(GpuStream stream, int slot) const;

  /// Whether all arenas are on the GPU, so that nothing is copied.
  bool are_on_device() const { return copies_.empty(); }

  /// Return device memory of Graph::parameters[parameter].
  const float* weight(int parameter) const { return weights_[index(parameter)]; }
  float* gradient(int parameter) const { return gradients_[index(parameter)]; }

  void to_plain(int slot, const void* arena, void* plain) const;
  void from_plain(int slot, const void* plain, void* arena) const;

 private:
  static std::size_t index(int of) { return static_cast<std::size_t>(of); }
  std::size_t bytes(std::size_t slot) const { return slots_[slot].elements * sizeof(float); }

  std::vector<ParameterSlot> slots_;
  std::vector<void*> host_weights_;  // by slot; nullptr: the arena is on the GPU
  std::vector<void*> host_gradients_;
  std::vector<float*> weights_;  // by parameter, on the GPU
  std::vector<float*> gradients_;
  DeviceMemory copies_;
};

}  // namespace dllaunch::gpu
