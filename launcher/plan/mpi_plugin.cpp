#include "launcher/plan/mpi_plugin.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace dllaunch {
namespace {

bool lists(const SlurmFacts& slurm, std::string_view type) {
  return std::ranges::find(slurm.mpi_types, type) != slurm.mpi_types.end();
}

/// 5 for "pmix_v5" and "pmix_v5.0".
int version_of(std::string_view type) {
  constexpr std::string_view prefix = "pmix_v";
  int version = -1;
  if (type.starts_with(prefix))
    std::from_chars(type.data() + prefix.size(), type.data() + type.size(), version);
  return version;
}

}  // namespace

std::optional<std::string> mpi_of_trainer(const SlurmFacts& slurm) {
  if (lists(slurm, "pmix")) return "pmix";
  const auto newest = std::ranges::max_element(
      slurm.mpi_types, [](const auto& a, const auto& b) { return version_of(a) < version_of(b); });
  if (newest == slurm.mpi_types.end() || version_of(*newest) < 0) return std::nullopt;
  return *newest;
}

std::optional<std::string> mpi_of_command(const SlurmFacts& slurm, std::string_view profile) {
  if (!profile.empty()) return std::string(profile);
  if (!slurm.mpi_default.empty() && slurm.mpi_default != "none") return slurm.mpi_default;
  if (auto found = mpi_of_trainer(slurm)) return found;
  if (lists(slurm, "pmi2")) return "pmi2";
  return std::nullopt;
}

}  // namespace dllaunch
