#include "launcher/slurm/placing_option.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "launcher/slurm/slurm_options.hpp"

namespace dllaunch {
namespace {

constexpr std::array<std::string_view, 7> placing = {
    "nodelist", "distribution", "relative", "nodefile", "exclude", "nodes", "export"};

bool keeps_variables(std::string_view exported) {
  return exported == "ALL" || exported.starts_with("ALL,");
}

}  // namespace

std::string placing_option(const std::vector<std::string>& options, std::size_t nodes) {
  const std::vector<std::string_view> words(options.begin(), options.end());
  for (const auto& option : read_slurm_options(words, SlurmProgram::srun).options) {
    if (std::ranges::find(placing, option.name) == placing.end()) continue;
    const auto value = value_of(option, words);
    if (option.name == "nodes" && value == std::to_string(nodes)) continue;
    if (option.name == "export" && keeps_variables(value)) continue;
    return options[option.word];
  }
  return "";
}

}  // namespace dllaunch
