#include "launcher/presubmit/cluster_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <set>
#include <string_view>

#include "launcher/base/nearest_name.hpp"
#include "launcher/base/split.hpp"
#include "launcher/plan/node_selection.hpp"
#include "launcher/plan/sbatch_overrides.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string>;

bool lists(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// For accounts, QOS and users, which ignore case.
bool lists_in_any_case(const Names& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [name](const std::string& known) { return same_name(known, name); });
}

/// "use physics", or the whole list if no name is near.
std::string suggestion(const char* key, const std::string& given, const Names& known) {
  if (known.empty()) return fmt::format("remove {}", key);
  const auto nearest = nearest_name(given, known);
  return nearest ? fmt::format("set {}: {}", key, *nearest)
                 : fmt::format("set {} to one of: {}", key, fmt::join(known, " "));
}

std::string local_time(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (localtime_r(&time, &parts) == nullptr) return "?";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min);
}

/// root bypasses some limits.
bool is_root(const SlurmFacts& slurm) {
  return slurm.user && slurm.user->name == "root";
}

void add_once(CheckFindings& found, QueueCheck check, const Error& problem,
              bool of_node_count = false) {
  const bool known = std::any_of(found.begin(), found.end(), [&problem](const CheckFinding& other) {
    return other.problem.what == problem.what;
  });
  if (!known) found.push_back({problem, /*fatal=*/true, of_node_count, check});
}

/// Whether Slurm has every partition that the job names.
bool all_exist(const Resources& resources, const SlurmFacts& slurm) {
  if (!resources.partition) return true;
  const auto named = split_at(*resources.partition, ',');
  return std::ranges::all_of(named, [&slurm](std::string_view name) {
    return std::ranges::find(slurm.partitions, name, &Partition::name) != slurm.partitions.end();
  });
}

/// select_nodes() stops at the first problem, so it is called once for nodes and once for time.
void check_choice(const Job& job, const SlurmFacts& slurm, CheckFindings& found) {
  const bool wants_gpus = job.resources.device != "cpu" && job.train.is_null();
  auto untimed = job;
  untimed.resources.time.reset();
  if (const auto nodes = select_nodes(untimed, slurm, wants_gpus); !nodes) {
    untimed.resources.nodes = 1;
    const bool one_would_do = select_nodes(untimed, slurm, wants_gpus) ? true : false;
    add_once(found, all_exist(job.resources, slurm) ? QueueCheck::nodes : QueueCheck::partition,
             nodes.error(), one_would_do);
  }
  auto one = job.resources;
  one.nodes = 1;
  one.gpus_per_node.reset();
  one.exclude.reset();
  one.constraint.reset();
  one.memory.reset();
  one.qos.reset();  // it may lift the limit; only Slurm knows
  auto untimed_one = one;
  untimed_one.time.reset();
  const auto time = select_nodes(one, slurm, false);
  if (!time && select_nodes(untimed_one, slurm, false))
    add_once(found, QueueCheck::time, time.error());
}

/// If a plugin selects the default, only a submission can tell.
void check_default_partition(const Resources& resources, const SlurmFacts& slurm,
                             CheckFindings& found) {
  const bool any = std::any_of(slurm.partitions.begin(), slurm.partitions.end(),
                               [](const Partition& partition) { return partition.is_default; });
  if (resources.partition || any) return;
  const Error problem{ErrorKind::unsatisfiable, std::string(no_default_message),
                      "set resources.partition"};
  if (slurm.submit_plugins.empty())
    add_once(found, QueueCheck::partition, problem);
  else
    add_warning(found,
                fmt::format("{}: the site's job_submit plug-in ({}) has to choose one",
                            no_default_message, fmt::join(slurm.submit_plugins, ", ")),
                problem.hint);
}

void check_state(const Partition& partition, CheckFindings& found) {
  if (partition.state == "DRAIN" || partition.state == "INACTIVE")
    add_error(found, ErrorKind::unsatisfiable,
              fmt::format("partition {} is {} and accepts no jobs", partition.name,
                          partition.state == "DRAIN" ? "being drained" : "inactive"),
              "name another resources.partition, or ask the administrators when it is back");
  else if (!partition.up)
    add_warning(
        found, fmt::format("partition {} is down: it accepts jobs but starts none", partition.name),
        "name another resources.partition, or wait until it is up again");
}

void check_size(const Partition& partition, int nodes, CheckFindings& found) {
  if (partition.max_nodes && nodes > *partition.max_nodes)
    add_wrong_node_count(found,
                         fmt::format("asked for {} nodes, but partition {} gives a job at most {}",
                                     nodes, partition.name, *partition.max_nodes),
                         fmt::format("use --set resources.nodes={}", *partition.max_nodes));
  if (nodes < partition.min_nodes)
    add_wrong_node_count(
        found,
        fmt::format("asked for {} node{}, partition {} is for jobs of at least {}", nodes,
                    nodes == 1 ? "" : "s", partition.name, partition.min_nodes),
        fmt::format("use --set resources.nodes={}, or name another resources.partition",
                    partition.min_nodes));
}

