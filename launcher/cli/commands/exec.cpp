// The per-rank shim: bind, set the environment, send the output to the rank's log, become CMD; in a
// run's rank start it as a child, and record how it ended.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "launcher/autopsy/stored_stacks.hpp"
#include "launcher/base/exit_code.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_line.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/os/ancestors.hpp"
#include "launcher/os/descendants.hpp"
#include "launcher/os/descent_mark.hpp"
#include "launcher/plan/stage.hpp"
#include "launcher/rank/framework_environment.hpp"
#include "launcher/rank/left_processes.hpp"
#include "launcher/rank/node_folders.hpp"
#include "launcher/rank/node_number.hpp"
#include "launcher/rank/rank_process.hpp"
#include "launcher/rank/rank_shim.hpp"
#include "launcher/rank/rendezvous/rendezvous.hpp"
#include "launcher/rank/rendezvous/start_name.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/rank_records.hpp"
#include "launcher/run/run_index.hpp"
#include "runtime/rank/binding.hpp"
#include "runtime/rank/transport.hpp"
#include "support/held_folder.hpp"
#include "support/parse_number.hpp"
#include "support/run_file.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view exec_examples =
    R"(  dllaunch exec -- ./app --size 10              bind this rank, then run ./app
  srun dllaunch exec --run-dir DIR -- ./app     follow the plan in DIR; output to DIR/out/
  srun dllaunch exec --framework pytorch -- python3 train.py
                                                set torch.distributed's variables
)";

constexpr int cannot_execute = 126;
constexpr int not_found = 127;
constexpr int most_seconds = 86400;

struct ExecOptions {
  std::string run_dir;
  bool no_log = false;
  bool staged = false;
  std::string framework;  // empty: the plan's
  std::optional<int> rendezvous_seconds;
  std::vector<std::string> command;
};

/// Returns the plan's settings for this node; without a plan, the defaults.
PlannedBinding read_plan(const std::string& run_dir, const RankEnv& rank, System& system) {
  if (run_dir.empty()) return {};
  auto text = system.read_file(run_dir + "/plan.json");
  auto planned = text ? read_planned_binding(*text) : Result<PlannedBinding>(text.error());
  if (planned) return *std::move(planned);
  system.log(fmt::format("dllaunch: rank {}: {}\n", rank.rank, planned.error().what));
  return {};
}

/// Moves caches off shared file systems; the user's settings stay.
void set_node_folders(const SiteSettings& site, const RankEnv& rank, const EnvLookup& lookup,
                      System& system) {
  for (const auto& [name, path] : site.node_folders) {
    if (lookup(name)) continue;
    const auto folder = fill_in(path, lookup);
    if (auto made = make_own_folder(folder); !made) {
      system.log(fmt::format("dllaunch: rank {}: {} is not set: {}\n", rank.rank, name,
                             made.error().what));
      continue;
    }
    setenv(name.c_str(), folder.c_str(), 1);
  }
}

/// Returns the names by which others may reach this node, best first.
std::vector<std::string> own_names(const SiteSettings& site, const std::string& host) {
  const auto slurms = process_environment()("SLURMD_NODENAME").value_or(host);
  std::vector<std::string> names = {slurms, host};
  if (!site.host_suffix.empty()) names.insert(names.begin(), with_suffix(slurms, site.host_suffix));
  return names;
}

/// A failure to bind is reported and not fatal: a slow rank is better than none.
RankBinding bind_rank(const PlannedBinding& planned, RankContext& context, System& system) {
  const auto complain = [&](const Error& error) {
    system.log(fmt::format("dllaunch: rank {}: not bound: {}\n", context.rank.rank, error.what));
    return RankBinding{};
  };
  auto node = system.topology(DeviceNames::left_out);
  if (!node) return complain(node.error());
  auto current = current_binding();
  if (!current) return complain(current.error());
  context.node = *std::move(node);
  context.current = *std::move(current);
  see_gpus(process_environment(), context);
  auto binding = choose_binding(planned, context);
  binding.gpus = choose_gpus(planned, context);
  binding.nic = choose_nic(planned, context, binding.gpus);
  if (!binding.note.empty() && !planned.masks.empty()) {
    system.log("dllaunch: " + binding.note + "\n");
  }
  if (binding.cpus.empty()) return binding;
  auto applied = apply_binding(binding.cpus);
  if (!applied) {
    auto unbound = complain(applied.error());
    unbound.gpus = std::move(binding.gpus);
    unbound.nic = std::move(binding.nic);
    return unbound;
  }
  return binding;
}

