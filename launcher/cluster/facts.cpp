#include "launcher/cluster/facts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "launcher/cluster/slurm_facts.hpp"
#include "launcher/network/slurm_network.hpp"
#include "launcher/slurm/client.hpp"
#include "runtime/rank/mpi_module_file.hpp"

namespace dllaunch {
namespace {

Error silent(Error error) {
  error.what = "Slurm is configured here, but " + error.what;
  error.hint = "try again, or start on this machine only with --local";
  return error;
}

/// Slurm's programs search for the file for a minute before they report it missing.
std::optional<Error> missing_configuration(System& system) {
  const auto file = system.environment("SLURM_CONF");
  if (!file || file->empty() || system.look_at(*file).exists) return std::nullopt;
  return Error{ErrorKind::unavailable,
               fmt::format("SLURM_CONF={} names a file that does not exist", *file),
               "correct or unset SLURM_CONF, or start on this machine only with --local"};
}

/// Runs four commands, after the one for `config`.
Result<SlurmFacts> observe_slurm(System& system, const SlurmConfig& config) {
  auto partitions = cluster_partitions(system);
  if (!partitions) return silent(std::move(partitions).error());
  auto nodes = cluster_nodes(system);
  if (!nodes) return silent(std::move(nodes).error());
  auto slurm = slurm_facts(config, *std::move(partitions), *nodes);
  // A login node whose srun cannot list its plugins can still submit jobs.
  slurm.mpi_types = mpi_plugins(system);
  slurm.pyxis = has_pyxis(system);
  return slurm;
}

bool lacks_mpi_module(System& system) {
  return !find_mpi_module([&](const std::string& name) { return system.environment(name); });
}

/// The words a command prints; none if it failed.
std::vector<std::string> words_of(System& system, const std::vector<std::string>& argv) {
  constexpr std::chrono::seconds limit(10);
  const auto output = system.run(argv, limit);
  const std::string text = output && output->exit_code == 0 ? output->out : "";
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
    if (end > begin) words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

void observe_accounting(System& system, SlurmUser& user) {
  const auto known = associations(system, user.name);
  if (!known) return;
  user.associations = *known;
  user.default_account = default_account(system, user.name);
}

}  // namespace

Result<Facts> observe(System& system) {
  Facts facts{.host = system.host_name(), .slurm = {}, .why_no_slurm = {}, .topology = {}};
  facts.time = std::time(nullptr);
  facts.no_mpi_module = lacks_mpi_module(system);
  if (!system.find_program("sinfo") || !system.find_program("scontrol")) {
    facts.why_no_slurm = "sinfo is not installed";
  } else {
    if (auto missing = missing_configuration(system)) return *std::move(missing);
    const auto config = cluster_config(system);
    if (config) {
      auto slurm = observe_slurm(system, *config);
      if (!slurm) return std::move(slurm).error();
      // The topology stays unknown: a login node differs from compute nodes.
      facts.slurm = *std::move(slurm);
      facts.slurm->network = slurm_network(system, config->version);
      return facts;
    }
    if (config.error().kind != ErrorKind::bad_request) return silent(config.error());
    facts.why_no_slurm = "Slurm is installed, but this machine belongs to no cluster";
  }
  facts.no_mpirun = !system.find_program("mpirun");
  auto topology = system.topology(DeviceNames::read);
  if (!topology) return std::move(topology).error();
  facts.topology = *std::move(topology);
  return facts;
}

void observe_user(System& system, SlurmFacts& slurm) {
  if (auto shown = reservations(system)) slurm.reservations = *std::move(shown);
  const auto name = words_of(system, {"id", "-un"});
  if (name.empty()) return;
  SlurmUser user{.name = name[0],
                 .groups = words_of(system, {"id", "-Gn"}),
                 .default_account = {},
                 .associations = {}};
  // If nothing is enforced, any account will do; saves the database a query.
  if (slurm.enforces("associations")) observe_accounting(system, user);
  slurm.user = std::move(user);
}

Result<Facts> observe_local(System& system) {
  auto topology = system.topology(DeviceNames::read);
  if (!topology) return std::move(topology).error();
  return Facts{.host = system.host_name(),
               .slurm = {},
               .why_no_slurm = {},
               .no_mpirun = !system.find_program("mpirun"),
               .no_mpi_module = lacks_mpi_module(system),
               .topology = *std::move(topology),
               .probed = {},
               .time = std::time(nullptr)};
}

}  // namespace dllaunch
