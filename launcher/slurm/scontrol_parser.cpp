#include "launcher/slurm/scontrol_parser.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/base/trimmed.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";

/// Slurm has many words for an empty value.
bool says_nothing(std::string_view value) {
  constexpr std::array<std::string_view, 8> words = {"",    "(null)", "N/A",     "n/a",
                                                     "n/s", "None",   "Unknown", "(none)"};
  return std::find(words.begin(), words.end(), value) != words.end();
}

std::string text_or_empty(std::string_view value) {
  return says_nothing(value) ? std::string() : std::string(value);
}

/// The number at the start of a text: "4", "4-4", "4(S:0)". nullopt: no digits, or too many.
template <typename Integer>
std::optional<Integer> leading_number(std::string_view text) {
  Integer value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

/// A count of at least `least`; `otherwise` if it cannot be parsed or is smaller.
int count_of(std::string_view text, int least, int otherwise) {
  constexpr int most = 1 << 20;
  const auto value = leading_number<int>(text);
  return value && *value >= least && *value <= most ? *value : otherwise;
}

std::vector<std::string> words_of(std::string_view value) {
  std::vector<std::string> words;
  if (says_nothing(value)) return words;
  for (const auto part : split_at(value, ','))
    if (const auto word = trimmed(part); !word.empty()) words.emplace_back(word);
  return words;
}

struct Field {
  std::string_view key;
  std::string_view value;
  bool opens_line = false;
};

/// Whether the part before '=' looks like a Slurm key: letters, digits and a few signs.
bool is_key(std::string_view word) {
  if (word.empty() || !((word[0] >= 'A' && word[0] <= 'Z') || (word[0] >= 'a' && word[0] <= 'z')))
    return false;
  return std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' ||
           c == ':' || c == '_' || c == '-';
  });
}

/// One record of scontrol: fields in the order printed.
class Record {
 public:
  /// Values may contain blanks ("OS=Linux 6.1 #1 SMP"), so a value ends where the next key begins.
  /// A job's name or comment is user text and the last field of its line, so it ends with the line.
  void add_line(std::string_view line) {
    bool opens_line = true;
    bool open_value = false;
    std::size_t at = 0;
    while ((at = line.find_first_not_of(blanks, at)) != std::string_view::npos) {
      const auto end = std::min(line.find_first_of(blanks, at), line.size());
      const auto word = line.substr(at, end - at);
      const auto equals = word.find('=');
      const auto key = word.substr(0, equals);
      if (equals != std::string_view::npos && is_key(key)) {
        const bool takes_rest = key == "JobName" || (key == "Comment" && opens_line);
        const auto value = takes_rest ? line.substr(at + equals + 1) : word.substr(equals + 1);
        fields_.push_back({key, value, opens_line});
        if (takes_rest) return;
        open_value = true;
      } else if (open_value) {
        const auto* begin = fields_.back().value.data();
        const auto* stop = line.data() + end;
        fields_.back().value = std::string_view(begin, static_cast<std::size_t>(stop - begin));
      }
      opens_line = false;
      at = end;
    }
  }

  /// A key at the start of a line is Slurm's. One inside a line may be user text (a job may be
  /// named "x JobState=COMPLETED"), so the first such key counts only if no line starts with it.
  std::string_view get(std::string_view key) const {
    const Field* found = nullptr;
    for (const auto& field : fields_) {
      if (field.key != key) continue;
      if (field.opens_line) return trimmed(field.value);
      if (found == nullptr) found = &field;
    }
    return found == nullptr ? std::string_view() : trimmed(found->value);
  }
  bool has(std::string_view key) const {
    return std::any_of(fields_.begin(), fields_.end(),
                       [key](const Field& field) { return field.key == key; });
  }

 private:
  std::vector<Field> fields_;
};

bool opens_with(std::string_view line, std::string_view key) {
  return line.size() > key.size() && line.starts_with(key) && line[key.size()] == '=';
}

bool opens_other_kind(std::string_view line, std::string_view key) {
  constexpr std::array<std::string_view, 4> kinds = {"PartitionName", "NodeName", "ReservationName",
                                                     "JobId"};
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](std::string_view kind) { return kind != key && opens_with(line, kind); });
}

/// A record begins with the line that starts with `key`. Skips text before the first one (a site's
/// wrapper may print some) and records without a name.
std::vector<Record> records(std::string_view text, std::string_view key) {
  std::vector<Record> found;
  bool open = false;
  for (const auto line : split_at(text, '\n')) {
    const auto shown = trimmed(line);
    if (opens_with(shown, key)) {
      found.emplace_back();
      open = true;
    }
    // A file may hold the output of several commands: a record of another kind follows.
    if (opens_other_kind(shown, key)) open = false;
    if (open) found.back().add_line(shown);
  }
  std::erase_if(found, [&](const Record& record) { return record.get(key).empty(); });
  return found;
}

