// Check: clock, arithmetic and memory speed of a node's CPUs, compared with other nodes.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "launcher/preflight/check.hpp"
#include "launcher/preflight/cpu_speed.hpp"
#include "launcher/preflight/outliers.hpp"
#include "runtime/rank/binding.hpp"

namespace dllaunch {
namespace {

std::optional<double> number_in(System& system, const std::string& path) {
  const auto text = system.read_file(path);
  if (!text) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  if (end == text->c_str()) return std::nullopt;
  return value;
}

/// A CPU's clock in MHz as the kernel reports it, and how often its package was throttled.
struct CpuClock {
  std::optional<double> now_mhz = {};
  std::optional<double> limit_mhz = {};
  std::optional<double> most_mhz = {};
  std::optional<double> throttled = {};
};

CpuClock read_clock(const NodeView& view, int cpu) {
  const auto folder = fmt::format("{}/sys/devices/system/cpu/cpu{}", view.root, cpu);
  const auto mhz = [&](const char* file) -> std::optional<double> {
    const auto khz = number_in(view.system, folder + "/cpufreq/" + file);
    return khz ? std::optional(*khz / 1000) : std::nullopt;
  };
  return {.now_mhz = mhz("scaling_cur_freq"),
          .limit_mhz = mhz("scaling_max_freq"),
          .most_mhz = mhz("cpuinfo_max_freq"),
          .throttled = number_in(view.system, folder + "/thermal_throttle/package_throttle_count")};
}

/// "AMD EPYC 7763 64-Core Processor"; empty: the kernel names none.
std::string cpu_model(const NodeView& view) {
  constexpr std::string_view key = "model name";
  const auto text = view.system.read_file(view.root + "/proc/cpuinfo");
  const auto at = text ? text->find(key) : std::string::npos;
  if (at == std::string::npos) return "";
  const auto line = text->substr(at, text->find('\n', at) - at);
  const auto name = line.find_first_not_of(": \t", key.size());
  return name == std::string::npos ? "" : line.substr(name);
}

Result<Json> observe(const NodeView& view, const std::string&) {
  const auto cpus = current_binding();
  if (!cpus) return cpus.error();
  const int first = cpus->first();
  const auto before = read_clock(view, first);
  const auto speed = measure_cpu_speed(*cpus, {});
  if (!speed) return speed.error();
  const auto after = read_clock(view, first);
  Json seen{{"model", cpu_model(view)}, {"cpus", speed->cpus},
            {"gflops", speed->gflops},  {"gb_per_s", speed->gb_per_s},
            {"share", speed->share},    {"sums_agree", speed->sums_agree}};
  // Measured after the work: an idle CPU clocks down.
  if (after.now_mhz) seen["now_mhz"] = *after.now_mhz;
  if (after.limit_mhz) seen["limit_mhz"] = *after.limit_mhz;
  if (after.most_mhz) seen["most_mhz"] = *after.most_mhz;
  if (before.throttled && after.throttled) seen["throttled"] = *after.throttled - *before.throttled;
  return seen;
}

struct Fault {
  Level level = Level::ok;
  std::string why = {};
  std::string fix = {};
};

void worsen(Fault& fault, Level level, std::string why, std::string_view fix) {
  if (level > fault.level) fault = {level, std::move(why), std::string(fix)};
}

/// Synchronous training runs at the pace of the slowest node. On a shared node, two hardware
/// threads of a core halve each other's speed; down to that it is a warning.
Level level_of(double share) {
  constexpr double much_less = 0.4;
  constexpr double less = 0.7;
  if (share < much_less) return Level::fail;
  return share < less ? Level::warn : Level::ok;
}

constexpr std::string_view slow_fix =
    "leave the node out and tell the administrators: heat, a power limit or a failing memory "
    "module";

void compare(const Json& seen, const std::vector<NodeSample>& all, std::size_t which,
             const char* key, const std::string& unit, Fault& fault) {
  const auto own = number_of(seen, key);
  if (!own) return;
  std::vector<double> values;
  values.reserve(all.size());
  for (const auto& sample : all) values.push_back(number_of(sample.seen, key).value_or(0));
  const auto slowness = slowness_of(values, which);
  worsen(fault, level_of(slowness.share),
         fmt::format("{:.1f} {} where the other nodes have {:.1f}", *own, unit, slowness.usual),
         slow_fix);
}

void look_at_clocks(const Json& seen, Fault& fault) {
  // A CPU held at its lowest clock by a fault (BD PROCHOT) runs at a tenth to a quarter of its
  // highest; with all cores busy, or with AVX-512, at half or more.
  constexpr double stuck = 0.3;
  constexpr double low = 0.5;
  const auto most = number_of(seen, "most_mhz");
  if (!most || *most <= 0) return;
  if (const auto now = number_of(seen, "now_mhz"); now && *now < low * *most)
    worsen(fault, *now < stuck * *most ? Level::fail : Level::warn,
           fmt::format("at work its clock is {:.0f} MHz of {:.0f}", *now, *most), slow_fix);
  if (const auto limit = number_of(seen, "limit_mhz"); limit && *limit < low * *most)
    worsen(fault, Level::warn,
           fmt::format("its clock is limited to {:.0f} MHz of {:.0f}", *limit, *most),
           "cpupower frequency-set, or srun --cpu-freq=high");
}

void look_at_share(const Json& seen, const std::vector<NodeSample>& all, std::size_t which,
                   Fault& fault) {
  // On an exclusive node each thread has its own CPU.
  constexpr double busy = 0.7;
  constexpr double taken = 0.25;
  const auto own = number_of(seen, "share");
  if (!own || *own >= busy) return;
  std::vector<double> values;
  values.reserve(all.size());
  for (const auto& sample : all) values.push_back(number_of(sample.seen, "share").value_or(1));
  const auto slowness = slowness_of(values, which);
  // If all nodes are as busy, or there is only one, the job's request may be the reason.
  const bool stands_out = slowness.usual > 0 && slowness.share < taken;
  worsen(fault, *own < taken && stands_out ? Level::fail : Level::warn,
         fmt::format("other processes leave it {:.0f} % of its CPUs", 100 * *own),
         "look for processes of dead jobs (top) and a CPU quota (cpu.max or cpu.cfs_quota_us of "
         "the job's cgroup)");
}

std::vector<NodeResult> judge(const PreflightRequest&, const std::vector<NodeSample>& samples) {
  std::vector<NodeResult> results;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto& seen = samples[i].seen;
    Fault fault;
    if (seen.is_object() && seen.contains("sums_agree") && !flag_of(seen, "sums_agree"))
      worsen(fault, Level::fail, "the same sum, computed twice, gave different results",
             "leave the node out and tell the administrators: its CPU or memory is broken");
    compare(seen, samples, i, "gflops", "GFLOP/s", fault);
    compare(seen, samples, i, "gb_per_s", "GB/s of memory", fault);
    look_at_share(seen, samples, i, fault);
    look_at_clocks(seen, fault);
    if (const auto events = number_of(seen, "throttled"); events && *events > 0)
      worsen(fault, Level::warn, "heat slowed it down while it was measured",
             "tell the administrators: cooling or fan");
    PreflightResult result{.level = fault.level, .why = fault.why, .fix = fault.fix};
    const double cpus = number_of(seen, "cpus").value_or(0);
    result.value =
        fmt::format("{:.0f} CPU{}, {:.1f} GFLOP/s and {:.1f} GB/s each", cpus, cpus == 1 ? "" : "s",
                    number_of(seen, "gflops").value_or(0), number_of(seen, "gb_per_s").value_or(0));
    results.push_back({samples[i].node, std::move(result)});
  }
  return results;
}

}  // namespace

extern const PreflightCheck cpu_check;
const PreflightCheck cpu_check{
    .name = "cpu",
    .about = "computing, memory bandwidth and clocks beside the other nodes' figures",
    .stage = PreflightStage::cpu_speed,
    .limit = std::chrono::milliseconds(2500),
    .observe = observe,
    .judge = judge};

}  // namespace dllaunch
