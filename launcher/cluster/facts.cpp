#include "launcher/cluster/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "launcher/cluster/slurm_facts.hpp"
#include "launcher/os/delayed_message.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "launcher/slurm/slurm_json.hpp"

namespace dllaunch {
namespace {

constexpr std::chrono::milliseconds limit{10000};  // a healthy controller answers within a second
// A busy controller with ten thousand nodes does not, and without its answer there is no job.
constexpr std::chrono::milliseconds long_limit{60000};
// The first query is cheap, and detects a controller that does not answer.
constexpr std::chrono::milliseconds first_limit{20000};
constexpr std::chrono::milliseconds patience{5000};

/// Slurm is installed, but this machine belongs to no cluster: a DNS lookup for the controller
/// fails, or before 20.02 slurm.conf is missing.
bool says_not_configured(std::string_view text) {
  constexpr std::array<std::string_view, 3> signs = {"Could not establish a configuration source",
                                                     "DNS SRV lookup failed",
                                                     "unable to status file /etc/slurm"};
  return std::any_of(signs.begin(), signs.end(), [text](std::string_view sign) {
    return text.find(sign) != std::string_view::npos;
  });
}

std::string_view last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text.substr(text.rfind('\n') + 1);
}

Error silent(std::string_view command, std::string_view why, ErrorKind kind) {
  return Error{kind, fmt::format("slurm is configured here, but `{}` failed: {}", command, why),
               "try again, or start on this machine alone with --local"};
}

/// Slurm's programs search for the file for a minute before they report it missing.
std::optional<Error> missing_configuration(System& system) {
  const auto file = system.environment("SLURM_CONF");
  if (!file || file->empty() || system.look_at(*file).exists) return std::nullopt;
  return Error{
      ErrorKind::unavailable,
      fmt::format("slurm is configured by SLURM_CONF={}, and there is no such file", *file),
      "correct or unset SLURM_CONF, or start on this machine alone with --local"};
}

Result<CommandOutput> run_patiently(System& system, const std::vector<std::string>& argv,
                                    std::chrono::milliseconds longest = long_limit) {
  const DelayedMessage message(system,
                               fmt::format("dllaunch: Slurm is slow: waiting up to {} s for `{}`\n",
                                           longest.count() / 1000, fmt::join(argv, " ")),
                               patience);
  return system.run(argv, longest);
}

/// The output of a command; an error if it failed.
Result<std::string> ask(System& system, const std::vector<std::string>& argv) {
  auto output = run_patiently(system, argv);
  const auto command = fmt::format("{}", fmt::join(argv, " "));
  if (!output) return silent(command, output.error().what, output.error().kind);
  if (output->exit_code != 0)
    return silent(command,
                  output->err.empty() ? fmt::format("exit code {}", output->exit_code)
                                      : std::string(last_line(output->err)),
                  ErrorKind::unavailable);
  return std::move(output->out);
}

/// --all: hidden partitions accept jobs too. This text format has been stable since 20.11; JSON is
/// the fallback.
Result<std::vector<SlurmNode>> ask_for_nodes(System& system) {
  auto text = ask(system, {"scontrol", "--all", "--oneliner", "show", "node"});
  if (!text) return std::move(text).error();
  auto nodes = parse_slurm_nodes(*text);
  if (!nodes.empty()) return nodes;
  const auto json = run_patiently(system, {"scontrol", "--all", "show", "node", "--json"});
  return json && json->exit_code == 0 ? parse_slurm_json(json->out).nodes : nodes;
}

Result<std::vector<Partition>> ask_for_partitions(System& system) {
  auto text = ask(system, {"scontrol", "--all", "--oneliner", "show", "partition"});
  if (!text) return std::move(text).error();
  auto partitions = parse_slurm_partitions(*text);
  if (!partitions.empty()) return partitions;
  const auto json = run_patiently(system, {"scontrol", "--all", "show", "partition", "--json"});
  return json && json->exit_code == 0 ? parse_slurm_json(json->out).partitions : partitions;
}

/// Runs five commands: cluster name, partitions, nodes, MPI plugins.
Result<SlurmFacts> observe_slurm(System& system, std::string_view config_text) {
  auto partitions = ask_for_partitions(system);
  if (!partitions) return std::move(partitions).error();
  auto nodes = ask_for_nodes(system);
  if (!nodes) return std::move(nodes).error();
  auto slurm = slurm_facts(parse_slurm_config(config_text), *std::move(partitions), *nodes);
  // A login node whose srun cannot list its plugins can still submit jobs.
  if (auto types = system.run({"srun", "--mpi=list"}, limit); types && types->exit_code == 0)
    slurm.mpi_types = parse_mpi_list(types->out + "\n" + types->err);
  // Pyxis adds its options to srun's own help.
  if (auto help = system.run({"srun", "--help"}, limit); help && help->exit_code == 0)
    slurm.pyxis = help->out.find("--container-image") != std::string::npos;
  return slurm;
}

/// The output of a command; empty if it failed.
std::string words_of(System& system, const std::vector<std::string>& argv) {
  const auto output = system.run(argv, limit);
  return output && output->exit_code == 0 ? output->out : std::string();
}

std::vector<std::string> split_at_blanks(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
    if (end > begin) words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

void observe_accounting(System& system, SlurmUser& user) {
  const auto known = system.run({"sacctmgr", "--noheader", "--parsable2", "show", "associations",
                                 "where", "user=" + user.name, "format=Account,Partition,QOS"},
                                limit);
  if (!known || known->exit_code != 0) return;
  user.associations = parse_associations(known->out);
  const auto first =
      split_at_blanks(words_of(system, {"sacctmgr", "--noheader", "--parsable2", "show", "user",
                                        user.name, "format=DefaultAccount"}));
  if (!first.empty()) user.default_account = first[0];
}

}  // namespace

Result<Facts> observe(System& system) {
  Facts facts{.host = system.host_name(), .slurm = {}, .why_no_slurm = {}, .topology = {}};
  facts.time = std::time(nullptr);
  if (!system.find_program("sinfo") || !system.find_program("scontrol")) {
    facts.why_no_slurm = "sinfo is not installed";
  } else {
    if (auto missing = missing_configuration(system)) return *std::move(missing);
    auto config = run_patiently(system, {"scontrol", "show", "config"}, first_limit);
    if (!config) return silent("scontrol show config", config.error().what, config.error().kind);
    if (config->exit_code == 0) {
      auto slurm = observe_slurm(system, config->out);
      if (!slurm) return std::move(slurm).error();
      // The topology stays unknown: a login node differs from compute nodes.
      facts.slurm = *std::move(slurm);
      return facts;
    }
    if (!says_not_configured(config->err))
      return silent("scontrol show config", last_line(config->err), ErrorKind::unavailable);
    facts.why_no_slurm = "slurm is installed, but this machine belongs to no cluster";
  }
  auto topology = system.topology();
  if (!topology) return std::move(topology).error();
  facts.topology = *std::move(topology);
  return facts;
}

void observe_user(System& system, SlurmFacts& slurm) {
  const auto shown = system.run({"scontrol", "--oneliner", "show", "reservation"}, limit);
  if (shown && shown->exit_code == 0) slurm.reservations = parse_slurm_reservations(shown->out);
  const auto name = split_at_blanks(words_of(system, {"id", "-un"}));
  if (name.empty()) return;
  SlurmUser user{.name = name[0],
                 .groups = split_at_blanks(words_of(system, {"id", "-Gn"})),
                 .default_account = {},
                 .associations = {}};
  // If nothing is enforced, any account will do; saves the database a query.
  if (slurm.enforces("associations")) observe_accounting(system, user);
  slurm.user = std::move(user);
}

Result<Facts> observe_local(System& system) {
  auto topology = system.topology();
  if (!topology) return std::move(topology).error();
  return Facts{.host = system.host_name(),
               .slurm = {},
               .why_no_slurm = "it was not asked",
               .topology = *std::move(topology),
               .probed = {},
               .time = std::time(nullptr)};
}

}  // namespace dllaunch
