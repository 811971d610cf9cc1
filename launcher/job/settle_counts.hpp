// Settles what a job file says about its ranks, nodes and GPUs in more than one way.
#pragma once

#include <vector>

#include "launcher/config/yaml_tree.hpp"

namespace dllaunch {

struct Settled {
  std::vector<YamlProblem> problems = {};  // what contradicts itself
  std::vector<YamlProblem> notes = {};     // what was changed, for the user
};

/// Replaces `run: torchrun ... train.py` by `run: python3 -u train.py` and the keys that the
/// launcher's options stand for, unless `ranks_per_node: 1` keeps a launcher of several workers.
/// Replaces `resources.gpus` by `gpus_per_node` or `nodes` if the other one is given. `gpus` alone
/// remains, with `nodes: auto`: it needs the cluster.
Settled settle_counts(YamlNode& root);

}  // namespace dllaunch
