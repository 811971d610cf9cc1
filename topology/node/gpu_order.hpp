// Numbering and order of a node's GPUs.
#pragma once

#include <vector>

#include "topology/node/topology.hpp"

namespace dllaunch {

/// The index of a GPU without a number from a runtime, before number_and_sort().
constexpr int unnumbered_gpu = -1;

/// Gives unnumbered GPUs the free numbers of their vendor in the order given (PCI order), then
/// sorts all by (vendor, index).
void number_and_sort(std::vector<Gpu>& gpus);

}  // namespace dllaunch
