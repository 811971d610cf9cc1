#include "topology/diagnosis/visible_gpus.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/core.h>

namespace dllaunch {
namespace {

const std::string* value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? nullptr : &found->second;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  while (!trimmed(list).empty()) {
    const auto comma = std::min(list.find(','), list.size());
    items.push_back(trimmed(list.substr(0, comma)));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return items;
}

/// -1 if the item is not an index.
int index_in(std::string_view item) {
  int index = -1;
  const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), index);
  return error == std::errc{} && end == item.data() + item.size() && index >= 0 ? index : -1;
}

bool is_uuid(std::string_view item) {
  return item.starts_with("GPU-") || item.starts_with("MIG-");
}

/// Returns the GPU of `among` whose UUID has this prefix, as CUDA matches it. -1 if none or several
/// have it, or if the vendor's library was not queried.
int position_of_uuid(const Topology& topology, const std::vector<int>& among,
                     std::string_view beginning) {
  int found = -1;
  for (const int position : among) {
    if (!topology.gpus[static_cast<std::size_t>(position)].uuid.starts_with(beginning)) continue;
    if (found >= 0) return -1;
    found = position;
  }
  return found;
}

/// Applies one variable to the GPUs in `seen`.
void filter(const Topology& topology, const std::string& name, const std::string& value,
            VisibleGpus& seen) {
  seen.variable += fmt::format("{}{}={}", seen.variable.empty() ? "" : " ", name, value);
  std::vector<int> kept;
  int unidentified = 0;
  for (const auto item : items_of(value)) {
    if (is_uuid(item)) {
      seen.mig = seen.mig || item.starts_with("MIG-");
      const int position = position_of_uuid(topology, seen.gpus, item);
      if (position >= 0)
        kept.push_back(position);
      else
        ++unidentified;
      continue;
    }
    // Intel's masks may name a tile, "0.1".
    const int index = index_in(item.substr(0, item.find('.')));
    if (index < 0 || index >= seen.count) {
      // "-1" is the customary way to select none.
      if (item != "-1")
        seen.wrong.push_back(fmt::format("{}={} names GPU {}, but there are {} to choose from",
                                         name, value, item, seen.count));
      break;
    }
    if (seen.identified) kept.push_back(seen.gpus[static_cast<std::size_t>(index)]);
  }
  const bool known = seen.identified && unidentified == 0;
  seen.count = unidentified + static_cast<int>(kept.size());
  seen.identified = known;
  seen.gpus = known ? std::move(kept) : std::vector<int>{};
}

std::string vendor_of(const Topology& topology, const RankObservation& rank) {
  for (const auto& library : rank.gpu_libraries) {
    std::string vendor = library.starts_with("libcu")   ? "nvidia"
                         : library.starts_with("libze") ? "intel"
                                                        : "amd";
    for (const auto& gpu : topology.gpus)
      if (gpu.vendor == vendor) return vendor;
  }
  return topology.gpus.empty() ? "" : topology.gpus.front().vendor;
}

void restrict_to_devices(const RankObservation& rank, VisibleGpus& seen) {
  if (!rank.nvidia_devices) return;
  std::vector<int> kept;
  for (std::size_t i = 0; i < seen.gpus.size(); ++i)
    if (rank.nvidia_devices->contains(static_cast<int>(i))) kept.push_back(seen.gpus[i]);
  seen.gpus = std::move(kept);
  seen.count = static_cast<int>(seen.gpus.size());
}

/// --gpus-per-task with a device cgroup renumbers each task's GPUs from 0. If the cgroup cannot be
/// read, that 0 cannot be told from the first GPU.
bool may_be_renumbered(const RankObservation& rank, const VisibleGpus& seen) {
  const auto* bind = value_of(rank.environment, "SLURMD_TRES_BIND");
  return bind != nullptr && bind->find("per_task") != std::string::npos && !rank.nvidia_devices &&
         rank.local_rank > 0 && !seen.variable.empty() && !seen.gpus.empty() &&
         seen.gpus.front() == 0;
}

void filter_amd(const Topology& topology, const Environment& environment, VisibleGpus& seen) {
  const auto* rocr = value_of(environment, "ROCR_VISIBLE_DEVICES");
  const auto* hip = value_of(environment, "HIP_VISIBLE_DEVICES");
  const auto* cuda = value_of(environment, "CUDA_VISIBLE_DEVICES");
  if (rocr != nullptr) filter(topology, "ROCR_VISIBLE_DEVICES", *rocr, seen);
  const int left = seen.count;
  if (hip != nullptr && cuda != nullptr && *hip != *cuda)
    seen.wrong.push_back(fmt::format(
        "HIP_VISIBLE_DEVICES={} and CUDA_VISIBLE_DEVICES={} contradict each other", *hip, *cuda));
  if (hip != nullptr)
    filter(topology, "HIP_VISIBLE_DEVICES", *hip, seen);
  else if (cuda != nullptr)
    filter(topology, "CUDA_VISIBLE_DEVICES", *cuda, seen);
  if (rocr != nullptr && (hip != nullptr || cuda != nullptr) && left > 0 && seen.count == 0)
    seen.wrong.push_back(fmt::format(
        "{} leave no GPU: the second variable counts among those the first leaves", seen.variable));
}

}  // namespace

VisibleGpus visible_gpus(const Topology& topology, const RankObservation& rank) {
  const auto vendor = vendor_of(topology, rank);
  VisibleGpus seen;
  for (int i = 0; i < std::ssize(topology.gpus); ++i)
    if (topology.gpus[static_cast<std::size_t>(i)].vendor == vendor) seen.gpus.push_back(i);
  seen.count = static_cast<int>(seen.gpus.size());
  if (seen.count == 0) return seen;

  const auto filter_by = [&](const char* name) {
    if (const auto* value = value_of(rank.environment, name)) filter(topology, name, *value, seen);
  };
  if (vendor == "amd") {
    filter_amd(topology, rank.environment, seen);
  } else if (vendor == "intel") {
    filter_by("ZE_AFFINITY_MASK");
  } else {
    restrict_to_devices(rank, seen);
    filter_by("CUDA_VISIBLE_DEVICES");
  }
  if (may_be_renumbered(rank, seen)) {
    seen.identified = false;
    seen.gpus.clear();
  }
  return seen;
}

std::vector<int> driven_gpus(const VisibleGpus& visible, const RankObservation& rank) {
  const auto have = static_cast<int>(visible.gpus.size());
  if (have <= 1 || rank.rank < 0 || rank.local_world_size <= 1) return visible.gpus;
  std::vector<int> driven = {visible.gpus[static_cast<std::size_t>(rank.local_rank % have)]};
  const auto first = std::int64_t{have} * rank.local_rank / rank.local_world_size;
  const auto last = std::int64_t{have} * (rank.local_rank + 1) / rank.local_world_size;
  for (auto i = first; i < std::min<std::int64_t>(last, have); ++i) {
    const int gpu = visible.gpus[static_cast<std::size_t>(i)];
    if (gpu != driven.front()) driven.push_back(gpu);
  }
  return driven;
}

}  // namespace dllaunch
