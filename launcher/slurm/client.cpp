#include "launcher/slurm/client.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/base/trimmed.hpp"
#include "launcher/os/delayed_message.hpp"
#include "launcher/slurm/array_tasks.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/plain_query.hpp"
#include "launcher/slurm/slurm_json.hpp"
#include "launcher/slurm/slurm_messages.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Argv = std::vector<std::string>;

constexpr seconds short_limit(10);
constexpr seconds long_limit(60);

/// bad_request: the controller does not know the job. unsatisfiable: this cluster does not record
/// what was asked for. unavailable: any other failure, or the program is not installed.
ErrorKind kind_of(std::string_view message) {
  if (is_unknown_job(message)) return ErrorKind::bad_request;
  if (has_no_accounting(message) || has_no_submit_lines(message)) return ErrorKind::unsatisfiable;
  return ErrorKind::unavailable;
}

/// The output of a command that succeeds.
Result<std::string> ask(System& system, const Argv& argv, milliseconds limit = slurm_limit) {
  auto output = system.run(plain_query(system, argv), limit);
  if (!output) return std::move(output).error();
  if (output->exit_code == 0) return std::move(output->out);
  return Error{kind_of(output->err), message_of(*output), ""};
}

/// Whether an answer might have told of the job: without accounting, for example, it never will.
bool is_silence(System& system, const Error& error, std::string_view program) {
  return error.kind == ErrorKind::timeout ||
         (error.kind == ErrorKind::unavailable && system.find_program(program));
}

/// `state`: as sinfo shows it. What follows the word says that the node is waking up, asleep,
/// planned or about to be booted, except that it does not respond ("*"), is going down ("!") or has
/// a reservation for maintenance ("$").
bool starts_jobs(std::string_view state, bool reserved) {
  constexpr std::array<std::string_view, 5> good = {"idle", "allocated", "mixed", "completing",
                                                    "planned"};
  constexpr std::array<std::string_view, 2> ours = {"reserved", "maint"};
  state = state.substr(0, state.find_last_not_of(reserved ? "~#%-+@^$" : "~#%-+@^") + 1);
  return std::ranges::find(good, state) != good.end() ||
         (reserved && std::ranges::find(ours, state) != ours.end());
}

Result<Ok> tell(System& system, const Argv& argv, seconds limit) {
  auto output = system.run(plain_query(system, argv), limit);
  if (!output) return std::move(output).error();
  if (output->exit_code == 0) return Ok{};
  return Error{ErrorKind::unavailable,
               fmt::format("{}: {}", fmt::join(argv, " "), message_of(*output)), ""};
}

/// Slurm 22.05 lists all users' jobs in JSON, whatever the filter.
std::vector<QueuedJob> queued_in_json(System& system, const std::string& which,
                                      const std::string& id) {
  std::vector<QueuedJob> jobs;
  const auto text = ask(system, {"squeue", "--json", which});
  if (!text) return jobs;
  for (const auto& job : parse_slurm_json(*text).jobs) {
    const auto number = job.id.substr(0, job.id.find('_'));
    if (!id.empty() && number != id.substr(0, id.find('_'))) continue;
    if (!is_final_state(job.state)) jobs.push_back(as_queued(job));
  }
  return jobs;
}

/// Slurm's commands shorten the list of an array's tasks that wait, unless they are told not to.
bool is_cut(const std::string& list) {
  const auto tasks = parse_array_tasks(list);
  return tasks && tasks->cut;
}

Argv with_whole_lists(Argv argv) {
  argv.insert(argv.begin(), {"env", "SLURM_BITSTR_LEN=0"});
  return argv;
}

SlurmJob job_of_fields(const std::vector<std::string>& fields) {
  SlurmJob job;
  job.id = job_number(fields[0]);
  if (const auto underscore = job.id.find('_'); underscore != std::string::npos) {
    job.array_job = job.id.substr(0, underscore);
    job.array_task = job.id.substr(underscore + 1);
  }
  // "CANCELLED by 1000"
  constexpr std::string_view by = " by ";
  job.state = fields[1].substr(0, fields[1].find(' '));
  if (const auto at = fields[1].find(by); at != std::string::npos)
    job.cancelled_by = user_name(
        static_cast<uid_t>(std::strtoul(fields[1].c_str() + at + by.size(), nullptr, 10)));
  const auto& codes = fields[2];  // "1:0"
  job.exit_code = std::atoi(codes.c_str());
  if (const auto colon = codes.find(':'); colon != std::string::npos)
    job.signal = std::atoi(codes.c_str() + colon + 1);
  job.submit = fields[3];
  const auto known = [](const std::string& time) {
    return time == "Unknown" || time == "None" ? std::string() : time;
  };
  job.start = known(fields[4]);
  job.end = known(fields[5]);
  // Accounting does not record the script; use the name.
  if (fields.size() > 6 && !fields[6].empty()) job.origin.words = "|" + fields[6] + "|";
  return job;
}