/// Returns the option, else DLLAUNCH_RENDEZVOUS_SECONDS (a job file can set it), else five minutes.
Result<int> rendezvous_seconds(const ExecOptions& options, const EnvLookup& lookup) {
  constexpr int usual = 300;
  if (options.rendezvous_seconds) return *options.rendezvous_seconds;
  const auto text = lookup("DLLAUNCH_RENDEZVOUS_SECONDS");
  if (!text) return usual;
  const auto seconds = parse_number<int>(*text);
  if (seconds && *seconds >= 0 && *seconds <= most_seconds) return *seconds;
  return Error{ErrorKind::bad_request,
               fmt::format("DLLAUNCH_RENDEZVOUS_SECONDS is \"{}\", not a number from 0 to {}",
                           *text, most_seconds),
               ""};
}

/// Joins the rendezvous; returns an empty one if the ranks need none.
Result<Rendezvous> join_others(const ExecOptions& options, const FrameworkContext& context,
                               const SiteSettings& site, const std::string& run_dir,
                               System& system) {
  const auto lookup = process_environment();
  const auto transport = transport_of(context.rank, lookup);
  if (!transport) return transport.error();
  const bool trains_alone = *transport == Transport::mpi || context.rank.world_size == 1;
  // torchrun's workers have their rendezvous point already.
  const bool own_way =
      (context.framework.empty() && trains_alone) || context.rank.launcher == "torchrun";
  const auto seconds = rendezvous_seconds(options, lookup);
  if (!seconds) return seconds.error();
  if (own_way || *seconds == 0) return Rendezvous{};
  auto rendezvous =
      join_rendezvous({.rank = context.rank,
                       .start_name = context.start_name,
                       .names = own_names(site, context.host),
                       .hosts = step_hosts(context.rank, lookup),
                       .run_dir = run_dir,
                       .token = lookup("DLLAUNCH_START_TOKEN").value_or(""),
                       .key_folder = state_folder(system).value_or(""),
                       .workers = needs_workers(context.framework),
                       .patience = std::chrono::seconds(*seconds),
                       .tell = [&](const std::string& sentence) {
                         system.log(fmt::format("dllaunch: rank {} on {}: {}\n", context.rank.rank,
                                                context.host, sentence));
                       }});
  const bool needed = context.framework != "none" && context.framework != "mpi";
  // Fails only for reasons that all ranks share: otherwise the others would wait for this one.
  if (rendezvous || needed || rendezvous.error().kind != ErrorKind::unavailable) return rendezvous;
  if (context.rank.rank == 0) {
    system.log(fmt::format("dllaunch: MASTER_ADDR and MASTER_PORT are not set: {}: {}\n",
                           rendezvous.error().what, rendezvous.error().hint));
  }
  return Rendezvous{};
}

/// Sets all variables that define this rank, so that they agree.
void set_environment(const FrameworkContext& context, const Variables& of_rank) {
  const auto lookup = process_environment();
  const auto of_framework = framework_variables(context, lookup);
  // torchrun has set its workers' variables.
  if (context.rank.launcher != "torchrun") {
    for (const auto& name : contradicting_variables(process_variables(), lookup)) {
      unsetenv(name.c_str());
    }
  }
  for (const auto* variables : {&of_rank, &of_framework}) {
    for (const auto& [name, value] : *variables) setenv(name.c_str(), value.c_str(), 1);
  }
}

