// The GPUs of a node by Slurm's types: "gpu:a100:4,gpu:1g.5gb:7".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct GpuGres {
  std::string type = {};  // empty: Slurm has none for it
  int count = 0;

  bool operator==(const GpuGres&) const = default;
};

/// A node's Gres, "gpu:a100:4(S:0-1),gpu:v100:2,craynetwork:4": its GPUs, each type once, in the
/// order written. Shards, MPS and other kinds are not GPUs of their own.
std::vector<GpuGres> read_gres(std::string_view gres);

/// A part of a GPU under a MIG profile's name: "1g.5gb", "a100_3g.20gb", "2g.10gb+me".
bool is_gpu_slice(std::string_view type);

/// What counts where nobody names a type: whole GPUs; slices where there is nothing else.
std::vector<GpuGres> counted_gpus(const std::vector<GpuGres>& kinds);

int gpus_in(const std::vector<GpuGres>& kinds);

/// The value of --gpus-per-node that asks a node of these kinds for so many: "4", or with types
/// where Slurm might give others: "v100:2", "a100:2,v100:1". `type`: only that one; empty: any that
/// counts, one kind where one is enough.
std::string gpu_request(const std::vector<GpuGres>& kinds, const std::string& type, int gpus);

/// "4 x a100, 7 x 1g.5gb"
std::string gpu_words(const std::vector<GpuGres>& kinds);

}  // namespace dllaunch
