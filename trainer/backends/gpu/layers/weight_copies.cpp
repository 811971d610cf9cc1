#include "trainer/backends/gpu/layers/weight_copies.hpp"

#include "support/position.hpp"
#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"

namespace dllaunch::gpu {

WeightCopies::WeightCopies(const Graph& graph, DType type, const ParameterMemory& parameters,
                           DeviceMemory& memory)
    : graph_(graph),
      parameters_(parameters),
      memory_(memory),
      copies_(graph.parameters.size(), -1) {
  for (const Node& node : graph.nodes) {
    if (!traits_of(node.op).weighted || type == DType::f32) continue;
    const std::size_t weight = at(node.parameters.front());
    if (copies_[weight] >= 0) continue;  // another node's, too
    const std::int64_t elements = elements_of(graph.parameters[weight].shape);
    copies_[weight] = memory.add(static_cast<std::size_t>(elements) * bytes_of(type));
  }
}

template <typename T>
void WeightCopies::take(GpuStream stream) {
  for (std::size_t p = 0; p < copies_.size(); ++p) {
    if (copies_[p] < 0) continue;
    launch(stream, elements_of(graph_.parameters[p].shape),
           Convert<float, T>{parameters_.weight(static_cast<int>(p)), memory_.at<T>(copies_[p]),
                             false});
  }
}

template void WeightCopies::take<float>(GpuStream);
template void WeightCopies::take<BFloat16>(GpuStream);
template void WeightCopies::take<Float16>(GpuStream);

}  // namespace dllaunch::gpu