/// Redirects standard output and error; returns the old standard error for final messages.
int redirect_to_log(const std::string& run_dir, const std::string& path, System& system) {
  const int kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  const int log = open_run_file(run_dir, path, O_WRONLY | O_CREAT | O_APPEND);
  if (log < 0) {
    system.log(fmt::format("dllaunch: cannot write {}: {}; output is not redirected\n", path,
                           std::strerror(errno)));
    return kept;
  }
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  close(log);
  return kept;
}

/// nullopt: it cannot be written, which the starter's output then says.
std::optional<RankLifeRecord> begin_record(const std::string& run_dir, const RankEnv& rank,
                                           const std::string& host, int other_stderr) {
  const auto token = read_fencing_token(process_environment());
  auto record = RankLifeRecord::begin(run_dir, host, rank.rank, rank.world_size,
                                      token ? token->value_or(0) : 0);
  if (record) return *std::move(record);
  const auto words = unrecorded_words(rank.rank, host, record.error());
  const int to = other_stderr >= 0 ? other_stderr : STDERR_FILENO;
  if (write(to, words.data(), words.size()) < 0) return std::nullopt;
  return std::nullopt;
}

/// Returns false if this node does not have the folder, and says so. An NFS client may see a new
/// folder some seconds late.
bool is_shared(const std::string& what, const std::string& folder, const RankEnv& rank,
               const std::string& host, System& system) {
  for (int looks = 0; looks < 50; ++looks) {
    if (access(folder.c_str(), F_OK) == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  system.log(fmt::format(
      "dllaunch: rank {} on {}: {} {} does not exist on this node\n"
      "  try: start the run in a folder that all nodes share, such as home or scratch\n",
      rank.rank, host, what, folder));
  // srun may lose what a task writes just before it ends.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return false;
}

/// The folder that srun was called in. Slurm starts a task in /tmp if its node lacks that folder.
std::optional<std::string> folder_left(const RankEnv& rank) {
  std::error_code error;
  const char* meant = std::getenv("PWD");
  const bool moved = rank.launcher == "slurm" && meant != nullptr &&
                     std::filesystem::current_path(error) == "/tmp";
  return moved ? std::optional<std::string>(meant) : std::nullopt;
}

/// Returns only on failure.
int become(const std::vector<std::string>& command, int rank, const std::string& host,
           int other_stderr) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());

  const int error = errno;
  const std::string line = fmt::format("dllaunch: error: rank {} on {} cannot run {}: {}\n", rank,
                                       host, command[0], std::strerror(error));
  for (const int fd : {STDERR_FILENO, other_stderr}) {
    struct stat info {};
    struct stat first {};
    const bool same = fd != STDERR_FILENO && fstat(fd, &info) == 0 &&
                      fstat(STDERR_FILENO, &first) == 0 && info.st_ino == first.st_ino &&
                      info.st_dev == first.st_dev;
    if (fd >= 0 && !same && write(fd, line.data(), line.size()) < 0) continue;
  }
  return error == ENOENT ? not_found : cannot_execute;
}

void forget_inherited() {
  const auto starter = nearest_starter(ancestor_names());
  for (const auto& name :
       inherited_variables(process_variables(), starter, process_environment())) {
    unsetenv(name.c_str());
  }
}

/// Fills in the folder of the staged copies, which is not known when planning, and returns it. A
/// staged trainer finds its libraries beside it.
Result<std::string> use_stage(std::vector<std::string>& command, const EnvLookup& lookup) {
  auto folder = lookup("DLLAUNCH_STAGE").value_or("");
  if (folder.empty())
    return Error{ErrorKind::unavailable, "--staged, but DLLAUNCH_STAGE is not set",
                 "the script's `dllaunch stage` lines set it"};
  const std::string libraries = folder + "/.dllaunch/lib";
  if (command.at(0).starts_with(std::string(stage_mark) + "/.dllaunch/")) {
    const auto before = lookup("LD_LIBRARY_PATH").value_or("");
    setenv("LD_LIBRARY_PATH", (libraries + (before.empty() ? "" : ":") + before).c_str(), 1);
  }
  for (auto& word : command) word = with_stage(std::move(word), folder);
  std::vector<std::pair<std::string, std::string>> changed;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const auto end = text.find('=');
    if (end == std::string_view::npos || text.find(stage_mark) == std::string_view::npos) continue;
    changed.emplace_back(text.substr(0, end),
                         with_stage(std::string(text.substr(end + 1)), folder));
  }
  for (const auto& [name, value] : changed) setenv(name.c_str(), value.c_str(), 1);
  return folder;
}