void check_default_time(const Resources& resources, const Partition& partition,
                        CheckFindings& found) {
  if (resources.time || !partition.default_minutes) return;
  if (partition.max_minutes && *partition.default_minutes >= *partition.max_minutes) return;
  add_warning(found,
              fmt::format("no resources.time: partition {} ends the job after {} minutes",
                          partition.name, *partition.default_minutes),
              "set resources.time to what the job needs, such as 00:30:00");
}

/// The account that the job would be charged to, if known.
std::string account_of(const Resources& resources, const SlurmFacts& slurm) {
  if (resources.account) return *resources.account;
  return slurm.user ? slurm.user->default_account : "";
}

void check_admission(const Resources& resources, const SlurmFacts& slurm,
                     const Partition& partition, CheckFindings& found) {
  const auto account = account_of(resources, slurm);
  const auto open_to = [](const Names& allowed) {
    return allowed.empty() ? std::string() : fmt::format(" (open to: {})", fmt::join(allowed, " "));
  };
  if (!account.empty() && !partition.accounts.admits(account))
    add_error(found, ErrorKind::unsatisfiable,
              fmt::format("partition {} is closed to account {}{}", partition.name, account,
                          open_to(partition.accounts.allowed)),
              "set resources.account to one that may, or name another resources.partition");
  if (resources.qos && !partition.qos.admits(*resources.qos))
    add_error(found, ErrorKind::unsatisfiable,
              fmt::format("partition {} is closed to QOS {}{}", partition.name, *resources.qos,
                          open_to(partition.qos.allowed)),
              "set resources.qos to one that may, or name another resources.partition");
  if (!slurm.user || slurm.user->groups.empty() || is_root(slurm)) return;
  const auto& groups = slurm.user->groups;
  if (std::none_of(groups.begin(), groups.end(),
                   [&](const std::string& group) { return partition.groups.admits(group); }))
    add_error(
        found, ErrorKind::unsatisfiable,
        fmt::format("partition {} is only for the groups {}, and {} is in none of them",
                    partition.name, fmt::join(partition.groups.allowed, " "), slurm.user->name),
        "name another resources.partition, or ask the administrators for access");
}

std::vector<GpuGres> kinds_of(const NodeType& type) {
  if (!type.gpu_gres.empty() || type.gpus == 0) return type.gpu_gres;
  return {{.type = type.gpu_type, .count = type.gpus}};
}

void check_gpu_type(const Resources& resources, const std::vector<const Partition*>& partitions,
                    CheckFindings& found) {
  std::set<std::string> types;
  for (const auto* partition : partitions)
    for (const auto& type : partition->node_types)
      for (const auto& kind : kinds_of(type)) types.insert(kind.type);
  for (const auto& extra : resources.sbatch_extra) {
    const auto type = gpu_type_in(extra);
    // Untyped GPUs match no requested type: Slurm would not allocate them.
    if (type.empty() || partitions.empty() || types.contains(type)) continue;
    types.erase("");
    const auto have = types.empty() ? std::string("no GPUs of a named type")
                                    : fmt::format("GPUs of type {}", fmt::join(types, " "));
    add_error(
        found, ErrorKind::unsatisfiable,
        fmt::format("resources.sbatch_extra: {} asks for GPUs of type {}, partition {} has {}",
                    extra, type, partitions[0]->name, have),
        types.empty() ? "remove it, or name another resources.partition"
                      : fmt::format("use {}, or name another resources.partition", *types.begin()));
  }
}

void check_outages(const Resources& resources, const SlurmFacts& slurm,
                   const std::vector<const Partition*>& partitions, CheckFindings& found) {
  std::set<std::string> nodes;
  for (const auto* partition : partitions)
    for (const auto& type : partition->node_types)
      if (type.gpus >= resources.gpus_per_node.value_or(0))
        nodes.insert(type.hosts.begin(), type.hosts.end());
  std::set<std::string> out;
  std::string why;
  for (const auto& outage : slurm.outages) {
    std::vector<std::string> here;
    for (const auto& host : outage.hosts)
      if (nodes.contains(host)) here.push_back(host);
    if (here.empty()) continue;
    out.insert(here.begin(), here.end());
    why += fmt::format("{}{}: {}{}", why.empty() ? "" : "; ", compress_hosts(here), outage.state,
                       outage.reason.empty() ? "" : ", " + outage.reason);
  }
  const auto left = static_cast<int>(nodes.size() - out.size());
  if (resources.nodes <= left || resources.nodes > static_cast<int>(nodes.size())) return;
  add_warning(found,
              fmt::format("asked for {}, and {} of the {} there are out of order ({})",
                          counted(resources.nodes, "node"), out.size(), nodes.size(), why),
              left > 0
                  ? fmt::format("use --set resources.nodes={}, or wait until they are back", left)
                  : "name another resources.partition, or wait until they are back");
  found.back().of_node_count = left > 0;
}