SlurmNode node_of(const Record& record) {
  SlurmNode node;
  node.name = record.get("NodeName");
  node.partitions = words_of(record.get("Partitions"));
  node.sockets = count_of(record.get("Sockets"), 1, 1);
  node.cores_per_socket = count_of(record.get("CoresPerSocket"), 1, 1);
  node.threads_per_core = count_of(record.get("ThreadsPerCore"), 1, 1);
  node.cpus = count_of(record.get("CPUTot"), 1, 1);
  // Before 22.05 Slurm does not report how many CPUs jobs may use.
  const std::int64_t reserved =
      std::int64_t{count_of(record.get("CoreSpecCount"), 0, 0)} * node.threads_per_core;
  if (record.has("CPUEfctv"))
    node.cpus = count_of(record.get("CPUEfctv"), 1, node.cpus);
  else if (reserved < node.cpus)
    node.cpus -= static_cast<int>(reserved);
  node.memory_mib = leading_number<std::uint64_t>(record.get("RealMemory")).value_or(0);
  node.features = words_of(record.has("AvailableFeatures") ? record.get("AvailableFeatures")
                                                           : record.get("Features"));
  take_gpus(record.get("Gres"), node);
  node.address = text_or_empty(record.get("NodeAddr"));
  node.port = count_of(record.get("Port"), 0, 0);
  node.state = record.get("State");
  node.reason = text_or_empty(record.get("Reason"));
  // "bad fan [root@2026-11-20T19:57:20]"
  if (const auto who = node.reason.rfind(" ["); who != std::string::npos) node.reason.resize(who);
  return node;
}

/// The names in a list. "ALL" and an empty value mean everyone.
std::vector<std::string> those_named(std::string_view value) {
  auto names = words_of(value);
  if (names.size() == 1 && names[0] == "ALL") names.clear();
  return names;
}

Partition partition_of(const Record& record) {
  Partition partition;
  partition.name = record.get("PartitionName");
  partition.is_default = record.get("Default") == "YES";
  if (record.has("State")) partition.state = record.get("State");
  partition.up = partition.state == "UP";
  const auto limit = record.get("MaxTime");
  if (!is_unlimited(limit)) partition.max_minutes = parse_slurm_minutes(limit);
  partition.default_minutes = parse_slurm_minutes(record.get("DefaultTime"));
  partition.min_nodes = count_of(record.get("MinNodes"), 0, 0);
  if (const auto most = record.get("MaxNodes"); leading_number<int>(most))
    partition.max_nodes = count_of(most, 0, 0);
  partition.accounts.allowed = those_named(record.get("AllowAccounts"));
  partition.accounts.denied = words_of(record.get("DenyAccounts"));
  partition.qos.allowed = those_named(record.get("AllowQos"));
  partition.qos.denied = words_of(record.get("DenyQos"));
  partition.groups.allowed = those_named(record.get("AllowGroups"));
  return partition;
}

Reservation reservation_of(const Record& record) {
  Reservation reservation;
  reservation.name = record.get("ReservationName");
  reservation.active = record.get("State") == "ACTIVE";
  reservation.start = parse_slurm_time(record.get("StartTime")).value_or(0);
  reservation.end = parse_slurm_time(record.get("EndTime")).value_or(0);
  if (auto hosts = expand_hosts(text_or_empty(record.get("Nodes"))))
    reservation.hosts = *std::move(hosts);
  reservation.partition = text_or_empty(record.get("PartitionName"));
  reservation.users = words_of(record.get("Users"));
  reservation.accounts = words_of(record.get("Accounts"));
  reservation.groups = words_of(record.get("Groups"));
  reservation.flags = words_of(record.get("Flags"));
  return reservation;
}