Result<std::string> ask_patiently(System& system, const Argv& argv, seconds limit = long_limit) {
  const auto command = fmt::format("{}", fmt::join(argv, " "));
  const DelayedMessage message(
      system,
      fmt::format("dllaunch: Slurm is slow: waiting up to {} s for `{}`\n", limit.count(), command),
      seconds(5));
  auto output = system.run(argv, limit);
  const auto failed = [&](ErrorKind kind, std::string_view why) {
    return Error{kind, fmt::format("`{}` failed: {}", command, why), ""};
  };
  if (!output) return failed(output.error().kind, output.error().what);
  if (output->exit_code == 0) return std::move(output->out);
  return failed(is_not_configured(output->err) ? ErrorKind::bad_request : ErrorKind::unavailable,
                output->err.empty() ? fmt::format("exit code {}", output->exit_code)
                                    : std::string(last_line(output->err)));
}

/// scontrol's text has been stable since 20.11; JSON is the fallback.
template <typename Item>
Result<std::vector<Item>> ask_for_all(System& system, const std::string& what,
                                      std::vector<Item> (*parse)(std::string_view),
                                      std::vector<Item> SlurmReport::*in_report) {
  auto text = ask_patiently(system, {"scontrol", "--all", "--oneliner", "show", what});
  if (!text) return std::move(text).error();
  auto items = parse(*text);
  if (!items.empty()) return items;
  const auto json = ask_patiently(system, {"scontrol", "--all", "show", what, "--json"});
  return json ? std::move(parse_slurm_json(*json).*in_report) : items;
}

Result<std::string> ask_accounts(System& system, Argv show) {
  show.insert(show.begin(), {"sacctmgr", "--noheader", "--parsable2", "show"});
  return ask(system, show, short_limit);
}

}  // namespace

std::string user_name(uid_t uid) {
  std::vector<char> room(16384);
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(uid, &entry, room.data(), room.size(), &found);
  if (found != nullptr) return found->pw_name;
  // The C library of a bundle may not load the site's directory service.
  const char* own = uid == getuid() ? std::getenv("USER") : nullptr;
  return own != nullptr && *own != '\0' ? own : fmt::format("uid {}", uid);
}

std::string message_of(const CommandOutput& output) {
  std::string message;
  for (const auto line : split_lines(output.err.empty() ? output.out : output.err)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    message.append(message.empty() ? "" : "; ").append(line);
  }
  return message.empty() ? fmt::format("exit code {}", output.exit_code) : message.substr(0, 1000);
}

Result<std::vector<QueuedJob>> queued_jobs(System& system, const std::string& id) {
  const auto which = id.empty() ? "--me" : "--jobs=" + id;
  const Argv argv = {"squeue", "--noheader", fmt::format("--format={}", queue_format), which};
  auto text = ask(system, argv);
  if (!text && text.error().kind == ErrorKind::bad_request) return std::vector<QueuedJob>();
  if (!text) return std::move(text).error();
  auto jobs = parse_queue(*text);
  // Text without any job: this squeue does not follow the format. JSON does not depend on it.
  if (jobs.empty() && text->find_first_not_of(" \t\r\n") != std::string::npos)
    return queued_in_json(system, which, id);
  if (std::ranges::none_of(jobs, is_cut, &QueuedJob::id)) return jobs;
  text = ask(system, with_whole_lists(argv));
  return text ? parse_queue(*text) : std::move(jobs);
}

namespace {

/// Sets SlurmJob::lost, for all jobs with one question.
void add_lost_nodes(System& system, std::vector<SlurmJob>& jobs, seconds limit) {
  std::string hosts;
  for (const SlurmJob& job : jobs) {
    if (job.state == "NODE_FAIL" && !job.nodes.empty())
      hosts += (hosts.empty() ? "" : ",") + job.nodes;
  }
  std::set<std::string> gone;
  const auto nodes = nodes_of_controller(system, hosts, limit);
  for (const SlurmNode& node : nodes.value_or(std::vector<SlurmNode>())) {
    if (is_gone(node.state)) gone.insert(node.name);
  }
  if (gone.empty()) return;
  for (SlurmJob& job : jobs) {
    auto lost = expand_hosts(job.nodes);
    if (job.state != "NODE_FAIL" || !lost) continue;
    std::erase_if(*lost, [&gone](const std::string& host) { return !gone.contains(host); });
    job.lost = compress_host_set(*std::move(lost));
  }
}

}  // namespace