/// On each node: no process of an earlier start is left when this one begins, and none of this
/// one when its step has ended.
void bound_descendants(const RankEnv& rank, const std::string& run_dir, const std::string& host,
                       System& system) {
  const auto mark = start_mark(run_dir, process_environment());
  if (!mark) return;
  if (const auto ended = end_earlier_starts(*mark); !ended.empty())
    system.log(fmt::format("dllaunch: rank {} on {}: {}\n", rank.rank, host, ended));
  if (rank.local_rank == 0 && name_of(getppid()) == "slurmstepd")
    end_leftovers_after_step(*mark, host);
  mark_descent(mark->own);
}

bool is_trainer(const std::vector<std::string>& command) {
  return std::filesystem::path(command.front()).filename() == "dltrain";
}

/// The built-in trainer toggles its timeline on SIGUSR1 once it is up. Until then, the signal,
/// which all ranks get at once, would terminate the rank.
void survive_the_timeline_signal(const std::vector<std::string>& command) {
  if (is_trainer(command)) std::signal(SIGUSR1, SIG_IGN);
}

/// Lets `dllaunch stacks` read this rank: where Yama allows that to ancestors only, a program must
/// agree; and Python answers by its faulthandler. Not with `recovery.autopsy: false`, by which the
/// file is missing. Python executes what it finds there: nothing that others may have written.
void allow_autopsy(const std::string& run_dir, const RankEnv& rank,
                   const std::vector<std::string>& command, System& system) {
  const std::string folder = python_start_folder(run_dir);
  if (run_dir.empty() || access((folder + "/sitecustomize.py").c_str(), R_OK) != 0) return;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  if (is_trainer(command)) return;
  for (const auto& each : {run_dir + "/autopsy", folder}) {
    const auto own = open_own_folder(each);
    if (!own && rank.rank == 0)
      system.log(fmt::format("dllaunch: an autopsy will not show Python: {}\n", own.error().what));
    if (!own || *own < 0) return;
    close(*own);
  }
  const char* before = std::getenv("PYTHONPATH");
  const bool some = before != nullptr && *before != '\0';
  setenv("PYTHONPATH", (some ? folder + ":" + before : folder).c_str(), 1);
}

struct StartedRank {
  const RankEnv& rank;
  std::string run_dir;
  std::string host;
  int other_stderr = -1;
  std::optional<RankLifeRecord> record = {};  // nullopt: it is no rank of the run
};

/// Prepares a rank and starts its program. Returns only on failure, as does what becomes the
/// program of what is no rank of the run.
Result<int> start_program(const ExecOptions& options, const StartedRank& of,
                          const EnvLookup& lookup, System& system) {
  auto command = options.command;
  std::string plan_dir = of.run_dir;
  if (options.staged) {
    const auto folder = use_stage(command, lookup);
    if (!folder) return folder.error();
    plan_dir = *folder + "/.dllaunch";
  }
  const auto planned = read_plan(plan_dir, of.rank, system);
  RankContext context{
      .rank = of.rank, .host = of.host, .bound_by_slurm = bound_by_slurm(lookup, of.rank)};
  const auto binding = bind_rank(planned, context, system);

  FrameworkContext framework{
      .framework = options.framework.empty() ? planned.framework : options.framework,
      .rank = of.rank,
      .host = of.host,
      .start_name = start_name(of.rank, lookup, parent_identity()),
      .visible_gpus = context.gpu_count};
  if (auto good = check_framework(framework, lookup); !good) return std::move(good).error();
  auto rendezvous = join_others(options, framework, planned.site, of.run_dir, system);
  if (!rendezvous) return std::move(rendezvous).error();
  framework.point = rendezvous->point;
  framework.workers = rendezvous->workers;
  const EnvLookup set_or_left_alone = [&](const std::string& name) -> std::optional<std::string> {
    const auto& names = planned.left_alone;
    return std::ranges::find(names, name) != names.end() ? std::string() : lookup(name);
  };
  set_environment(framework, rank_variables(of.rank, binding, of.run_dir, set_or_left_alone));
  set_node_folders(planned.site, of.rank, lookup, system);
  const auto run_program = [&] {
    allow_autopsy(of.run_dir, of.rank, command, system);
    return become(command, of.rank.rank, of.host, of.other_stderr);
  };
  const auto status = of.record ? run_as_child(run_program) : std::nullopt;
  if (!status) return run_program();
  of.record->end(*status);
  end_like(*status);
}

