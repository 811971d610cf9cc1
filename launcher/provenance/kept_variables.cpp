#include "launcher/provenance/kept_variables.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "launcher/base/secrets.hpp"
#include "launcher/base/utf8.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_variables = 300;
constexpr std::size_t longest_value = 4096;

bool is_wanted(std::string_view name) {
  constexpr std::array<std::string_view, 11> families = {"SLURM_", "OMPI_",   "NCCL_",      "CUDA_",
                                                         "OMP_",   "MIOPEN_", "ROCR_",      "HIP_",
                                                         "CONDA_", "PYTHON",  "VIRTUAL_ENV"};
  return name == "PATH" || name == "LD_LIBRARY_PATH" ||
         std::ranges::any_of(families, [name](auto family) { return name.starts_with(family); });
}

/// In these lists of folders, ':' follows names that say nothing. Cut last: a cut could part a
/// password from the host that shows it to be one.
std::string shown_value(std::string_view name, std::string_view value) {
  const bool folders = name == "PATH" || name == "LD_LIBRARY_PATH" || name == "PYTHONPATH";
  const bool address = value.find("://") != std::string_view::npos;
  const auto text = folders && !address ? std::string(value) : without_secrets(value);
  return std::string(first_bytes(text, longest_value));
}

}  // namespace

KeptVariables keep_variables(const std::vector<std::pair<std::string, std::string>>& of_job,
                             const std::vector<std::pair<std::string, std::string>>& of_process) {
  KeptVariables kept;
  std::set<std::string> left_out;
  const auto keep = [&](const std::string& name, std::string_view value) {
    if (is_secret_name(name)) {
      left_out.insert(name);
    } else {
      kept.values.emplace(name, shown_value(name, value));
    }
  };
  for (const auto& [name, value] : of_job) keep(name, value);
  for (const auto& [name, value] : of_process)
    if (is_wanted(name)) keep(name, value);
  while (kept.values.size() > most_variables) kept.values.erase(std::prev(kept.values.end()));
  for (const auto& name : left_out)
    if (kept.left_out.size() < most_variables) kept.left_out.push_back(name);
  return kept;
}

}  // namespace dllaunch
