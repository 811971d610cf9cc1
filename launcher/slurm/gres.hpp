// The GPUs of a node by Slurm type: "gpu:a100:4,gpu:1g.5gb:7".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct GpuGres {
  std::string type = {};  // empty: untyped
  int count = 0;

  bool operator==(const GpuGres&) const = default;
};

/// The GPUs in a node's Gres, "gpu:a100:4(S:0-1),gpu:v100:2,craynetwork:4": one entry per type, in
/// the order written. Shards, MPS and other kinds do not count as GPUs.
std::vector<GpuGres> read_gres(std::string_view gres);

/// Whether a type names a MIG profile: "1g.5gb", "a100_3g.20gb", "2g.10gb+me".
bool is_gpu_slice(std::string_view type);

/// The GPUs that count when no type is requested: whole GPUs, or slices if there are no whole ones.
std::vector<GpuGres> counted_gpus(const std::vector<GpuGres>& kinds);

int gpus_in(const std::vector<GpuGres>& kinds);

/// The value of --gpus-per-node that requests `gpus` GPUs from a node of these kinds: "4", or with
/// types where Slurm might give others: "v100:2", "a100:2,v100:1". `type` restricts the request to
/// that type; if empty, one kind is preferred.
std::string gpu_request(const std::vector<GpuGres>& kinds, const std::string& type, int gpus);

/// "4 x a100, 7 x 1g.5gb"
std::string gpu_words(const std::vector<GpuGres>& kinds);

}  // namespace dllaunch
