// The numbers and the order of a node's GPUs.
#pragma once

#include <vector>

#include "topology/node/topology.hpp"

namespace dllaunch {

/// The index of a GPU that no runtime numbered, before number_and_sort().
constexpr int unnumbered_gpu = -1;

/// Unnumbered GPUs get the free numbers of their vendor in the order they come in (PCI order), then
/// all are sorted by (vendor, index).
void number_and_sort(std::vector<Gpu>& gpus);

}  // namespace dllaunch
