// Rules for rendezvous, rank numbers and signals.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "launcher/base/utf8.hpp"
#include "launcher/lint/bash/programs.hpp"
#include "launcher/lint/rule.hpp"

namespace dllaunch::lint {
namespace {

/// Whether each rank has its own value, while the batch shell has rank 0's.
bool is_rank_number(const std::string& name) {
  static const std::set<std::string_view> names = {"SLURM_PROCID",
                                                   "SLURM_LOCALID",
                                                   "SLURM_NODEID",
                                                   "OMPI_COMM_WORLD_RANK",
                                                   "OMPI_COMM_WORLD_LOCAL_RANK",
                                                   "PMI_RANK",
                                                   "PMIX_RANK",
                                                   "PALS_RANKID",
                                                   "PALS_LOCAL_RANKID"};
  return names.contains(name);
}

/// Whether the number is the same for every rank.
bool is_constant(const std::string& name, const SlurmRequest& request) {
  if (request.tasks() == 1) return true;
  if (name == "SLURM_NODEID") return request.nodes == 1;
  if (name == "SLURM_LOCALID") return request.tasks_per_node() == 1;
  return false;
}

void report_early(const Text& text, const SlurmRequest& request, std::string_view where,
                  Report& report) {
  for (const Text::Mark& mark : text.marks()) {
    if (mark.gap || !is_rank_number(mark.name) || is_constant(mark.name, request)) continue;
    report.add(mark.source,
               fmt::format("${} is expanded once, by the batch shell, {}: every rank gets {}",
                           mark.name, where, mark.name.starts_with("SLURM_") ? "0" : "nothing"),
               fmt::format("let the rank expand it: srun bash -c '... ${} ...' in single quotes",
                           mark.name));
  }
}

void check_early(const Subject& subject, Report& report) {
  for (const Launch& launch : subject.script.launches) {
    if (launch.command->per_rank || report.full()) continue;
    if (launch.program != "srun" && !is_mpirun(launch.program)) continue;
    const SlurmRequest step = step_request(subject.script, launch);
    const auto& words = launch.program == "srun" ? launch.ranks : launch.arguments;
    for (const Text& word : words) report_early(word, step, "before the ranks start", report);
    for (const auto& [name, value] : launch.command->environment) {
      if (name.ends_with("RANK")) {
        report_early(value->text, step, "into " + name + ", which all ranks inherit", report);
      }
    }
  }
  for (const Text& script : subject.script.run.rank_scripts) {
    report_early(script, subject.script.request, "while this file is written", report);
  }
}

const std::string first_node = "$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)";

/// Why ranks cannot meet at the address; empty if they may.
std::string address_fault(const Assigned& assigned) {
  const std::string& value = assigned.value.bytes();
  if (value == "localhost" || value == "127.0.0.1" || value == "0.0.0.0") {
    return value + " is another machine on every node";
  }
  const auto& marks = assigned.value.marks();
  if (marks.size() != 1 || value.size() != 1) return "";
  const std::string& name = marks[0].name;
  if (name == "SLURM_JOB_NODELIST" || name == "SLURM_NODELIST" || name == "SLURM_STEP_NODELIST") {
    return "$" + name + " is the list of all nodes, like n[1-4], no address";
  }
  const bool own_name = name == "HOSTNAME" || name == "HOST" || name == "SLURMD_NODENAME" ||
                        name.starts_with("$(hostname") || name.starts_with("`hostname");
  if (assigned.per_rank && own_name) {
    return "in a rank this is the name of the rank's own node, another one on every node";
  }
  return "";
}

/// Whether a program or another line of the script can see the value.
bool is_used(const Script& script, const Assigned& assigned) {
  return assigned.exported || assigned.per_rank || script.run.sources_files ||
         script.run.read.contains(assigned.name);
}

void check_address(const Subject& subject, Report& report) {
  if (subject.script.request.nodes < 2) return;
  for (const Assigned& assigned : subject.script.run.assignments) {
    if (assigned.name != "MASTER_ADDR" || report.full()) continue;
    if (!is_used(subject.script, assigned)) continue;
    const std::string fault = address_fault(assigned);
    if (fault.empty()) continue;
    std::vector<Edit> edits;
    if (assigned.plain && !assigned.per_rank) {
      edits.push_back({assigned.value_begin, assigned.end, first_node});
    }
    report.add(assigned.begin, "MASTER_ADDR: " + fault + ", so the ranks never meet",
               "write MASTER_ADDR=" + first_node + " before srun", std::move(edits));
  }
}

/// Whether the value is a node's name as Slurm or the node has it.
bool is_plain_host_name(const Text& value) {
  if (value.marks().size() != 1 || value.bytes().size() != 1) return false;
  const std::string_view name = value.marks()[0].name;
  const auto has = [name](std::string_view part) { return name.find(part) != name.npos; };
  const bool names =
      name == "HOSTNAME" || has("scontrol show hostname") || has("(hostname") || has("`hostname");
  const bool computes = has("sed") || has("awk") || has("getent") || has("hostname -") ||
                        has("nslookup") || has("dig ") || has("ping");
  return names && !computes;
}

/// The last assignment decides.
void check_suffix(const Subject& subject, Report& report) {
  const std::string& suffix = subject.around.host_suffix;
  if (suffix.empty() || subject.script.request.nodes < 2) return;
  const auto& all = subject.script.run.assignments;
  const auto last = std::ranges::find(all.rbegin(), all.rend(), "MASTER_ADDR", &Assigned::name);
  if (last == all.rend() || !is_plain_host_name(last->value)) return;
  std::vector<Edit> edits;
  const std::size_t end = last->end - (subject.script.text[last->end - 1] == '"' ? 1 : 0);
  if (last->plain && !last->per_rank && subject.script.text[end - 1] == ')')
    edits.push_back({end, end, suffix});
  report.add(last->begin,
             fmt::format("MASTER_ADDR is a node's name without the suffix \"{}\": on this cluster "
                         "ranks of other nodes may not reach it by that name",
                         suffix),
             fmt::format("write MASTER_ADDR={}{}", first_node, suffix), std::move(edits));
}

/// srun --export=NAME=VALUE.
void check_export(const Subject& subject, Report& report) {
  for (const Launch& launch : subject.script.launches) {
    const GivenOption* option = last_option(launch.options, "export");
    if (option == nullptr || !option->has_value || report.full()) continue;
    const std::string list = "," + option->value.bytes() + ",";
    const auto has = [&list](std::string_view word) {
      return list.find("," + std::string(word) + ",") != std::string::npos;
    };
    if (list.find('=') == std::string::npos || has("ALL") || has("NONE") || has("NIL")) continue;
    std::vector<Edit> edits;
    if (option->value.is_verbatim())
      edits.push_back({option->value.source(0), option->value.source(0), "ALL,"});
    report.add(option->value.source(0),
               "--export with a list and without ALL: neither PATH nor any other export of the "
               "script reaches the ranks",
               "write --export=ALL,...", std::move(edits));
  }
}

constexpr std::string_view port_fix = "$((20000 + SLURM_JOB_ID % 20000))";

bool is_port(const Text& value) {
  const long port = number_of(value);
  return port > 0 && port < 65536;
}

void report_port(std::size_t at, const Text& port, std::vector<Edit> edits, Report& report) {
  report.add(
      at,
      fmt::format("the port {} is fixed: two jobs that meet on a node, or one that starts again "
                  "at once, fail with \"Address already in use\"",
                  port.bytes()),
      fmt::format("write MASTER_PORT={}", port_fix), std::move(edits));
}

void check_port(const Subject& subject, Report& report) {
  for (const Assigned& assigned : subject.script.run.assignments) {
    if (assigned.name != "MASTER_PORT" || !is_port(assigned.value) || report.full()) continue;
    if (!is_used(subject.script, assigned)) continue;
    std::vector<Edit> edits;
    const std::size_t digits = assigned.value.source(0);
    const bool expands = digits > 0 && subject.script.text[digits - 1] != '\'';
    if (assigned.plain && !assigned.per_rank && assigned.value.is_verbatim() && expands) {
      edits.push_back({digits, digits + assigned.value.bytes().size(), std::string(port_fix)});
    }
    report_port(assigned.begin, assigned.value, std::move(edits), report);
  }
  static const std::array<std::string_view, 4> options = {"--master_port", "--master-port",
                                                          "--main_process_port", "--rdzv_endpoint"};
  for (const RanCommand& command : subject.script.run.commands) {
    if (!starts_workers(command.words)) continue;
    for (std::size_t i = 0; i < command.words.size() && !report.full(); ++i) {
      const std::string& word = command.words[i].bytes();
      const std::size_t equals = word.find('=');
      std::string name = word.substr(0, equals);
      if (name == "--rdzv-endpoint") name = "--rdzv_endpoint";
      if (std::ranges::find(options, name) == options.end()) continue;
      Text value;
      if (equals != std::string::npos) {
        value = command.words[i].part(equals + 1);
      } else if (i + 1 < command.words.size()) {
        value = command.words[i + 1];
      }
      if (name == "--rdzv_endpoint") {
        const std::size_t colon = value.bytes().rfind(':');
        if (colon == std::string::npos) continue;
        value = value.part(colon + 1);
      }
      // A value from $MASTER_PORT is reported where that is set.
      const bool told = std::ranges::any_of(subject.script.run.assignments, [&](const Assigned& a) {
        return a.begin <= value.source(0) && value.source(0) < a.end && a.name == "MASTER_PORT";
      });
      if (is_port(value) && !told) report_port(value.source(0), value, {}, report);
    }
  }
}

bool names_usr1(const Text& word) {
  const std::string& bytes = word.bytes();
  return bytes == "USR1" || bytes == "SIGUSR1" || bytes == "-USR1" || bytes == "-SIGUSR1" ||
         bytes == "-sUSR1" || bytes == "--signal=USR1" || bytes == "--signal=SIGUSR1";
}

void check_signal(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  const GivenOption* option = script.directive("signal");
  if (option == nullptr) return;
  const std::string& value = option->value.bytes();
  const std::size_t colon = value.find(':');
  const std::string flags = colon == std::string::npos ? "" : value.substr(0, colon);
  std::string signal = colon == std::string::npos ? value : value.substr(colon + 1);
  signal = signal.substr(0, signal.find('@'));
  if (signal != "USR1" && signal != "SIGUSR1" && signal != "10") return;
  const bool batch_only = flags.find('B') != std::string::npos;
  std::vector<Edit> edits;
  bool forwards = false;
  const auto replace = [&edits](const Text& word) {
    const std::size_t at = word.bytes().find("USR1");
    if (at != std::string::npos && word.is_verbatim()) {
      edits.push_back({word.source(at), word.source(at) + 4, "USR2"});
    }
  };
  for (const RanCommand& command : script.run.commands) {
    const std::string name = base_name(command.words[0]);
    if (name != "kill" && name != "scancel" && name != "trap") continue;
    for (const Text& word : command.words) {
      if (!names_usr1(word)) continue;
      forwards = forwards || name != "trap";
      replace(word);
    }
  }
  if (batch_only && !forwards) return;
  replace(option->value);
  if (edits.empty() || signal == "10") edits.clear();
  report.add(
      script.at(*option),
      fmt::format("--signal={}: the ranks get USR1, which NCCL has used for itself and which ends "
                  "a program that does not catch it",
                  value),
      "write USR2: --signal=B:USR2@120, with a trap that forwards it", std::move(edits));
}

constexpr Rule rendezvous_table[] = {
    {"rank-expanded-early", Severity::error,
     "`$SLURM_PROCID` or similar in double quotes on the srun line: every rank gets 0.",
     check_early},
    {"master-addr", Severity::error,
     "`MASTER_ADDR` is localhost, the whole node list, or each rank's own host name.",
     check_address},
    {"master-addr-suffix", Severity::warning,
     "With `--topology CLUSTER`: `MASTER_ADDR` without the suffix that the cluster's profile "
     "knows.",
     check_suffix},
    {"export-without-all", Severity::warning,
     "`srun --export=NAME=VALUE` without `ALL`: PATH and exports do not reach the ranks.",
     check_export},
    {"master-port", Severity::warning, "A fixed `MASTER_PORT`.", check_port},
    {"signal-usr1", Severity::warning, "`--signal=USR1` reaches the ranks.", check_signal},
};

}  // namespace

std::span<const Rule> rendezvous_rules() {
  return rendezvous_table;
}

}  // namespace dllaunch::lint
