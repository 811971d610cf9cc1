#include "launcher/slurm/slurm_json.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "launcher/slurm/host_list.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

/// The value at "a.b.c"; null if any part is missing.
const Json& at(const Json& object, std::string_view path) {
  static const Json nothing;
  const Json* found = &object;
  while (true) {
    const auto dot = path.find('.');
    const std::string key(path.substr(0, dot));
    if (!found->is_object()) return nothing;
    const auto entry = found->find(key);
    if (entry == found->end()) return nothing;
    found = &*entry;
    if (dot == std::string_view::npos) return *found;
    path.remove_prefix(dot + 1);
  }
}

/// 7, or {"set": true, "infinite": false, "number": 7}. nullopt: not set, infinite, or not a number
/// between 0 and 2^53.
std::optional<std::int64_t> number(const Json& value) {
  const Json* plain = &value;
  if (value.is_object()) {
    const auto flag = [&value](const char* key) {
      const auto& set = at(value, key);
      return set.is_boolean() && set.get<bool>();
    };
    if (!flag("set") || flag("infinite")) return std::nullopt;
    plain = &at(value, "number");
  }
  constexpr double most = 9007199254740992.0;
  if (!plain->is_number()) return std::nullopt;
  const auto real = plain->get<double>();
  if (!(real >= 0 && real <= most)) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

int count(const Json& value, int least, int otherwise) {
  constexpr std::int64_t most = 1 << 20;
  const auto found = number(value);
  return found && *found >= least && *found <= most ? static_cast<int>(*found) : otherwise;
}

std::string text(const Json& value) {
  if (value.is_string()) {
    auto word = value.get<std::string>();
    return word == "N/A" || word == "(null)" || word == "None" ? "" : word;
  }
  if (value.is_number_integer()) return value.dump();
  return {};
}

/// ["a", "b"], or "a,b".
std::vector<std::string> words(const Json& value) {
  std::vector<std::string> found;
  const auto add = [&found](std::string_view word) {
    if (!word.empty()) found.emplace_back(word);
  };
  if (value.is_array())
    for (const auto& item : value) add(text(item));
  const auto list = value.is_string() ? text(value) : std::string();
  for (std::size_t begin = 0; begin < list.size();) {
    const auto end = std::min(list.find(',', begin), list.size());
    add(std::string_view(list).substr(begin, end - begin));
    begin = end + 1;
  }
  return found;
}

/// The names in a list. "" and "ALL" mean everyone.
std::vector<std::string> those_named(const Json& value) {
  auto names = words(value);
  if (names.size() == 1 && names[0] == "ALL") names.clear();
  return names;
}

/// "MIXED", ["IDLE", "DRAIN"] -> "IDLE+DRAIN" as in scontrol's text.
std::string joined(const std::vector<std::string>& states) {
  std::string all;
  for (const auto& state : states) all += (all.empty() ? "" : "+") + state;
  std::transform(all.begin(), all.end(), all.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return all;
}

std::optional<int> minutes(const Json& value) {
  const auto found = number(value);
  // Plain numbers encode "infinite" as their maximum.
  constexpr std::int64_t most = 0x7ffffffe;
  return found && *found < most ? std::optional(static_cast<int>(*found)) : std::nullopt;
}

SlurmNode node_of(const Json& shown) {
  SlurmNode node;
  node.name = text(at(shown, "name"));
  node.partitions = words(at(shown, "partitions"));
  node.sockets = count(at(shown, "sockets"), 1, 1);
  node.cores_per_socket = count(at(shown, "cores"), 1, 1);
  node.threads_per_core = count(at(shown, "threads"), 1, 1);
  node.cpus = count(at(shown, "cpus"), 1, 1);
  const auto reserved =
      std::int64_t{count(at(shown, "specialized_cores"), 0, 0)} * node.threads_per_core;
  if (!at(shown, "effective_cpus").is_null())
    node.cpus = count(at(shown, "effective_cpus"), 1, node.cpus);
  else if (reserved < node.cpus)
    node.cpus -= static_cast<int>(reserved);
  node.memory_mib = static_cast<std::uint64_t>(number(at(shown, "real_memory")).value_or(0));
  node.features = words(at(shown, "features"));
  take_gpus(text(at(shown, "gres")), node);
  auto states = words(at(shown, "state"));
  for (auto& flag : words(at(shown, "state_flags"))) states.push_back(std::move(flag));
  node.state = joined(states);
  node.reason = text(at(shown, "reason"));
  return node;
}

/// The partition format shared by `scontrol show partition --json` and `sinfo --json`.
Partition partition_of(const Json& shown) {
  Partition partition;
  partition.name = text(at(shown, "name"));
  const auto state = joined(words(at(shown, "partition.state")));
  if (!state.empty()) partition.state = state;
  partition.up = partition.state == "UP";
  const auto flags = words(at(shown, "flags"));
  partition.is_default = std::find(flags.begin(), flags.end(), "DEFAULT") != flags.end();
  partition.max_minutes = minutes(at(shown, "maximums.time"));
  partition.default_minutes = minutes(at(shown, "defaults.time"));
  partition.min_nodes = count(at(shown, "minimums.nodes"), 0, 0);
  if (const auto most = number(at(shown, "maximums.nodes")); most && *most < (1 << 20))
    partition.max_nodes = static_cast<int>(*most);
  partition.accounts.allowed = those_named(at(shown, "accounts.allowed"));
  partition.accounts.denied = words(at(shown, "accounts.deny"));
  partition.qos.allowed = those_named(at(shown, "qos.allowed"));
  partition.qos.denied = words(at(shown, "qos.deny"));
  partition.groups.allowed = those_named(at(shown, "groups.allowed"));
  return partition;
}

void add_partition(Partition partition, std::vector<Partition>& partitions) {
  const auto same = [&partition](const Partition& known) { return known.name == partition.name; };
  if (!partition.name.empty() && std::none_of(partitions.begin(), partitions.end(), same))
    partitions.push_back(std::move(partition));
}

/// Adds a row of `sinfo --json` (23.02 and later): identical nodes, once per partition. Counts are
/// given as minimum and maximum.
void add_row(const Json& row, SlurmReport& report) {
  auto partition = partition_of(at(row, "partition"));
  const auto name = partition.name;
  add_partition(std::move(partition), report.partitions);
  SlurmNode node;
  node.sockets = count(at(row, "sockets.minimum"), 1, 1);
  node.cores_per_socket = count(at(row, "cores.minimum"), 1, 1);
  node.threads_per_core = count(at(row, "threads.minimum"), 1, 1);
  node.cpus = count(at(row, "cpus.minimum"), 1, 1);
  node.memory_mib = static_cast<std::uint64_t>(number(at(row, "memory.minimum")).value_or(0));
  node.features = words(at(row, "features.total"));
  take_gpus(text(at(row, "gres.total")), node);
  node.state = joined(words(at(row, "node.state")));
  node.reason = text(at(row, "reason.description"));
  for (const auto& host : words(at(row, "nodes.nodes"))) {
    auto known = std::find_if(report.nodes.begin(), report.nodes.end(),
                              [&host](const SlurmNode& other) { return other.name == host; });
    if (known == report.nodes.end()) {
      known = report.nodes.insert(report.nodes.end(), node);
      known->name = host;
    }
    known->partitions.push_back(name);
  }
}

Reservation reservation_of(const Json& shown, std::int64_t now) {
  Reservation reservation;
  reservation.name = text(at(shown, "name"));
  reservation.start = number(at(shown, "start_time")).value_or(0);
  reservation.end = number(at(shown, "end_time")).value_or(0);
  // JSON has no state; scontrol's text derives it from the same times.
  reservation.active = reservation.start <= now && now < reservation.end;
  if (auto hosts = expand_hosts(text(at(shown, "node_list"))))
    reservation.hosts = *std::move(hosts);
  reservation.partition = text(at(shown, "partition"));
  reservation.users = words(at(shown, "users"));
  reservation.accounts = words(at(shown, "accounts"));
  reservation.groups = words(at(shown, "groups"));
  reservation.flags = words(at(shown, "flags"));
  return reservation;
}

/// The time as scontrol's text prints it, in this machine's time zone; empty if unset.
std::string local_time(const Json& value) {
  const auto seconds = number(value).value_or(0);
  constexpr std::int64_t year_9999 = 253402300799;
  if (seconds == 0 || seconds > year_9999) return {};
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (localtime_r(&time, &parts) == nullptr) return {};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

const Json& first_of(const Json& object, std::string_view path, std::string_view other) {
  const auto& found = at(object, path);
  return found.is_null() ? at(object, other) : found;
}

/// The suffix of a job id: "", "_4", "_[1-3%1]".
std::string task_of(const Json& shown) {
  const auto tasks = text(first_of(shown, "array_task_string", "array.task"));
  if (!tasks.empty()) return fmt::format("_[{}]", tasks);
  const auto array = number(first_of(shown, "array_job_id", "array.job_id")).value_or(0);
  const auto task = number(first_of(shown, "array_task_id", "array.task_id"));
  return array > 0 && task ? fmt::format("_{}", *task) : "";
}

/// A job of squeue or scontrol, whose fields are flat, or of sacct, whose fields are nested.
SlurmJob job_of(const Json& shown) {
  SlurmJob job;
  const auto array = number(first_of(shown, "array_job_id", "array.job_id")).value_or(0);
  const auto task = task_of(shown);
  const auto id = array > 0 && !task.empty() ? array : number(at(shown, "job_id")).value_or(0);
  if (id > 0) job.id = std::to_string(id) + task;
  // The first word is the state; the others ("CONFIGURING", "REQUEUED") are flags.
  const auto states = words(first_of(shown, "job_state", "state.current"));
  if (!states.empty()) job.state = states[0];
  job.reason = text(first_of(shown, "state_reason", "state.reason"));
  const auto& code = at(shown, "exit_code");
  if (code.is_object()) {
    job.exit_code = count(at(code, "return_code"), 0, 0);
    job.signal = count(first_of(code, "signal.id", "signal.signal_id"), 0, 0);
  } else if (const auto status = number(code)) {
    job.exit_code = static_cast<int>(*status >> 8 & 0xff);
    job.signal = static_cast<int>(*status & 0x7f);
  }
  job.restarts = count(at(shown, "restart_cnt"), 0, 0);
  job.nodes = text(at(shown, "nodes"));
  if (job.nodes == "None assigned") job.nodes.clear();
  job.batch_host = text(at(shown, "batch_host"));
  job.start = local_time(first_of(shown, "start_time", "time.start"));
  job.submit = local_time(first_of(shown, "submit_time", "time.submission"));
  job.output = text(at(shown, "standard_output"));
  if (const auto name = text(at(shown, "name")); !name.empty())
    job.origin.words = fmt::format("|{}|{}", name, text(at(shown, "command")));
  job.origin.token = token_in(text(at(shown, "comment")) + text(at(shown, "comment.job")));
  return job;
}

template <typename Add>
void each(const Json& document, const char* key, Add add) {
  const auto& list = at(document, key);
  if (!list.is_array()) return;
  for (const auto& item : list) add(item);
}

}  // namespace

void add_slurm_json(const Json& document, SlurmReport& report) {
  for (const auto* meta : {"meta.slurm", "meta.Slurm"}) {
    if (report.version.empty()) report.version = text(at(document, std::string(meta) + ".release"));
    if (report.cluster.empty()) report.cluster = text(at(document, std::string(meta) + ".cluster"));
  }
  each(document, "partitions",
       [&report](const Json& item) { add_partition(partition_of(item), report.partitions); });
  each(document, "nodes", [&report](const Json& item) {
    auto node = node_of(item);
    if (!node.name.empty()) report.nodes.push_back(std::move(node));
  });
  each(document, "sinfo", [&report](const Json& item) { add_row(item, report); });
  const auto now = static_cast<std::int64_t>(std::time(nullptr));
  each(document, "reservations", [&report, now](const Json& item) {
    auto reservation = reservation_of(item, now);
    if (!reservation.name.empty()) report.reservations.push_back(std::move(reservation));
  });
  each(document, "jobs", [&report](const Json& item) {
    auto job = job_of(item);
    if (!job.id.empty()) report.jobs.push_back(std::move(job));
  });
}

SlurmReport parse_slurm_json(std::string_view text) {
  SlurmReport report;
  auto begin = text.starts_with('{') ? 0 : text.find("\n{");
  if (begin == std::string_view::npos) return report;
  const auto document = Json::parse(text.substr(begin), nullptr, /*allow_exceptions=*/false);
  if (!document.is_discarded()) add_slurm_json(document, report);
  return report;
}

std::vector<Partition> with_every_partition(std::vector<Partition> partitions,
                                            const std::vector<SlurmNode>& nodes) {
  if (!partitions.empty()) return partitions;
  for (const auto& node : nodes)
    for (const auto& name : node.partitions) {
      Partition partition;
      partition.name = name;
      add_partition(std::move(partition), partitions);
    }
  return partitions;
}

QueuedJob as_queued(const SlurmJob& job) {
  return {.id = job.id,
          .state = job.state,
          .start = job.start,
          .elapsed = {},
          .nodes = job.nodes,
          .reason = job.reason,
          .origin = job.origin};
}

}  // namespace dllaunch
