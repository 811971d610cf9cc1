#include "launcher/rank/rendezvous/start_name.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "launcher/slurm/host_list.hpp"
#include "support/random.hpp"

namespace dllaunch {
namespace {

constexpr int first_port = 61000;  // Linux's ephemeral range is 32768 to 60999
constexpr int last_agreed_port = 65000;
constexpr int port_candidates = 24;

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '-' || c == '_';
}

std::string plain(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return !is_plain(c); }, '_');
  return text;
}

}  // namespace

std::string start_name(const RankEnv& rank, const EnvLookup& lookup, std::string_view parent) {
  const auto value = [&](const char* name) { return lookup(name).value_or(""); };
  if (rank.launcher == "slurm") {
    const auto step = lookup("SLURM_STEP_ID") ? value("SLURM_STEP_ID") : value("SLURM_STEPID");
    const auto job = lookup("SLURM_JOB_ID") ? value("SLURM_JOB_ID") : value("SLURM_JOBID");
    const auto restart = lookup("SLURM_RESTART_COUNT").value_or("0");
    return plain(fmt::format("slurm-{}.{}-r{}", job, step, restart));
  }
  // Open MPI 4 sets the first to a random value per start; PMIx's contains its mpirun.
  std::string common;
  if (rank.launcher != "dllaunch")
    for (const char* name : {"OMPI_MCA_orte_precondition_transports", "PMIX_NAMESPACE", "PALS_APID",
                             "FLUX_JOB_ID", "PMI_JOBID", "PMI_KVS"}) {
      if (const auto found = lookup(name)) common += fmt::format("{}={};", name, *found);
    }
  if (common.empty()) common = parent;
  common += value("SLURM_JOB_ID") + "/" + value("SLURM_RESTART_COUNT");
  return fmt::format("{}-{:016x}", plain(rank.launcher), stable_hash(common));
}

std::vector<std::string> step_hosts(const RankEnv& rank, const EnvLookup& lookup) {
  if (rank.launcher != "slurm") return {};
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    const auto text = lookup(name);
    if (!text) continue;
    auto hosts = expand_hosts(*text);
    return hosts ? *std::move(hosts) : std::vector<std::string>();
  }
  return {};
}

std::vector<int> agreed_ports(std::string_view start_name) {
  std::vector<int> ports;
  std::uint64_t state = stable_hash(start_name);
  while (std::ssize(ports) < port_candidates) {
    // Knuth's generator: its high bits are good enough to spread jobs over ports.
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const int port =
        first_port + static_cast<int>((state >> 33) % (last_agreed_port - first_port + 1));
    if (std::ranges::find(ports, port) == ports.end()) ports.push_back(port);
  }
  return ports;
}

}  // namespace dllaunch
