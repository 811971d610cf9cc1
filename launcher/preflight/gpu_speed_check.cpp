// Check: the speed of each GPU and of its links, compared with all others.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "launcher/preflight/check.hpp"
#include "launcher/preflight/gpu_speed.hpp"
#include "launcher/preflight/outliers.hpp"

namespace dllaunch {
namespace {

Result<Json> observe(const NodeView& view, const std::string&) {
  // A CPU job does not use the node's GPUs.
  if (!view.request.job_id.empty() && !view.system.environment("SLURM_GPUS_ON_NODE"))
    return Json{{"found", false}, {"why", "the job has no GPU"}, {"gpus", Json::array()}};
  return measure_gpu_speeds("libcuda.so.1");
}

struct Figure {
  const char* key;
  std::string_view unit;
};
constexpr std::array<Figure, 5> figures = {{{"to_gpu", "GB/s to it"},
                                            {"from_gpu", "GB/s from it"},
                                            {"memory", "GB/s of memory"},
                                            {"peer", "GB/s to the next GPU"},
                                            {"tflops", "TFLOP/s"}}};

struct One {
  std::string node = {};
  std::string item = {};
  Json gpu = {};
};

std::vector<One> gpus_of(const std::vector<NodeSample>& samples) {
  std::vector<One> all;
  for (const auto& sample : samples) {
    if (!sample.seen.is_object() || !sample.seen.contains("gpus")) continue;
    int index = 0;
    for (const auto& gpu : sample.seen["gpus"])
      all.push_back({sample.node, fmt::format("GPU {}", index++), gpu});
  }
  return all;
}

struct Fault {
  Level level = Level::ok;
  std::string why = {};
};

void worsen(Fault& fault, Level level, std::string why) {
  if (level > fault.level) fault = {level, std::move(why)};
}

/// GPUs of one model differ by some percent; a link with half its lanes, or of the previous
/// generation, is half as fast.
Level level_of(double share) {
  constexpr double half_and_a_bit = 0.6;
  constexpr double less = 0.85;
  if (share < half_and_a_bit) return Level::fail;
  return share < less ? Level::warn : Level::ok;
}

/// Compares a GPU with others of its model on all nodes.
void compare(const std::vector<One>& all, std::size_t which, const Figure& figure, Fault& fault) {
  const auto own = number_of(all[which].gpu, figure.key);
  if (!own) return;
  std::vector<double> values;
  std::size_t place = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto value = number_of(all[i].gpu, figure.key);
    if (!value || text_of(all[i].gpu, "name") != text_of(all[which].gpu, "name")) continue;
    if (i == which) place = values.size();
    values.push_back(*value);
  }
  const auto slowness = slowness_of(values, place);
  worsen(fault, level_of(slowness.share),
         fmt::format("{:.1f} {} where others of its kind have {:.1f}", *own, figure.unit,
                     slowness.usual));
}

bool is_wrong(const Json& gpu) {
  return number_of(gpu, "wrong").value_or(0) > 0;
}

/// A failure of every GPU is not the GPU's: the driver is too old.
Fault fault_of(const std::vector<One>& all, std::size_t which) {
  const auto& own = all[which].gpu;
  const auto some_are = [&](auto well) {
    return std::ranges::any_of(all, [&](const One& one) { return well(one.gpu); });
  };
  Fault fault;
  if (const auto why = text_of(own, "why"); !why.empty())
    worsen(fault,
           some_are([](const Json& gpu) { return text_of(gpu, "why").empty(); }) ? Level::fail
                                                                                 : Level::warn,
           why);
  if (is_wrong(own))
    worsen(fault,
           some_are([](const Json& gpu) { return !is_wrong(gpu); }) ? Level::fail : Level::warn,
           fmt::format("{:.0f} of its threads computed a wrong sum",
                       number_of(own, "wrong").value_or(0)));
  for (const auto& figure : figures) compare(all, which, figure, fault);
  return fault;
}

std::string value_of(const Json& gpu) {
  std::string text;
  for (const auto& figure : figures)
    if (const auto value = number_of(gpu, figure.key))
      text += fmt::format("{}{:.1f} {}", text.empty() ? "" : ", ", *value, figure.unit);
  return text.empty() ? "not measured" : text;
}

/// Reports the outliers of each node, else its first GPU.
std::vector<NodeResult> judge(const PreflightRequest&, const std::vector<NodeSample>& samples) {
  const auto all = gpus_of(samples);
  std::vector<NodeResult> results;
  for (const auto& sample : samples) {
    PreflightResult well{.value = "no GPU was measured"};
    if (const auto why = text_of(sample.seen, "why"); !why.empty()) well.value += ": " + why;
    bool all_well = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].node != sample.node) continue;
      if (all[i].item == "GPU 0") well.value = value_of(all[i].gpu);
      const auto fault = fault_of(all, i);
      if (fault.level == Level::ok) continue;
      all_well = false;
      results.push_back(
          {sample.node,
           {.item = all[i].item,
            .level = fault.level,
            .value = value_of(all[i].gpu),
            .why = fault.why,
            .fix = "leave the node out and tell the administrators: heat, power, or a badly "
                   "seated or failing card"}});
    }
    if (all_well) results.push_back({sample.node, std::move(well)});
  }
  return results;
}

}  // namespace

extern const PreflightCheck gpu_speed_check;
const PreflightCheck gpu_speed_check{
    .name = "gpu-speed",
    .about = "each GPU's computing, its memory, and the links to host and next GPU",
    .stage = PreflightStage::gpu_speed,
    .limit = std::chrono::milliseconds(8000),
    .observe = observe,
    .judge = judge,
    .bounded_memory = false};

}  // namespace dllaunch