SlurmJob job_of(const Record& record) {
  SlurmJob job;
  job.id = record.get("JobId");
  job.state = record.get("JobState");
  job.reason = text_or_empty(record.get("Reason"));
  const auto code = split_at(record.get("ExitCode"), ':');
  job.exit_code = count_of(code[0], 0, 0);
  if (code.size() > 1) job.signal = count_of(code[1], 0, 0);
  job.restarts = count_of(record.get("Restarts"), 0, 0);
  job.partition = text_or_empty(record.get("Partition"));
  job.reservation = text_or_empty(record.get("Reservation"));
  job.nodes = text_or_empty(record.get("NodeList"));
  job.excluded = text_or_empty(record.get("ExcNodeList"));
  job.batch_host = text_or_empty(record.get("BatchHost"));
  job.start = text_or_empty(record.get("StartTime"));
  job.submit = text_or_empty(record.get("SubmitTime"));
  job.end = text_or_empty(record.get("EndTime"));
  job.output = text_or_empty(record.get("StdOut"));
  job.array_job = text_or_empty(record.get("ArrayJobId"));
  job.array_task = text_or_empty(record.get("ArrayTaskId"));
  job.name = text_or_empty(record.get("JobName"));
  job.work_dir = text_or_empty(record.get("WorkDir"));
  const auto user = record.get("UserId");  // "alice(1001)"
  if (const auto at = user.rfind('('); at != std::string_view::npos)
    job.user = leading_number<std::uint32_t>(user.substr(at + 1));
  const std::string command = text_or_empty(record.get("Command"));
  if (!command.empty()) job.origin.words = "|" + std::string(record.get("JobName")) + "|" + command;
  job.origin.token = token_in(record.get("Comment"));
  return job;
}

/// Whether a state such as "MIXED*+POWER_DOWN" contains a word. "*": does not respond. "IDLE~" is
/// powered down: a job wakes it up.
bool has_word(std::string_view node_state, std::initializer_list<std::string_view> words) {
  const auto parts = split_at(node_state, '+');
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    const auto word = part.substr(0, part.find_first_of("*~#%$@^!-"));
    const bool silent = part.ends_with('*');
    const auto named = silent ? std::string_view("NOT_RESPONDING") : word;
    const auto is = [&](std::string_view one) { return one == word || one == named; };
    return std::any_of(words.begin(), words.end(), is);
  });
}

/// The value for one key of "Key    = value".
std::string config_value(std::string_view line, std::string_view key) {
  const auto equals = line.find('=');
  if (equals == std::string_view::npos || trimmed(line.substr(0, equals)) != key) return {};
  return text_or_empty(trimmed(line.substr(equals + 1)));
}

}  // namespace

void take_gpus(std::string_view gres, SlurmNode& node) {
  auto kinds = read_gres(gres);
  const auto counted = counted_gpus(kinds);
  node.gpus = gpus_in(counted);
  node.gpu_type = counted.empty() ? "" : counted.front().type;
  node.gpu_gres.clear();
  if (kinds.size() > 1) node.gpu_gres = std::move(kinds);
}

SlurmConfig parse_slurm_config(std::string_view text) {
  SlurmConfig config;
  for (const auto line : split_at(text, '\n')) {
    if (config.version.empty()) config.version = config_value(line, "SLURM_VERSION");
    if (config.cluster.empty()) config.cluster = config_value(line, "ClusterName");
    if (config.mpi_default.empty()) config.mpi_default = config_value(line, "MpiDefault");
    if (config.enforced.empty())
      config.enforced = words_of(config_value(line, "AccountingStorageEnforce"));
    if (config.submit_plugins.empty())
      config.submit_plugins = words_of(config_value(line, "JobSubmitPlugins"));
    if (config.slurmd_port == 0)
      config.slurmd_port = count_of(config_value(line, "SlurmdPort"), 0, 0);
  }
  return config;
}

std::vector<std::string> parse_mpi_list(std::string_view text) {
  std::vector<std::string> types;
  std::set<std::string_view> known;
  for (auto line : split_at(text, '\n')) {
    // 20.11 writes "srun: pmix" to stderr, later versions "\tpmix" to stdout.
    if (line.starts_with("srun:")) line.remove_prefix(5);
    const auto colon = line.rfind(':');
    if (colon != std::string_view::npos) line = line.substr(colon + 1);
    for (const auto part : split_at(line, ',')) {
      const auto word = trimmed(part);
      if (word.empty() || !is_key(word) || !known.insert(word).second) continue;
      types.emplace_back(word);
    }
  }
  return types;
}

std::vector<Partition> parse_slurm_partitions(std::string_view text) {
  std::vector<Partition> partitions;
  for (const auto& record : records(text, "PartitionName"))
    partitions.push_back(partition_of(record));
  return partitions;
}

std::vector<SlurmNode> parse_slurm_nodes(std::string_view text) {
  std::vector<SlurmNode> nodes;
  for (const auto& record : records(text, "NodeName")) nodes.push_back(node_of(record));
  return nodes;
}

bool is_out_of_order(std::string_view node_state) {
  return is_gone(node_state) || has_word(node_state, {"DRAIN", "DRAINED", "DRAINING", "FAIL",
                                                      "FAILING", "UNKNOWN", "ERROR"});
}

bool is_gone(std::string_view node_state) {
  return has_word(node_state, {"DOWN", "NOT_RESPONDING"});
}

