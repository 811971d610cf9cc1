#include "launcher/launch/child_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/split.hpp"
#include "launcher/job/job_changes.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/os/own_executable.hpp"
#include "launcher/os/storage_patience.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/os/trial_file.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/overlap_step.hpp"
#include "runtime/rank/binding.hpp"
#include "support/json_fields.hpp"
#include "support/random.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

/// This thread's CPUs for a while: a child inherits them.
class Bound {
 public:
  explicit Bound(const IdSet& cpus) {
    if (cpus.empty()) return;
    if (auto before = current_binding(); before && apply_binding(cpus)) before_ = *before;
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;
  ~Bound() {
    if (!before_.empty()) (void)apply_binding(before_);
  }

 private:
  IdSet before_;
};

/// A job step that takes nothing from others, with these CPUs and variables. Slurm's own numbers of
/// the node's GPUs do not hold for a part of them.
Result<OwnedProcess> start_on_node(const std::string& program, std::vector<std::string> argv,
                                   const ChildRun& run) {
  std::vector<std::string> command = {"env", "-u", "SLURM_STEP_GPUS", "-u", "SLURM_JOB_GPUS"};
  for (const auto& [name, value] : run.environment)
    command.push_back(fmt::format("{}={}", name, value));
  if (!run.cpus.empty()) command.insert(command.end(), {"taskset", "-c", to_list(run.cpus)});
  argv.front() = program;
  command.insert(command.end(), argv.begin(), argv.end());
  return OwnedProcess::start({.program = "/usr/bin/env",
                              .argv = argv_of({.nodes = run.nodelist}, command),
                              .environment = {},
                              .output_path = run.dir + ".log"});
}

/// A job with these keys alike.
Json without(Json resolved, const std::vector<std::string>& left_out) {
  for (const auto& key : left_out) {
    const auto dot = key.find('.');
    if (dot == std::string::npos) {
      resolved[key] = nullptr;
    } else if (resolved[key.substr(0, dot)].is_object()) {
      resolved[key.substr(0, dot)][key.substr(dot + 1)] = nullptr;
    }
  }
  return resolved;
}

/// `run` stores the nodes on which it lays resources.gpus.
Json with_gpus_divided(Json job, const Json& stored) {
  Json& own = job["resources"];
  const auto laid = value_at<Json>(stored, "resources");
  const auto gpus = value_at<std::optional<std::int64_t>>(own, "gpus");
  const auto nodes = value_at<std::int64_t>(laid, "nodes");
  if (!gpus || nodes * value_at<std::int64_t>(laid, "gpus_per_node") != *gpus) return job;
  for (const char* key : {"gpus", "nodes", "gpus_per_node"}) own[key] = value_at<Json>(laid, key);
  return job;
}

}  // namespace

Result<OwnedProcess> start_child_run(const ChildRun& run) {
  auto program = own_executable();
  if (!program) return std::move(program).error();
  std::vector<std::string> argv = {"dllaunch", "run", run.job_file, "--run-dir", run.dir};
  for (const auto& set : run.sets) argv.insert(argv.end(), {"--set", set});
  if (run.local) argv.emplace_back("--local");
  if (run.allocated) argv.emplace_back("--allocated");
  if (!run.nodelist.empty() && run.local) return start_on_node(*program, std::move(argv), run);
  if (!run.nodelist.empty()) argv.insert(argv.end(), {"--nodelist", run.nodelist});
  const Bound bound(run.cpus);
  return OwnedProcess::start({.program = *program,
                              .argv = std::move(argv),
                              .environment = run.environment,
                              .output_path = run.dir + ".log",
                              // A Slurm job goes on, and the next driver's run follows it.
                              .signal_at_our_death = SIGHUP});
}

