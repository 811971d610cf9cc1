// Check: the job's GPUs on a node are present, free, not throttled, and without memory errors.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "launcher/preflight/check.hpp"
#include "launcher/preflight/gpu_state.hpp"
#include "topology/diagnosis/visible_gpus.hpp"

namespace dllaunch {
namespace {

constexpr const char* promised_key = "promised";  // absent: Slurm allocated none here

Result<Json> observe(const NodeView& view, const std::string&) {
  const auto promised = view.system.environment("SLURM_GPUS_ON_NODE");
  Json seen{{"nvidia_files", count_nvidia_files(view.root)},
            {"nvml", read_nvml_states("libnvidia-ml.so.1")},
            {"amd", read_amd_states(view.root)}};
  if (promised) seen[promised_key] = std::atoi(promised->c_str());
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"})
    if (const auto value = view.system.environment(name)) seen[name] = *value;
  return seen;
}

/// Returns the GPUs a management library reports; none without such a library.
std::vector<Json> gpus_in(const Json& seen) {
  std::vector<Json> gpus;
  for (const char* key : {"nvml", "amd"}) {
    if (!seen.is_object() || !seen.contains(key) || !seen[key].is_object()) continue;
    const auto found = seen[key].find("gpus");
    if (found == seen[key].end() || !found->is_array()) continue;
    for (const auto& gpu : *found)
      if (gpu.is_object()) gpus.push_back(gpu);
  }
  return gpus;
}

Json part_of(const Json& seen, const char* key) {
  return seen.is_object() && seen.contains(key) ? seen[key] : Json();
}

int count_of(const Json& seen) {
  const auto gpus = static_cast<int>(gpus_in(seen).size());
  return gpus > 0 ? gpus : static_cast<int>(number_of(seen, "nvidia_files").value_or(0));
}

/// Returns the most frequent count; without one, the largest.
int usual_count(const std::vector<NodeSample>& samples) {
  std::map<int, int> nodes;
  for (const auto& sample : samples) ++nodes[count_of(sample.seen)];
  int usual = 0;
  int most = 0;
  for (const auto& [count, number] : nodes) {
    if (number < most) continue;
    most = number;
    usual = count;
  }
  return usual;
}

/// Returns indices of the job's GPUs; a shared node has others too.
std::set<std::size_t> own_gpus(const std::vector<Json>& gpus, const Json& seen) {
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < gpus.size(); ++i) all.insert(i);
  const auto variable = text_of(seen, "CUDA_VISIBLE_DEVICES");
  if (variable.empty()) return all;
  Topology node;
  for (const auto& gpu : gpus)
    node.gpus.push_back({.index = static_cast<int>(number_of(gpu, "index").value_or(0)),
                         .vendor = "nvidia",
                         .pci = text_of(gpu, "pci"),
                         .uuid = text_of(gpu, "uuid")});
  RankObservation shell;
  shell.environment["CUDA_VISIBLE_DEVICES"] = variable;
  const auto visible = visible_gpus(node, shell);
  if (!visible.identified || visible.gpus.empty()) return all;
  std::set<std::size_t> own;
  for (const int gpu : visible.gpus) own.insert(static_cast<std::size_t>(gpu));
  return own;
}

struct Fault {
  Level level = Level::ok;
  std::string why = {};
  std::string fix = {};
};

void worsen(Fault& fault, Level level, std::string why, std::string_view fix) {
  if (level > fault.level) fault = {level, std::move(why), std::string(fix)};
}

void look_at_memory(const Json& gpu, bool surely_ours, Fault& fault) {
  // An idle driver uses some hundred MiB; a leftover process uses gigabytes.
  constexpr double least = 1 << 30;
  constexpr double part = 0.05;
  const auto used = number_of(gpu, "used_bytes").value_or(0);
  const auto total = number_of(gpu, "total_bytes").value_or(0);
  if (used <= std::max(least, part * total)) return;
  const auto processes = number_of(gpu, "processes").value_or(0);
  worsen(fault, surely_ours ? Level::fail : Level::warn,
         fmt::format("{:.1f} of {:.1f} GiB are taken{}", used / (1 << 30), total / (1 << 30),
                     processes > 0 ? fmt::format(", by {:.0f} processes", processes) : ""),
         "nvidia-smi or rocm-smi --showpids lists them: end processes of dead jobs, or ask the "
         "administrators to");
}

void look_at_clock(const Json& gpu, Fault& fault) {
  constexpr std::uint64_t hardware = 0x8 | 0x40 | 0x80;  // slowdown, thermal, power brake
  constexpr std::uint64_t software_heat = 0x20;
  constexpr double low = 0.7;
  constexpr std::string_view cooling =
      "leave the node out and tell the administrators: cooling or power";
  const auto reasons = static_cast<std::uint64_t>(
      std::clamp(number_of(gpu, "slowed").value_or(0), 0.0, 4294967295.0));
  if ((reasons & hardware) != 0)
    worsen(fault, Level::fail, "its hardware slows it down: heat, or power that failed", cooling);
  if ((reasons & software_heat) != 0)
    worsen(fault, Level::warn, "its driver slows it down for heat", cooling);
  const auto clock = number_of(gpu, "clock_mhz");
  const auto most = number_of(gpu, "most_mhz");
  if (clock && most && *clock > 0 && *clock < low * *most)
    worsen(
        fault, Level::warn, fmt::format("its clock is set to {:.0f} MHz of {:.0f}", *clock, *most),
        "nvidia-smi --reset-applications-clocks; where that is refused, tell the administrators");
}

void look_at_health(const Json& gpu, Fault& fault) {
  constexpr std::string_view replace =
      "leave the node out and tell the administrators: the GPU needs a reset";
  if (const auto errors = number_of(gpu, "ecc_errors"); errors && *errors > 0)
    worsen(fault, Level::fail,
           fmt::format("{:.0f} memory errors that could not be corrected", *errors), replace);
  if (flag_of(gpu, "remap_failed"))
    worsen(fault, Level::fail, "broken memory rows could not be replaced", replace);
  if (flag_of(gpu, "remap_pending"))
    worsen(fault, Level::warn, "broken memory rows wait for a reset to be replaced", replace);
  const auto width = number_of(gpu, "link_width");
  const auto most = number_of(gpu, "most_link_width");
  if (width && most && *width > 0 && *width < *most)
    worsen(fault, Level::warn,
           fmt::format("its PCIe link has {:.0f} lanes of {:.0f}", *width, *most),
           "tell the administrators: the card may be badly seated in its slot");
}

/// Reports a library that other nodes have and this one lacks, or that failed.
std::string driver_trouble(const Json& seen, const std::vector<NodeSample>& samples) {
  const auto nvml = part_of(seen, "nvml");
  if (!gpus_in(seen).empty()) return "";
  auto why = text_of(nvml, "why");
  if (flag_of(nvml, "found") && !why.empty()) return why;
  const bool others = std::any_of(samples.begin(), samples.end(), [](const NodeSample& sample) {
    return flag_of(part_of(sample.seen, "nvml"), "found");
  });
  return others ? "the other nodes have NVIDIA's library, and this one does not" : "";
}

Fault look_at_number(const Json& seen, int wanted, const std::vector<NodeSample>& samples) {
  constexpr std::string_view fix =
      "leave the node out and tell the administrators: nvidia-smi and dmesg (Xid) there show what "
      "happened "
      "to it";
  Fault fault;
  const int have = count_of(seen);
  if (wanted <= 0) return fault;
  if (const auto trouble = driver_trouble(seen, samples); !trouble.empty())
    worsen(fault, Level::fail, trouble, fix);
  if (have < wanted) {
    const auto why = text_of(part_of(seen, "nvml"), "why");
    const bool known = flag_of(part_of(seen, "nvml"), "found") && !why.empty();
    worsen(fault, Level::fail,
           fmt::format("{} GPU{} where the job has {}{}", have, have == 1 ? "" : "s", wanted,
                       known ? " (" + why + ")" : ""),
           fix);
  }
  return fault;
}

/// Returns the number of GPUs the job needs here; 0: none.
int wanted_gpus(const PreflightRequest& request, const Json& seen, int usual) {
  if (request.gpus_per_node >= 0) return request.gpus_per_node;
  if (const auto promised = number_of(seen, promised_key))
    return static_cast<int>(std::clamp(*promised, 0.0, 1e6));
  return request.job_id.empty() ? usual : 0;
}

std::string value_of(const Json& gpu) {
  auto text = text_of(gpu, "name");
  if (text.empty()) text = text_of(gpu, "pci");
  constexpr double gib = 1 << 30;
  const auto total = number_of(gpu, "total_bytes");
  const auto used = number_of(gpu, "used_bytes");
  if (total && used) text += fmt::format(", {:.1f} of {:.1f} GiB used", *used / gib, *total / gib);
  return text;
}

void judge_each(const NodeSample& sample, int wanted, std::vector<NodeResult>& results) {
  const auto gpus = gpus_in(sample.seen);
  const auto own = own_gpus(gpus, sample.seen);
  const bool surely_ours = static_cast<int>(own.size()) <= wanted;
  for (const auto i : own) {
    Fault fault;
    look_at_memory(gpus[i], surely_ours, fault);
    look_at_clock(gpus[i], fault);
    look_at_health(gpus[i], fault);
    if (fault.level == Level::ok) continue;
    results.push_back({sample.node,
                       {.item = fmt::format("GPU {:.0f}", number_of(gpus[i], "index").value_or(0)),
                        .level = fault.level,
                        .value = value_of(gpus[i]),
                        .why = fault.why,
                        .fix = fault.fix}});
  }
}

std::vector<NodeResult> judge(const PreflightRequest& request,
                              const std::vector<NodeSample>& samples) {
  const int usual = usual_count(samples);
  std::vector<NodeResult> results;
  for (const auto& sample : samples) {
    const int wanted = wanted_gpus(request, sample.seen, usual);
    const auto fault = look_at_number(sample.seen, wanted, samples);
    const int have = count_of(sample.seen);
    results.push_back(
        {sample.node,
         {.level = fault.level,
          .value = have == 0 ? "no GPU" : fmt::format("{} GPU{}", have, have == 1 ? "" : "s"),
          .why = fault.why,
          .fix = fault.fix}});
    if (wanted != 0) judge_each(sample, wanted, results);
  }
  return results;
}

}  // namespace

extern const PreflightCheck gpus_check;
const PreflightCheck gpus_check{
    .name = "gpus",
    .about = "the job's GPUs: all there, free, not slowed down, without memory errors",
    .limit = std::chrono::milliseconds(6000),
    .observe = observe,
    .judge = judge,
    .bounded_memory = false};

}  // namespace dllaunch