bool is_in_doubt(std::string_view node_state) {
  return is_gone(node_state) && !has_word(node_state, {"DOWN"});
}

std::vector<Reservation> parse_slurm_reservations(std::string_view text) {
  std::vector<Reservation> reservations;
  for (const auto& record : records(text, "ReservationName"))
    reservations.push_back(reservation_of(record));
  return reservations;
}

std::string host_of_waiting_step(std::string_view text) {
  std::string host;
  bool runs = false;
  for (const auto& record : records(text, "StepId")) {
    const auto id = record.get("StepId");
    const auto number = id.substr(std::min(id.find('.'), id.size()));
    const auto state = record.get("State");
    // "17.0"; one that waits has no number yet, and the script is "17.batch".
    runs =
        runs || (state == "RUNNING" && number.size() > 1 && number[1] >= '0' && number[1] <= '9');
    const auto from = record.get("SrunHost:Pid");
    if (state == "PENDING") host = from.substr(0, from.find(':'));
  }
  return runs && host != "(null)" ? host : "";
}

std::vector<Association> parse_associations(std::string_view text) {
  std::vector<Association> associations;
  for (const auto line : split_at(text, '\n')) {
    const auto parts = split_at(trimmed(line), '|');
    if (parts.size() < 3 || parts[0].empty()) continue;
    associations.push_back({.account = std::string(trimmed(parts[0])),
                            .partition = std::string(trimmed(parts[1])),
                            .qos = words_of(parts[2])});
  }
  return associations;
}

namespace {

/// The text after the first `fields` separators: a name or a path may contain the separator.
std::string rest_after(std::string_view line, int fields) {
  for (; fields > 0; --fields) {
    const auto at = line.find('|');
    if (at == std::string_view::npos) return "";
    line.remove_prefix(at + 1);
  }
  return std::string(line.substr(0, line.find_last_not_of(" \r\t") + 1));
}

}  // namespace

std::string token_in(std::string_view text) {
  constexpr std::string_view sign = "dllaunch:";
  constexpr std::size_t digits = 16;
  for (auto at = text.rfind(sign); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : text.rfind(sign, at - 1)) {
    const auto number = text.substr(at + sign.size(), digits);
    const bool whole = number.size() == digits &&
                       number.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    if (whole) return std::string(text.substr(at, sign.size() + digits));
  }
  return "";
}

std::string job_number(std::string_view shown) {
  const auto plus = shown.find('+');
  const auto leader = parse_number<std::uint64_t>(shown.substr(0, plus));
  if (plus == std::string_view::npos || !leader) return std::string(shown);
  const auto offset = parse_number<std::uint64_t>(shown.substr(plus + 1));
  constexpr std::uint64_t most = 1'000'000'000'000;
  if (!offset || *leader > most || *offset > most) return std::string(shown);
  return std::to_string(*leader + *offset);
}

std::vector<QueuedJob> parse_queue(std::string_view text) {
  std::vector<QueuedJob> jobs;
  for (const auto line : split_at(text, '\n')) {
    const auto parts = split_at(trimmed(line), '|');
    if (parts.size() < 6 || parts[0].empty() || parts[1].empty()) continue;
    if (!leading_number<std::uint64_t>(parts[0])) continue;  // a header, or a wrapper's line
    auto origin = rest_after(line, 6);
    jobs.push_back({.id = std::string(parts[0]),
                    .state = std::string(parts[1]),
                    .start = text_or_empty(parts[2]),
                    .elapsed = text_or_empty(parts[3]),
                    .nodes = text_or_empty(parts[4]),
                    .reason = text_or_empty(parts[5]),
                    .origin = {.words = origin, .token = token_in(origin)}});
  }
  return jobs;
}

std::vector<SlurmJob> parse_slurm_jobs(std::string_view text) {
  std::vector<SlurmJob> jobs;
  for (const auto& record : records(text, "JobId")) jobs.push_back(job_of(record));
  return jobs;
}

bool is_waiting_state(std::string_view state) {
  constexpr std::array<std::string_view, 7> words = {"PENDING",      "CONFIGURING", "REQUEUED",
                                                     "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT",
                                                     "RESV_DEL_HOLD"};
  return std::find(words.begin(), words.end(), state) != words.end();
}

bool is_final_state(std::string_view state) {
  constexpr std::array<std::string_view, 11> words = {
      "COMPLETED", "FAILED",   "TIMEOUT",       "CANCELLED", "NODE_FAIL",    "PREEMPTED",
      "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "REVOKED",   "LAUNCH_FAILED"};
  return std::find(words.begin(), words.end(), state) != words.end();
}

}  // namespace dllaunch