void check_account(const Resources& resources, const SlurmFacts& slurm, CheckFindings& found) {
  if (!slurm.enforces("associations") || !slurm.user || !slurm.user->associations) return;
  const auto& user = *slurm.user;
  Names accounts;
  for (const auto& known : *user.associations)
    if (!lists_in_any_case(accounts, known.account)) accounts.push_back(known.account);
  if (accounts.empty()) {
    add_error(
        found, ErrorKind::unavailable,
        fmt::format("Slurm accounting has no account for user {}, and rejects jobs without one",
                    user.name),
        "ask the administrators to add you to a project's account");
    return;
  }
  const auto account = account_of(resources, slurm);
  if (account.empty()) {
    add_error(found, ErrorKind::unsatisfiable,
              "resources.account is not set, and you have no default account",
              suggestion("resources.account", "", accounts));
    return;
  }
  if (!lists_in_any_case(accounts, account)) {
    add_error(found, ErrorKind::unsatisfiable,
              fmt::format("you are not a member of account {}", account),
              suggestion("resources.account", account, accounts));
    return;
  }
  Names partitions;
  Names qos;
  bool anywhere = false;
  for (const auto& known : *user.associations) {
    if (!same_name(known.account, account)) continue;
    anywhere = anywhere || known.partition.empty();
    partitions.push_back(known.partition);
    qos.insert(qos.end(), known.qos.begin(), known.qos.end());
  }
  if (!anywhere && resources.partition && !lists(partitions, *resources.partition))
    add_error(
        found, ErrorKind::unsatisfiable,
        fmt::format("you may use account {} in partition {} only", account,
                    fmt::join(partitions, " ")),
        fmt::format("set resources.partition: {}, or another resources.account", partitions[0]));
  if (slurm.enforces("qos") && resources.qos && !qos.empty() &&
      !lists_in_any_case(qos, *resources.qos))
    add_error(found, ErrorKind::unsatisfiable,
              fmt::format("QOS {} is not open to account {}", *resources.qos, account),
              suggestion("resources.qos", *resources.qos, qos));
}

/// Whether a reservation's list admits one of `who`; a list of exclusions admits all others.
/// nullopt: the list does not restrict them.
std::optional<bool> lets_in(const Names& list, const Names& who) {
  bool only_exclusions = true;
  for (const auto& entry : list) {
    const bool excludes = entry.starts_with('-');
    only_exclusions = only_exclusions && excludes;
    if (lists_in_any_case(who, excludes ? entry.substr(1) : entry)) return !excludes;
  }
  if (list.empty() || who.empty()) return std::nullopt;
  return only_exclusions;
}

void check_access(const Reservation& reservation, const Resources& resources,
                  const SlurmFacts& slurm, CheckFindings& found) {
  if (!slurm.user || is_root(slurm)) return;
  const auto account = account_of(resources, slurm);
  const std::array<std::optional<bool>, 3> says = {
      lets_in(reservation.users, {slurm.user->name}),
      lets_in(reservation.accounts, account.empty() ? Names{} : Names{account}),
      lets_in(reservation.groups, slurm.user->groups)};
  const bool refused = std::find(says.begin(), says.end(), false) != says.end();
  const bool admitted = std::find(says.begin(), says.end(), true) != says.end();
  if (!refused || admitted) return;
  Names open_to = reservation.users;
  open_to.insert(open_to.end(), reservation.accounts.begin(), reservation.accounts.end());
  open_to.insert(open_to.end(), reservation.groups.begin(), reservation.groups.end());
  add_error(found, ErrorKind::unsatisfiable,
            fmt::format("reservation {} is not for {}{} (it is for: {})", reservation.name,
                        slurm.user->name, account.empty() ? "" : " with account " + account,
                        fmt::join(open_to, " ")),
            "remove resources.reservation, or set the resources.account it is for");
}

void check_reservation_times(const Reservation& reservation, const Resources& resources,
                             std::int64_t now, CheckFindings& found) {
  if (reservation.end != 0 && reservation.end <= now) {
    add_error(
        found, ErrorKind::unsatisfiable,
        fmt::format("reservation {} ended at {}", reservation.name, local_time(reservation.end)),
        "remove resources.reservation");
    return;
  }
  if (reservation.start > now)
    add_warning(found,
                fmt::format("reservation {} is not active: the job waits until it begins at {}",
                            reservation.name, local_time(reservation.start)),
                "remove resources.reservation to start sooner");
  const auto minutes = resources.time ? parse_slurm_minutes(*resources.time) : std::optional<int>();
  const auto begin = std::max(now, reservation.start);
  if (minutes && reservation.end != 0 && begin + std::int64_t{*minutes} * 60 > reservation.end &&
      !lists(reservation.flags, "FLEX"))
    add_warning(found,
                fmt::format("reservation {} ends at {}, before {} have passed", reservation.name,
                            local_time(reservation.end), *resources.time),
                "lower resources.time: otherwise the job may never start");
}