Result<int> exec(const ExecOptions& options, System& system) {
  survive_the_timeline_signal(options.command);
  forget_inherited();
  const EnvLookup lookup = process_environment();
  auto rank = read_rank_env(lookup);
  if (!rank) return std::move(rank).error();
  const std::string run_dir =
      options.run_dir.empty() ? lookup("DLLAUNCH_RUN_DIR").value_or("") : options.run_dir;
  const std::string host = system.host_name();
  if (const auto numbered = number_node(*rank, lookup, own_names({}, host))) {
    rank->node_rank = numbered->node_rank;
    rank->nodes = numbered->nodes;
    for (const auto& [name, value] : numbered->variables) setenv(name.c_str(), value.c_str(), 1);
  }

  if (!options.run_dir.empty() &&
      !is_shared("the run directory", options.run_dir, *rank, host, system))
    return exit_code::environment;
  int other_stderr = -1;
  if (!run_dir.empty() && !options.no_log) {
    mkdir((run_dir + "/out").c_str(), 0700);
    other_stderr =
        redirect_to_log(run_dir, run_dir + "/out/" + rank_log_name(rank->rank, host), system);
  }
  if (const auto left = folder_left(*rank);
      left && !is_shared("the folder", *left, *rank, host, system))
    return exit_code::environment;
  // What a rank starts by `dllaunch exec` is no rank of the run, though it inherits its variables.
  const bool is_rank_of_run = !options.run_dir.empty();
  if (is_rank_of_run) bound_descendants(*rank, run_dir, host, system);
  const StartedRank started{.rank = *rank,
                            .run_dir = run_dir,
                            .host = host,
                            .other_stderr = other_stderr,
                            .record = is_rank_of_run
                                          ? begin_record(run_dir, *rank, host, other_stderr)
                                          : std::optional<RankLifeRecord>()};
  auto code = start_program(options, started, lookup, system);
  constexpr int code_bits = 8;  // of a wait status
  if (started.record)
    started.record->end((code ? *code : exit_code_of(code.error().kind)) << code_bits);
  return code;
}

CommandBody declare_exec(CommandOptions& app) {
  auto options = std::make_shared<ExecOptions>();
  app.add_option("--run-dir", options->run_dir, "the run's directory: plan and logs")
      ->type_name("DIR");
  app.add_flag("--no-log", options->no_log, "do not redirect the output to the run's logs");
  app.add_option("--framework", options->framework,
                 "also set its variables [the plan's framework, else none]")
      ->type_name("FRAMEWORK");
  app.add_option("--rendezvous-seconds", options->rendezvous_seconds,
                 "how long ranks wait for each other; 0: no MASTER_ADDR [300]")
      ->type_name("N")
      ->range(0, most_seconds);
  app.add_flag("--staged", options->staged, "{stage} in CMD and variables is $DLLAUNCH_STAGE")
      ->group("");
  app.add_option("CMD", options->command, "the rank's program and its arguments, after --")
      ->required();
  return [options](System& system) { return exec(*options, system); };
}

}  // namespace

extern const Command exec_command;
const Command exec_command{"exec", "run a program as one rank: bind, set its environment, exec",
                           exec_examples, declare_exec};

}  // namespace dllaunch
