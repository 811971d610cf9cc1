#include "launcher/preflight/figures.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace dllaunch {
namespace {

void add_figure(std::string what, std::string like, std::optional<double> value,
                std::vector<NodeFigure>& figures) {
  if (value && std::isfinite(*value) && *value > 0)
    figures.push_back({std::move(what), std::move(like), *value});
}

/// The least of the node's GPUs of one kind.
std::optional<double> least_of(const Json& gpus, const std::string& name, const char* key) {
  std::optional<double> least;
  for (const auto& gpu : gpus) {
    const auto value = number_of(gpu, key);
    if (value && text_of(gpu, "name") == name) least = std::min(*value, least.value_or(*value));
  }
  return least;
}

void add_gpus(const Json& seen, std::vector<NodeFigure>& figures) {
  constexpr std::pair<const char*, const char*> keys[] = {{"tflops", "gpu TFLOP/s"},
                                                          {"memory", "gpu GB/s of memory"},
                                                          {"to_gpu", "gpu GB/s to it"},
                                                          {"from_gpu", "gpu GB/s from it"},
                                                          {"peer", "gpu GB/s to the next"}};
  if (!seen.is_object() || !seen.contains("gpus") || !seen["gpus"].is_array()) return;
  const auto& gpus = seen["gpus"];
  if (gpus.empty()) return;
  const auto name = text_of(gpus.front(), "name");
  for (const auto& [key, what] : keys) add_figure(what, name, least_of(gpus, name, key), figures);
}

}  // namespace

std::vector<NodeFigure> figures_of(const NodeAnswer& answer) {
  std::vector<NodeFigure> figures;
  for (const auto& [check, samples] : answer.samples) {
    for (const auto& sample : samples) {
      if (!sample.trouble.empty()) continue;
      const auto& seen = sample.seen;
      if (check == "cpu") {
        const auto model = text_of(seen, "model");
        const auto like = fmt::format("{}{}{:.0f} CPUs", model, model.empty() ? "" : ", ",
                                      number_of(seen, "cpus").value_or(0));
        add_figure("cpu GFLOP/s", like, number_of(seen, "gflops"), figures);
        add_figure("cpu GB/s of memory", like, number_of(seen, "gb_per_s"), figures);
      } else if (check == "gpu-speed") {
        add_gpus(seen, figures);
      } else if (check == "memory") {
        // None is a count too.
        if (const auto errors = number_of(seen, "corrected_errors"); errors && *errors >= 0)
          figures.push_back({std::string(memory_errors_figure), "", *errors});
      }
    }
  }
  return figures;
}

}  // namespace dllaunch
