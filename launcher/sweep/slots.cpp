#include "launcher/sweep/slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "launcher/slurm/host_list.hpp"
#include "support/counted.hpp"
#include "topology/render/placement_env.hpp"

namespace dllaunch {
namespace {

int usable_cores(const Topology& node) {
  return static_cast<int>(std::ranges::count_if(
      node.cores, [&node](const Core& core) { return core.cpus.intersects(node.allowed_cpus); }));
}

/// A MIG instance has no number, and a GPU of unknown make no variable.
bool have_numbers(const Topology& node) {
  for (int gpu = 0; gpu < std::ssize(node.gpus); ++gpu)
    if (device_variables(node, {.gpus = {gpu}}).empty()) return false;
  return true;
}

Error too_many(int many, const std::string& has, int most) {
  return {ErrorKind::bad_request,
          fmt::format("sweep.concurrent is {}, and this machine has {}", many, has),
          fmt::format("concurrent: {}", std::max(1, most))};
}

}  // namespace

int slots_that_fit(const Topology& node, const PlacementRequest& trial) {
  if (trial.gpus <= 0 || trial.policy == BindPolicy::explicit_masks || !have_numbers(node))
    return 1;
  const int cores_each = std::max(trial.gpus, trial.ranks * std::max(1, trial.cores_per_rank));
  const int by_gpus = static_cast<int>(node.gpus.size()) / trial.gpus;
  return std::max(1, std::min(by_gpus, usable_cores(node) / cores_each));
}

int most_slots(const Topology& node, const PlacementRequest& trial) {
  const int cores = usable_cores(node);
  if (trial.gpus <= 0) return cores;
  return std::min(cores, static_cast<int>(node.gpus.size()) / trial.gpus);
}

Result<std::vector<Slot>> slots_on(const Topology& node, const PlacementRequest& trial, int many) {
  const int gpus = static_cast<int>(node.gpus.size());
  const int cores = usable_cores(node);
  if (many > cores) return too_many(many, counted(cores, "core"), cores);
  if (trial.gpus > 0 && many * trial.gpus > gpus)
    return too_many(many, fmt::format("{}, {} for each trial", counted(gpus, "GPU"), trial.gpus),
                    gpus / trial.gpus);
  if (trial.gpus > 0 && !have_numbers(node))
    return Error{ErrorKind::bad_request,
                 "sweep.concurrent: no variable can give each trial GPUs of its own",
                 "concurrent: 1, or resources.device: cpu"};
  const int seats = std::max(1, trial.gpus);  // of a trial
  auto placed =
      place_ranks(node, {.ranks = many * seats,
                         .gpus = many * trial.gpus,
                         .cores_per_rank = (trial.ranks * trial.cores_per_rank + seats - 1) / seats,
                         .cores = trial.cores,
                         .smt = true,
                         .reserve = trial.reserve});
  if (!placed) return std::move(placed).error().within("sweep.concurrent");
  std::vector<Slot> slots(static_cast<std::size_t>(many));
  for (const auto& seat : placed->ranks) {
    Slot& slot = slots[static_cast<std::size_t>(seat.local_rank / seats)];
    slot.cpus |= seat.cpus;
    slot.gpus.insert(slot.gpus.end(), seat.gpus.begin(), seat.gpus.end());
  }
  for (Slot& slot : slots) std::ranges::sort(slot.gpus);
  return slots;
}

Result<std::vector<Slot>> slots_in(const std::vector<std::string>& hosts, int nodes,
                                   const std::vector<Slot>& parts, std::optional<int> most) {
  const auto each = static_cast<std::size_t>(nodes);
  if (hosts.size() < each)
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("the allocation has {}, and a trial needs {}",
                             counted(std::ssize(hosts), "node"), each),
                 "a larger allocation, or a smaller resources.nodes"};
  const std::vector<Slot> whole(1);
  std::vector<Slot> slots;
  // A part of each node before the next part: trials spread over the nodes.
  for (const Slot& part : parts.empty() ? whole : parts) {
    for (std::size_t first = 0; first + each <= hosts.size(); first += each) {
      Slot slot = part;
      slot.nodes = compress_hosts(std::span(hosts).subspan(first, each));
      slots.push_back(std::move(slot));
    }
  }
  if (most && slots.size() > static_cast<std::size_t>(*most))
    slots.resize(static_cast<std::size_t>(*most));
  return slots;
}

}  // namespace dllaunch