JobRecords jobs_of_controller(System& system, const std::string& id, seconds limit) {
  const Argv argv = {"scontrol", "show", "job", id};
  const auto text = ask(system, argv, limit);
  if (!text) return {.silent = is_silence(system, text.error(), "scontrol")};
  JobRecords records{.jobs = parse_slurm_jobs(*text)};
  if (std::ranges::any_of(records.jobs, is_cut, &SlurmJob::array_task))
    if (const auto whole = ask(system, with_whole_lists(argv), limit))
      records.jobs = parse_slurm_jobs(*whole);
  add_lost_nodes(system, records.jobs, limit);
  return records;
}

JobRecords jobs_of_accounting(System& system, const std::string& id) {
  const Argv argv = {"sacct",        "--allocations",
                     "--noheader",   "--parsable2",
                     "--jobs=" + id, "--format=JobID,State,ExitCode,Submit,Start,End,JobName"};
  const auto text = ask(system, argv);
  JobRecords records;
  if (text) records.jobs = parse_accounting(*text, id);
  if (std::ranges::any_of(records.jobs, is_cut, &SlurmJob::array_task))
    if (const auto whole = ask(system, with_whole_lists(argv)))
      records.jobs = parse_accounting(*whole, id);
  records.silent = !text && is_silence(system, text.error(), "sacct");
  const bool late = !text && text.error().kind == ErrorKind::timeout;
  if (late || !records.jobs.empty()) return records;
  // If sacct's text cannot be parsed, its JSON may still be.
  const auto json = ask(system, {"sacct", "--json", "--jobs=" + id});
  if (!json) return records;
  for (auto& job : parse_slurm_json(*json).jobs)
    if (job.id.substr(0, job.id.find('_')) == id) records.jobs.push_back(std::move(job));
  return records;
}

Result<std::vector<JobWords>> own_jobs(System& system, bool ended) {
  Argv argv = {"squeue", "--me", "--noheader"};
  if (ended) argv.emplace_back("--states=all");
  argv.emplace_back("--format=%i|%k|%o");
  auto text = ask(system, argv);
  if (!text) return std::move(text).error().within("squeue");
  return parse_job_words(*text);
}

Result<std::vector<JobWords>> own_recorded_jobs(System& system, double since_s) {
  if (!system.find_program("sacct")) return std::vector<JobWords>();
  auto text = ask(system, {"sacct", "--allocations", "--noheader", "--parsable2",
                           "--starttime=" + slurm_time(since_s), "--format=JobID,SubmitLine"});
  if (text) return parse_job_words(*text);
  // Without accounting or stored command lines, this is an answer.
  if (text.error().kind == ErrorKind::unsatisfiable) return std::vector<JobWords>();
  return std::move(text).error().within("sacct");
}

Result<Ok> signal_script(System& system, const std::string& id, const std::string& signal) {
  return tell(system, {"scancel", "--batch", "--signal=" + signal, id}, slurm_limit);
}

Result<Ok> signal_steps(System& system, const std::string& id, const std::string& signal) {
  return tell(system, {"scancel", "--signal=" + signal, id}, short_limit);
}

Result<Ok> cancel_job(System& system, const std::string& id, seconds limit) {
  return tell(system, {"scancel", id}, limit);
}

Result<Ok> kill_step(System& system, const std::string& id, seconds limit) {
  return tell(system, {"scancel", "--signal=KILL", id}, limit);
}

Result<CommandOutput> run_requeue(System& system, const std::string& id) {
  return system.run({"scontrol", "requeue", id}, slurm_limit);
}

Result<Ok> set_excluded_nodes(System& system, const std::string& id, const std::string& hosts,
                              seconds limit) {
  return tell(system, {"scontrol", "update", "JobId=" + id, "ExcNodeList=" + hosts}, limit);
}

