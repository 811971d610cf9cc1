#include "trainer/backends/backend.hpp"

namespace dllaunch {

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::fp64:
      return "fp64";
    case Precision::tf32:
      return "tf32";
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "fp16";
  }
  return "";
}

SlotRows rows_of_rank(std::int64_t all, int rank, int ranks) {
  const std::int64_t first = all * rank / ranks;
  return {.first = first, .count = all * (rank + 1) / ranks - first, .all = all};
}

Shape whole_shape(const ParameterSlot& slot) {
  Shape shape = slot.shape;
  if (slot.rows) shape.front() = slot.rows->all;
  return shape;
}

std::vector<ParameterSlot> plain_slots(const Graph& graph) {
  std::vector<ParameterSlot> slots;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (node->shares) continue;
    for (const int index : node->parameters) {
      const Parameter& parameter = graph.parameters[static_cast<std::size_t>(index)];
      slots.push_back({.name = parameter.name,
                       .shape = parameter.shape,
                       .elements = static_cast<std::size_t>(elements_of(parameter.shape)),
                       .layout = "plain",
                       .parameter = index});
    }
  }
  return slots;
}

}  // namespace dllaunch
