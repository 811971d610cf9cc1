#include "trainer/backends/gpu/layers/dropout_masks.hpp"

#include <variant>

#include "trainer/backends/gpu/check.hpp"

namespace dllaunch::gpu {

DropoutMasks::DropoutMasks(const Graph& graph, DeviceMemory& memory)
    : graph_(graph), memory_(memory), place_(graph.nodes.size()) {
  std::size_t masks = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (std::holds_alternative<Dropout>(graph.nodes[n].op)) place_[n] = masks++;
  }
  drawn_.reserve(masks);
  piece_ = memory.add(masks * sizeof(DropoutMask));
}

void DropoutMasks::draw(GpuStream stream, std::uint64_t batch_key) {
  drawn_.clear();
  for (const Node& node : graph_.nodes) {
    const auto* op = std::get_if<Dropout>(&node.op);
    if (op != nullptr) drawn_.emplace_back(batch_key, node.name, op->rate);
  }
  if (drawn_.empty()) return;
  check(gpu_copy_later(memory_.at<DropoutMask>(piece_), drawn_.data(),
                       drawn_.size() * sizeof(DropoutMask), stream),
        "dropout");
}

}  // namespace dllaunch::gpu
