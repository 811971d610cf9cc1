#include "launcher/plan/sbatch_overrides.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "launcher/slurm/option_overrides.hpp"
#include "launcher/slurm/scontrol_parser.hpp"

namespace dllaunch {
namespace {

struct Key {
  std::string_view option;
  std::optional<std::string> Resources::*value;
};

constexpr std::array<Key, 7> keys = {{{"--partition", &Resources::partition},
                                      {"--account", &Resources::account},
                                      {"--qos", &Resources::qos},
                                      {"--time", &Resources::time},
                                      {"--reservation", &Resources::reservation},
                                      {"--constraint", &Resources::constraint},
                                      {"--exclude", &Resources::exclude}}};

/// A value that is not a Slurm duration is left in place: Slurm reports it.
bool fits(const Key& key, const std::string& value) {
  if (value.empty()) return false;
  return key.option != "--time" || is_unlimited(value) || parse_slurm_minutes(value);
}

/// The text after "gpu:" in --gres, or the whole value of other options; empty if it is not about
/// GPUs, or about several types.
std::string_view gpus_of(std::string_view option, std::string_view value) {
  constexpr std::array<std::string_view, 4> counts = {"--gpus-per-node", "--gpus",
                                                      "--gpus-per-task", "--gpus-per-socket"};
  if (value.find(',') != std::string_view::npos) return {};
  if (option == "--gres") return value.starts_with("gpu:") ? value.substr(4) : std::string_view();
  const bool known = std::ranges::find(counts, option) != counts.end();
  return known ? value : std::string_view();
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// GPUs per node; nullopt if the option counts otherwise or has no number.
std::optional<int> gpus_per_node_in(std::string_view option, std::string_view value) {
  if (option != "--gres" && option != "--gpus-per-node") return std::nullopt;
  if (option == "--gres" && value == "gpu") return 1;
  const auto gpus = gpus_of(option, value);
  const auto count = gpus.substr(gpus.rfind(':') + 1);
  int number = 0;
  if (!is_number(count) ||
      std::from_chars(count.data(), count.data() + count.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

}  // namespace

Job apply_overrides(Job job, const SbatchVariables& variables) {
  const auto own = job.resources;
  auto& resources = job.resources;
  const bool counts_gpus = own.device != "cpu" && job.train.is_null() && !own.gpus_per_node;
  for (const auto& extra : own.sbatch_extra) {
    const auto option = option_of_line(extra);
    if (!option) continue;
    for (const auto& key : keys)
      if (key.option == option->first && !(own.*key.value) && fits(key, option->second))
        resources.*key.value = option->second;
    if (const auto gpus = gpus_per_node_in(option->first, option->second); gpus && counts_gpus)
      resources.gpus_per_node = gpus;
  }
  for (const auto& variable : variables) {
    const auto& name = variable.first;
    const auto& value = variable.second;
    for (const auto& key : keys)
      if (key.option == option_of_variable(name) && !(resources.*key.value) && fits(key, value))
        resources.*key.value = value;
  }
  return job;
}

std::string gpu_type_in(const std::string& extra) {
  const auto option = option_of_line(extra);
  if (!option) return {};
  const auto gpus = gpus_of(option->first, option->second);
  const auto type = gpus.substr(0, gpus.find(':'));
  return is_number(type) ? "" : std::string(type);
}

std::string wanted_gpu_type(const std::vector<std::string>& extras) {
  for (const auto& extra : extras)
    if (auto type = gpu_type_in(extra); !type.empty()) return type;
  return {};
}

}  // namespace dllaunch
