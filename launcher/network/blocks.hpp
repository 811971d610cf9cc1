// Slurm's blocks, which pair up to larger ones, and its rings.
#pragma once

#include <string_view>
#include <vector>

#include "launcher/network/network_draft.hpp"

namespace dllaunch {

struct Blocks {
  struct Base {
    std::string_view name = {};
    std::string_view nodes = {};
  };
  struct Aggregated {
    std::string_view name = {};  // the host list of its base blocks
    int size = 0;                // in nodes
  };
  std::vector<Base> base = {};
  int base_size = 0;                        // in nodes; 0: not said
  std::vector<Aggregated> aggregated = {};  // scontrol's, from 24.11
  std::vector<int> sizes = {};              // BlockSizes, in nodes, the base size first
};

/// Base blocks are leaves. Larger ones are those listed; else `sizes` makes them of as many
/// successive blocks as their size holds, as Slurm does.
void add_blocks(const Blocks& blocks, NetworkDraft& draft);

/// A ring is a leaf; the order of its nodes is the order round it.
void add_ring(std::string_view name, std::string_view nodes, NetworkDraft& draft);

}  // namespace dllaunch