void stop_child_run(System& system, const ChildRun& run, const OwnedProcess& process, int signal) {
  const bool behind_srun = run.local && !run.nodelist.empty();
  const auto owner = behind_srun ? owner_of({.path = run.dir}) : std::nullopt;
  if (owner && owner->pid > 0 && owner->user == geteuid()) {
    const auto told = system.run(argv_of({.nodes = run.nodelist, .light = true},
                                         {"kill", "-TERM", std::to_string(owner->pid)}),
                                 20s);
    if (told && told->exit_code == 0) return;
  }
  process.send(behind_srun ? SIGTERM : signal);
}

std::string last_error_of_child(const std::string& dir) {
  constexpr std::size_t most_bytes = 4096;
  std::string found;
  const std::string text = file_end(dir + ".log", most_bytes);
  for (const auto line : split_lines(text))
    if (line.starts_with("dllaunch: ")) found = shown_line(line.substr(10));
  return found;
}

std::string storage_trouble(const std::string& dir) {
  std::error_code error;
  const bool there = std::filesystem::exists(dir, error) || error;
  const auto folder = there ? dir : std::filesystem::path(dir).parent_path().string();
  const auto what = write_trial_file(folder).what;
  return tells_of_storage(what) ? fmt::format("{}: {}", folder, what) : "";
}

RunFate fate_of_run(System& system, const std::string& dir) {
  std::error_code error;
  if (!std::filesystem::exists(dir + "/plan.json", error))
    return tells_of_storage(error.message()) ? RunFate::unknown : RunFate::absent;
  const auto program = own_executable();
  const auto told = program ? system.run({*program, "status", dir, "--json"}, 60s)
                            : Result<CommandOutput>(program.error());
  const auto state = told ? value_at<std::string>(json_object_in(told->out), "state") : "";
  // "ended": another dllaunch is about to record how.
  constexpr std::array<std::string_view, 6> there = {"pending",   "running",    "completing",
                                                     "suspended", "submitting", "ended"};
  constexpr std::array<std::string_view, 3> unknown = {"", "unknown", "elsewhere"};
  if (std::ranges::find(there, state) != there.end()) return RunFate::there;
  return std::ranges::find(unknown, state) != unknown.end() ? RunFate::unknown : RunFate::over;
}

Result<std::vector<std::string>> keys_of_other_job(System& system, const std::string& dir,
                                                   const std::vector<Json>& wanted,
                                                   const std::vector<std::string>& left_out) {
  constexpr std::size_t most_bytes = std::size_t{1} << 20;
  const RunDir run{.path = dir};
  const auto text = read_run_file(system, run.job_yaml(), most_bytes);
  if (!text) return text.error();
  std::vector<std::string> keys;
  if (text->empty()) return keys;
  const auto stored = parse_job(*text, run.job_yaml(), {}).job;
  if (!stored) return std::vector<std::string>{"job.yaml"};
  for (const Json& job : wanted) {
    const auto changes = all_changes(without(stored->resolved, left_out),
                                     without(with_gpus_divided(job, stored->resolved), left_out));
    if (changes.empty()) return std::vector<std::string>();
    // Their values may be secrets.
    for (const auto& change : changes)
      if (&job == &wanted.front()) keys.push_back(change.substr(0, change.find(": ")));
  }
  return keys;
}

Result<Ok> check_unchanged(System& system, const std::string& job_file,
                           const std::vector<std::string>& sets, const std::string& digest,
                           const std::vector<std::string>& left_out) {
  const auto job = load_job(system, job_file, sets);
  if (!job) return job.error();
  if (digest_of_job(job->resolved, left_out) == digest) return Ok{};
  return Error{ErrorKind::bad_request, job_file + " has changed since its runs began",
               "restore it, or choose another --run-dir"};
}

std::string digest_of_job(Json resolved, const std::vector<std::string>& left_out) {
  const auto text =
      without(std::move(resolved), left_out).dump(-1, ' ', false, Json::error_handler_t::replace);
  return fmt::format("{:016x}", stable_hash(text));
}

}  // namespace dllaunch