void check_reservation(const Resources& resources, const SlurmFacts& slurm, std::int64_t now,
                       CheckFindings& found) {
  if (!resources.reservation || !slurm.reservations) return;
  Names known;
  for (const auto& reservation : *slurm.reservations) known.push_back(reservation.name);
  const auto reservation =
      std::find_if(slurm.reservations->begin(), slurm.reservations->end(),
                   [&](const Reservation& one) { return one.name == *resources.reservation; });
  // Leave lists of reservations to Slurm.
  if (resources.reservation->find(',') != std::string::npos) return;
  if (reservation == slurm.reservations->end()) {
    add_error(found, ErrorKind::unsatisfiable,
              fmt::format("no reservation '{}'", *resources.reservation),
              suggestion("resources.reservation", *resources.reservation, known));
    return;
  }
  check_access(*reservation, resources, slurm, found);
  check_reservation_times(*reservation, resources, now, found);
  const auto size = static_cast<int>(reservation->hosts.size());
  if (size > 0 && resources.nodes > size)
    add_wrong_node_count(found,
                         fmt::format("asked for {} nodes, reservation {} has {}", resources.nodes,
                                     reservation->name, size),
                         fmt::format("use --set resources.nodes={}", size));
  if (!reservation->partition.empty() && resources.partition &&
      *resources.partition != reservation->partition)
    add_error(found, ErrorKind::unsatisfiable,
              fmt::format("reservation {} is in partition {}, not {}", reservation->name,
                          reservation->partition, *resources.partition),
              fmt::format("set resources.partition: {}", reservation->partition));
}

/// The limit counts spare nodes too; the advice ignored them.
void count_spare_nodes(const Job& job, CheckFindings& found) {
  for (auto& finding : found) {
    if (!finding.of_node_count) continue;
    finding.problem.what += fmt::format("; {} of them spare ones", job.recovery.spare_nodes);
    finding.problem.hint = "lower recovery.spare_nodes or resources.nodes";
  }
}

}  // namespace

std::vector<const Partition*> partitions_of(const Resources& resources, const SlurmFacts& slurm) {
  std::vector<const Partition*> chosen;
  if (slurm.any_cluster) return chosen;
  const auto wanted = [&resources](const Partition& partition) {
    if (!resources.partition) return partition.is_default;
    const auto list = "," + *resources.partition + ",";
    return list.find("," + partition.name + ",") != std::string::npos;
  };
  for (const auto& partition : slurm.partitions)
    if (wanted(partition)) chosen.push_back(&partition);
  return chosen;
}

CheckFindings check_cluster(const Job& job, const SlurmFacts& slurm, std::int64_t now) {
  auto resources = job.resources;
  resources.nodes += job.recovery.spare_nodes;
  CheckFindings found;
  check_choice(job, slurm, found);
  add_as(QueueCheck::partition, found, [&] { check_default_partition(resources, slurm, found); });
  const auto partitions = partitions_of(resources, slurm);
  CheckFindings of_partitions;
  for (const auto* partition : partitions) {
    add_as(QueueCheck::partition, of_partitions, [&] { check_state(*partition, of_partitions); });
    add_as(QueueCheck::nodes, of_partitions, [&] {
      if (!is_root(slurm)) check_size(*partition, resources.nodes, of_partitions);
    });
    add_as(QueueCheck::time, of_partitions,
           [&] { check_default_time(resources, *partition, of_partitions); });
    add_as(QueueCheck::partition, of_partitions,
           [&] { check_admission(resources, slurm, *partition, of_partitions); });
  }
  // Other partitions of the list may still accept the job.
  for (auto& finding : of_partitions) {
    finding.fatal = finding.fatal && partitions.size() == 1;
    found.push_back(std::move(finding));
  }
  add_as(QueueCheck::gpus, found, [&] { check_gpu_type(resources, partitions, found); });
  add_as(QueueCheck::nodes, found, [&] { check_outages(resources, slurm, partitions, found); });
  add_as(QueueCheck::account, found, [&] { check_account(resources, slurm, found); });
  add_as(QueueCheck::reservation, found, [&] { check_reservation(resources, slurm, now, found); });
  if (job.recovery.spare_nodes > 0) count_spare_nodes(job, found);
  return found;
}

}  // namespace dllaunch