std::vector<std::string> usable_nodes(System& system, const std::string& partitions,
                                      const std::string& reserved, seconds limit) {
  if (partitions.empty()) return {};
  const auto text =
      ask(system, {"sinfo", "--noheader", "--Node", "--partition=" + partitions, "--format=%N %T"},
          limit);
  if (!text) return {};
  std::set<std::string> nodes;
  for (const auto line : split_lines(*text)) {
    const auto space = line.find(' ');
    const auto state = trimmed(line.substr(std::min(space, line.size())));
    if (starts_jobs(state, !reserved.empty())) nodes.emplace(line.substr(0, space));
  }
  if (reserved.empty()) return {nodes.begin(), nodes.end()};
  const auto all = reservations(system, limit);
  std::vector<std::string> ours;
  for (const auto name : split_at(reserved, ','))
    for (const auto& one : all.value_or(std::vector<Reservation>()))
      for (const auto& host : one.hosts)
        if (one.name == name && nodes.erase(host) > 0) ours.push_back(host);
  return ours;
}

std::optional<std::vector<SlurmNode>> nodes_of_controller(System& system, const std::string& hosts,
                                                          seconds limit) {
  if (hosts.empty()) return std::vector<SlurmNode>();
  const auto text = ask(system, {"scontrol", "show", "node", hosts}, limit);
  if (!text) return std::nullopt;
  return parse_slurm_nodes(*text);
}

std::string host_that_waits_for_a_step(System& system, const std::string& id) {
  const auto text = ask(system, {"scontrol", "show", "step", id}, slurm_limit);
  return text ? host_of_waiting_step(*text) : "";
}

Result<SlurmConfig> cluster_config(System& system) {
  auto text = ask_patiently(system, {"scontrol", "show", "config"}, slurm_limit);
  if (!text) return std::move(text).error();
  return parse_slurm_config(*text);
}

Result<std::vector<Partition>> cluster_partitions(System& system) {
  return ask_for_all(system, "partition", &parse_slurm_partitions, &SlurmReport::partitions);
}

Result<std::vector<SlurmNode>> cluster_nodes(System& system) {
  return ask_for_all(system, "node", &parse_slurm_nodes, &SlurmReport::nodes);
}

std::vector<std::string> mpi_plugins(System& system) {
  const auto output = system.run(plain_query(system, {"srun", "--mpi=list"}), short_limit);
  if (!output || output->exit_code != 0) return {};
  return parse_mpi_list(output->out + "\n" + output->err);
}

bool has_pyxis(System& system) {
  const auto help = ask(system, {"srun", "--help"}, short_limit);
  return help && help->find("--container-image") != std::string::npos;
}

std::string topology_text(System& system) {
  auto text = ask(system, {"scontrol", "show", "topology"}, short_limit);
  return text ? *std::move(text) : std::string();
}

std::optional<std::vector<Reservation>> reservations(System& system, seconds limit) {
  const auto text = ask(system, {"scontrol", "--oneliner", "show", "reservation"}, limit);
  if (!text) return std::nullopt;
  return parse_slurm_reservations(*text);
}

std::optional<std::vector<Association>> associations(System& system, const std::string& user) {
  const auto text = ask_accounts(
      system, {"associations", "where", "user=" + user, "format=Account,Partition,QOS"});
  if (!text) return std::nullopt;
  return parse_associations(*text);
}

std::string default_account(System& system, const std::string& user) {
  const auto text = ask_accounts(system, {"user", user, "format=DefaultAccount"});
  constexpr std::string_view blanks = " \t\r\n";
  const auto begin = text ? text->find_first_not_of(blanks) : std::string::npos;
  if (begin == std::string::npos) return "";
  return text->substr(begin, text->find_first_of(blanks, begin) - begin);
}

std::vector<SlurmJob> parse_accounting(std::string_view text, const std::string& id) {
  std::vector<SlurmJob> found;
  for (const auto line : split_lines(text)) {
    const auto parts = split_at(line, '|');
    const std::vector<std::string> fields(parts.begin(), parts.end());
    if (fields.size() < 6) continue;
    if (job_number(fields[0]) != id && !fields[0].starts_with(id + "_")) continue;
    auto job = job_of_fields(fields);
    std::erase_if(found, [&](const SlurmJob& earlier) { return earlier.id == job.id; });
    found.push_back(std::move(job));
  }
  return found;
}

std::vector<JobWords> parse_job_words(std::string_view text) {
  std::vector<JobWords> jobs;
  for (const auto line : split_lines(text)) {
    const auto id = line.substr(0, line.find_first_of("|_+"));
    if (!id.empty() && id.find_first_not_of("0123456789") == std::string_view::npos)
      jobs.push_back({std::string(id), std::string(line.substr(id.size()))});
  }
  return jobs;
}

}  // namespace dllaunch
