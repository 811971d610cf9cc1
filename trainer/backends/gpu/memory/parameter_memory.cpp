#include "trainer/backends/gpu/memory/parameter_memory.hpp"

#include <cassert>
#include <cstring>
#include <string_view>
#include <utility>

#include "trainer/backends/gpu/check.hpp"

namespace dllaunch::gpu {
namespace {

/// Calls visit(plain index, channels-last index) for every element.
template <typename Visit>
void for_each_element(const Shape& shape, const Visit& visit) {
  const std::int64_t channels = shape[1];
  const std::int64_t pixels = elements_of(shape) / (shape[0] * channels);
  std::int64_t plain = 0;
  for (std::int64_t k = 0; k < shape[0]; ++k) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t p = 0; p < pixels; ++p) visit(plain++, (k * pixels + p) * channels + c);
    }
  }
}

constexpr std::string_view channels_last = "channels last";

}  // namespace

std::vector<ParameterSlot> channels_last_slots(const Graph& graph) {
  std::vector<ParameterSlot> slots = plain_slots(graph);
  for (const Node& node : graph.nodes) {
    if (!traits_of(node.op).weighted) continue;
    const int weight = node.parameters.front();
    for (ParameterSlot& slot : slots) {
      if (slot.parameter == weight && slot.shape.size() > 2) slot.layout = channels_last;
    }
  }
  return slots;
}

void to_channels_last(const Shape& shape, const float* plain, float* arena) {
  for_each_element(shape, [&](std::int64_t from, std::int64_t to) { arena[to] = plain[from]; });
}

void from_channels_last(const Shape& shape, const float* arena, float* plain) {
  for_each_element(shape, [&](std::int64_t to, std::int64_t from) { plain[to] = arena[from]; });
}

ParameterMemory::ParameterMemory(const Graph& graph)
    : slots_(channels_last_slots(graph)),
      weights_(graph.parameters.size()),
      gradients_(graph.parameters.size()) {}

std::size_t ParameterMemory::attach(std::vector<void*> weights, std::vector<void*> gradients) {
  assert(weights.size() == slots_.size() && gradients.size() == slots_.size());
  host_weights_ = std::move(weights);
  host_gradients_ = std::move(gradients);
  const auto copy_of = [&](const void* arena, std::size_t slot) {
    return gpu_owns(arena) ? -1 : copies_.add(bytes(slot));
  };
  std::vector<std::pair<int, int>> copies;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    copies.emplace_back(copy_of(host_weights_[slot], slot), copy_of(host_gradients_[slot], slot));
  }
  const std::size_t copied = copies_.place();
  if (copies_.allocate() != gpu_success) return copied;
  const auto settle = [&](void*& host, int copy) {
    if (copy >= 0) return copies_.at<float>(copy);
    return static_cast<float*>(std::exchange(host, nullptr));
  };
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const std::size_t parameter = index(slots_[slot].parameter);
    weights_[parameter] = settle(host_weights_[slot], copies[slot].first);
    gradients_[parameter] = settle(host_gradients_[slot], copies[slot].second);
  }
  return 0;
}

void ParameterMemory::fetch_weights(GpuStream stream) const {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (host_weights_[slot] == nullptr) continue;
    check(gpu_copy_later(weights_[index(slots_[slot].parameter)], host_weights_[slot], bytes(slot),
                         stream),
          "copy of weights");
  }
}

void ParameterMemory::fetch_gradients(GpuStream stream) const {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (host_gradients_[slot] == nullptr) continue;
    check(gpu_copy_later(gradients_[index(slots_[slot].parameter)], host_gradients_[slot],
                         bytes(slot), stream),
          "copy of gradients");
  }
}

void ParameterMemory::give_gradient(GpuStream stream, int slot) const {
  void* const host = host_gradients_[index(slot)];
  if (host == nullptr) return;
  const float* const gradient = gradients_[index(slots_[index(slot)].parameter)];
  check(gpu_copy_later(host, gradient, bytes(index(slot)), stream), "copy of a gradient");
  check(gpu_synchronise(stream), "backward");
}

void ParameterMemory::to_plain(int slot, const void* arena, void* plain) const {
  const ParameterSlot& of = slots_[index(slot)];
  if (of.layout != channels_last) return check(gpu_copy(plain, arena, bytes(index(slot))), "copy");
  std::vector<float> here(of.elements);
  check(gpu_copy(here.data(), arena, bytes(index(slot))), "copy");
  from_channels_last(of.shape, here.data(), static_cast<float*>(plain));
}

void ParameterMemory::from_plain(int slot, const void* plain, void* arena) const {
  const ParameterSlot& of = slots_[index(slot)];
  if (of.layout != channels_last) return check(gpu_copy(arena, plain, bytes(index(slot))), "copy");
  std::vector<float> here(of.elements);
  to_channels_last(of.shape, static_cast<const float*>(plain), here.data());
  check(gpu_copy(arena, here.data(), bytes(index(slot))), "copy");
}

}  // namespace dllaunch::gpu
