#include "launcher/plan/script/plain_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "launcher/base/shell_quote.hpp"
#include "launcher/base/split.hpp"
#include "launcher/base/table.hpp"
#include "launcher/base/wrapped_lines.hpp"
#include "launcher/slurm/option_overrides.hpp"
#include "runtime/rank/transport.hpp"

namespace dllaunch {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t width = 96;  // of comments

struct Reason {
  std::string_view option;
  std::string_view why;
};

constexpr std::string_view as_job_says = "As the job file says, or the cluster's profile.";

constexpr std::string_view tasks_and_cpus =
    "Slurm counts tasks, which are the ranks, and CPUs, of which each rank has as many.";
constexpr std::string_view waits =
    "It starts when these have completed, and is removed if one fails.";

constexpr std::array<Reason, 12> directive_reasons = {{
    {"--nodes", tasks_and_cpus},
    {"--ntasks-per-node", tasks_and_cpus},
    {"--cpus-per-task", tasks_and_cpus},
    {"--threads-per-core", "A CPU is a core here, whatever the cluster's default."},
    {"--gpus-per-node",
     "The job's GPUs of a node: each rank sees all, and takes that of its local rank."},
    {"--exclusive", "Whole nodes, shared with no other job."},
    {"--dependency", waits},
    {"--kill-on-invalid-dep", waits},
    {"--requeue",
     "After a node has failed Slurm may start the job again: whether it resumes is your "
     "program's."},
    {"--no-requeue", "Nothing here resumes: Slurm must not start the job again by itself."},
    {"--open-mode", "A job that starts again goes on in the same file."},
    {"--output", "The ranks' output; a name without a folder is in the one where you call sbatch."},
}};

constexpr std::array<Reason, 12> srun_reasons = {{
    {"--mpi", "how MPI programs find each other; none: they do not"},
    {"--nodes", "every node of the job"},
    {"--ntasks", "one process per rank"},
    {"--ntasks-per-node", "consecutive ranks share a node"},
    {"--cpus-per-task", "srun of Slurm 22.05 to 23.02 does not take it from the job"},
    {"--threads-per-core", "a CPU is a core here, as for the job"},
    {"--distribution", "consecutive ranks are neighbours on their node"},
    {"--label", "each line of the output begins with its rank"},
    {"--kill-on-bad-exit", "a rank that fails ends the others, which would wait for it"},
    {"--wait", "ranks that end first do not end the others"},
    {"--export", "the ranks get the variables above"},
    {"--overcommit", "there are more ranks than CPUs"},
}};

/// Those of the full script that need its supervisor, or that stand at another place here.
constexpr std::array<std::string_view, 3> of_supervisor = {"--no-kill", "--mincpus", "--signal"};

bool is_among(std::span<const std::string_view> all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

std::string_view why_of(std::span<const Reason> reasons, std::string_view option,
                        std::string_view otherwise) {
  const auto found = std::ranges::find(reasons, option, &Reason::option);
  return found == reasons.end() ? otherwise : found->why;
}

/// The value of srun's --cpus-per-task and the like; empty: it has none.
std::string value_in(const LaunchPlan& plan, std::string_view option) {
  for (const std::string_view word : plan.start.options)
    if (word.starts_with(option) && word.substr(option.size()).starts_with('='))
      return std::string(word.substr(option.size() + 1));
  return "";
}

void add_directives(const LaunchPlan& plan, PlainScript& script) {
  auto lines = plan.sbatch;
  std::erase_if(lines, [](const auto& line) { return is_among(of_supervisor, line.first); });
  const bool requeues =
      std::ranges::any_of(lines, [](const auto& line) { return line.first == "--requeue"; });
  for (auto line = lines.begin(); line != lines.end(); ++line) {
    if (line->first != "--nodes") continue;
    // Without spare nodes, and without a range, for which the full script has no tasks per node.
    line->second = std::to_string(plan.nodes);
    if (!plan.recovery.elastic()) break;
    OptionLines tasks = {{"--ntasks-per-node", std::to_string(plan.ranks_per_node)}};
    if (auto cpus = value_in(plan, "--cpus-per-task"); !cpus.empty())
      tasks.emplace_back("--cpus-per-task", std::move(cpus));
    lines.insert(line + 1, tasks.begin(), tasks.end());
    break;
  }
  for (const auto& [option, value] : lines) {
    if (option == "--open-mode" && !requeues) continue;
    const bool all_memory = option == "--mem" && value == "0";
    script.directives.push_back(
        {value.empty() ? option : option + "=" + sbatch_quote(value),
         all_memory ? "All of a node's memory, not the default share."
                    : std::string(why_of(directive_reasons, option, as_job_says))});
  }
  for (const auto& extra : plan.sbatch_extra)
    script.directives.push_back({sbatch_quote(extra), std::string(as_job_says)});
  if (plan.asks_ranks)
    script.directives.push_back(
        {fmt::format("--signal={}@{}", plan.signal, plan.grace_seconds),
         fmt::format(
             "So many seconds before the time limit every process of the ranks gets {}, by "
             "which your program knows that it must save. One without a handler goes on. The first "
             "rank that then leaves with an error ends the others: they leave together.",
             plan.signal)});
  // Lines with the same reason follow each other.
  Lines reasons;
  for (const auto& line : script.directives)
    if (std::ranges::find(reasons, line.why) == reasons.end()) reasons.push_back(line.why);
  std::ranges::stable_sort(script.directives, {}, [&reasons](const auto& line) {
    return std::ranges::find(reasons, line.why) - reasons.begin();
  });
}

std::string devices_of_rank(const LaunchPlan& plan, const RankPlacement& rank) {
  Lines gpus;
  for (const int position : rank.gpus) {
    const auto& gpu = plan.topology.gpus[static_cast<std::size_t>(position)];
    gpus.push_back(gpu.pci.empty() ? std::to_string(gpu.index)
                                   : fmt::format("{} ({})", gpu.index, gpu.pci));
  }
  return gpus.empty() ? "-" : fmt::format("{}", fmt::join(gpus, " "));
}

void add_table(const LaunchPlan& plan, PlainScript& script) {
  std::vector<TableRow> rows = {{"local rank", "GPU", "CPUs", "NUMA", "NIC"}};
  const bool unbound = plan.placement.policy == BindPolicy::none;
  for (const auto& rank : plan.placement.ranks)
    rows.push_back({std::to_string(rank.local_rank), devices_of_rank(plan, rank),
                    unbound ? "any" : to_list(rank.cpus),
                    rank.numa.empty() ? "-" : to_list(rank.numa),
                    rank.nic.empty() ? "-" : rank.nic});
  const auto text = table_text(rows);
  for (const auto line : split_lines(text)) script.ranks.emplace_back(line);
}

int cores_of_rank(const LaunchPlan& plan) {
  std::ptrdiff_t fewest = std::ssize(plan.topology.cores);
  for (const auto& rank : plan.placement.ranks)
    fewest = std::min(fewest, std::ranges::count_if(plan.topology.cores, [&](const Core& core) {
                        return core.cpus.intersects(rank.cpus);
                      }));
  if (plan.placement.policy == BindPolicy::none) fewest /= plan.ranks_per_node;
  return static_cast<int>(std::max<std::ptrdiff_t>(1, fewest));
}

bool has_point(const LaunchPlan& plan) {
  if (!plan.train_json.empty()) return plan.transport == "tcp";
  return plan.framework != "mpi" && plan.framework != "horovod";
}

/// Where the ranks meet.
void add_point(const LaunchPlan& plan, Lines& lines) {
  lines.insert(lines.end(),
               {"",
                "# Where the ranks meet: on the node of rank 0. Nobody has looked whether the "
                "port is free."});
  if (!plan.host_suffix.empty())
    lines.push_back(
        fmt::format("# Host names end in {} here: so they name the network between the nodes.",
                    plan.host_suffix));
  lines.push_back(
      fmt::format("MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1){}",
                  plan.host_suffix.empty() ? "" : shell_quote(plan.host_suffix)));
  lines.insert(lines.end(),
               {"MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))", "export MASTER_ADDR MASTER_PORT"});
  if (!plan.train_json.empty())
    lines.insert(lines.end(), {"# By this the trainer's ranks know each other.",
                               fmt::format("{}=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \\n')",
                                           start_secret_variable),
                               fmt::format("export {}", start_secret_variable)});
}

/// The GPUs that JAX takes in each rank, in bash's syntax of an array.
std::string jax_devices(const LaunchPlan& plan) {
  Lines all;
  const int gpus = plan.request.gpus;
  const int ranks = plan.ranks_per_node;
  for (int rank = 0; rank < ranks; ++rank) {
    Lines ids;
    for (int id = gpus * rank / ranks; id < gpus * (rank + 1) / ranks; ++id)
      ids.push_back(std::to_string(id));
    if (ids.empty()) ids.push_back(std::to_string(rank % gpus));
    all.push_back(fmt::format("{}", fmt::join(ids, ",")));
  }
  return fmt::format("({})", fmt::join(all, " "));
}

void add_framework(const LaunchPlan& plan, PlainScript& script) {
  auto& before = script.before;
  auto& of_rank = script.of_rank;
  const auto& name = plan.framework;
  if (name == "deepspeed" || name == "pytorch")
    of_rank.emplace_back("export GROUP_RANK=$SLURM_NODEID ROLE_RANK=$SLURM_PROCID");
  if (name == "deepspeed") {
    before.push_back(
        fmt::format("export LOCAL_SIZE={} CROSS_SIZE={}", plan.ranks_per_node, plan.nodes));
    of_rank.emplace_back("export CROSS_RANK=$SLURM_NODEID");
  }
  if (name == "horovod") {
    before.push_back(fmt::format(
        "export HOROVOD_SIZE={} HOROVOD_LOCAL_SIZE={} HOROVOD_CROSS_SIZE={} HOROVOD_CONTROLLER=mpi",
        plan.ranks(), plan.ranks_per_node, plan.nodes));
    of_rank.emplace_back(
        "export HOROVOD_RANK=$SLURM_PROCID HOROVOD_LOCAL_RANK=$SLURM_LOCALID "
        "HOROVOD_CROSS_RANK=$SLURM_NODEID");
  }
  if (name == "jax") {
    before.push_back(
        fmt::format("export JAX_COORDINATOR_ADDRESS=$MASTER_ADDR:$MASTER_PORT JAX_NUM_PROCESSES={}",
                    plan.ranks()));
    of_rank.emplace_back("export JAX_PROCESS_ID=$SLURM_PROCID");
    if (plan.request.gpus > 0) {
      of_rank.push_back("devices=" + jax_devices(plan));
      of_rank.emplace_back("export JAX_LOCAL_DEVICE_IDS=${devices[SLURM_LOCALID]}");
    }
  }
  if (name == "tensorflow") {
    before.insert(
        before.end(),
        {"# TensorFlow wants the address of every rank, in a list of JSON.",
         "workers=", "# shellcheck disable=SC2089  # quotes of JSON",
         "for host in $(scontrol show hostnames \"$SLURM_JOB_NODELIST\"); do",
         fmt::format("  for ((local = 0; local < {}; ++local)); do", plan.ranks_per_node),
         fmt::format("    printf -v workers '%s%s\"%s%s:%d\"' \"$workers\" \"${{workers:+, }}\" "
                     "\"$host\" \"{}\" $((MASTER_PORT + local))",
                     plan.host_suffix),
         "  done", "done", "# shellcheck disable=SC2090", "export workers"});
    of_rank.emplace_back(
        "export TF_CONFIG=\"{\\\"cluster\\\": {\\\"worker\\\": [$workers]}, \\\"task\\\": "
        "{\\\"type\\\": \\\"worker\\\", \\\"index\\\": $SLURM_PROCID}}\"");
  }
}

/// A path of a profile, for double quotes in bash.
std::string folder_of_rank(std::string path) {
  std::string text;
  for (const char c : path) {
    if (std::string_view("\"\\$`").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  for (const auto& [mark, variable] : std::array<std::pair<std::string_view, std::string_view>, 3>{
           {{"{user}", "$USER"}, {"{job}", "$SLURM_JOB_ID"}, {"{node}", "$SLURM_NODEID"}}})
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += variable.size())
      text.replace(at, mark.size(), variable);
  return "\"" + text + "\"";
}

/// Whether only the job knows how many CPUs there are, as on a cluster that was not known.
bool divides_cpus(const LaunchPlan& plan) {
  const auto asks = [](const auto& option) { return option.first == "--cpus-per-task"; };
  return std::ranges::none_of(plan.sbatch, asks) && value_in(plan, "--cpus-per-task").empty();
}

/// Bash's lines that divide them.
void add_division(const LaunchPlan& plan, Lines& lines) {
  lines.insert(
      lines.end(),
      {"",
       "# The CPUs that Slurm has given the job on this node: whole cores for each of its ranks.",
       "threads_of_core=$(LC_ALL=C lscpu | sed -n 's/^Thread(s) per core: *//p')",
       fmt::format("cores_of_rank=$((SLURM_CPUS_ON_NODE / ${{threads_of_core:=1}} / {}))",
                   plan.ranks_per_node),
       "cpus_of_rank=$((cores_of_rank > 0 ? cores_of_rank * threads_of_core : 1))"});
}

void add_variables(const LaunchPlan& plan, PlainScript& script) {
  auto& before = script.before;
  if (has_point(plan)) add_point(plan, before);
  const bool divides = divides_cpus(plan);
  if (divides) add_division(plan, before);
  before.insert(
      before.end(),
      {"", "# How many ranks there are, threads for each, and output that appears at once."});
  before.push_back(
      fmt::format("export WORLD_SIZE={} LOCAL_WORLD_SIZE={}", plan.ranks(), plan.ranks_per_node));
  before.push_back(fmt::format(
      "export OMP_NUM_THREADS=${{OMP_NUM_THREADS:-{}}} PYTHONUNBUFFERED=${{PYTHONUNBUFFERED:-1}}",
      divides ? "$((cores_of_rank > 0 ? cores_of_rank : 1))"
              : std::to_string(cores_of_rank(plan))));
  script.of_rank.emplace_back(
      "export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID NODE_RANK=$SLURM_NODEID");
  add_framework(plan, script);
  for (const auto& [name, path] : plan.node_folders)
    script.of_rank.push_back(
        fmt::format("export {0}={1}; mkdir -p -- \"${0}\"", name, folder_of_rank(path)));
  // It would end bash, a shell around the program, and tee behind it before the program has saved.
  if (plan.asks_ranks) script.of_rank.push_back(fmt::format("trap \"\" {}", plan.signal));
  script.of_rank.emplace_back("exec \"$@\"");
}

/// Whether the job's own lines of sbatch say how ranks are dealt.
bool deals_ranks(const LaunchPlan& plan) {
  return std::ranges::any_of(plan.sbatch_extra, [](const std::string& line) {
    const auto option = option_of_line(line);
    return option && option->first == "--distribution";
  });
}

/// srun's options without those of the supervisor, with the plan's binding.
Lines options_of(const LaunchPlan& plan) {
  Lines options;
  const bool many = plan.ranks() > 256;  // their output goes into one file, each line with its rank
  const auto& all = plan.start.options;
  const auto ours = all.size() - std::min(all.size(), plan.start.users);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& option = all[i];
    const bool of_logs = many && (option == "--open-mode=append" ||
                                  option.starts_with("--output=" + plan.paths.run_dir));
    if (i >= ours)
      options.push_back(option);
    else if (option == "--kill-on-bad-exit=0")  // here nobody else ends the others
      options.emplace_back("--kill-on-bad-exit=1");
    else if (option == "--cpu-bind=none" && plan.placement.policy != BindPolicy::none) {
      options.emplace_back("--cpu-bind=cores");  // what the full script leaves to `dllaunch exec`
      // Otherwise Slurm deals consecutive ranks to the packages in turns.
      if (!deals_ranks(plan)) options.emplace_back("--distribution=block:block");
    } else if (!of_logs) {
      options.push_back(option);
    }
  }
  return options;
}

std::string why_bound(std::string_view value) {
  if (value.starts_with("mask_cpu:"))
    return "a mask for each local rank: the cores next to its GPU, as in the table";
  if (value == "cores")
    return "Slurm's own choice of cores for each rank, not the table's CPUs: masks of those would "
           "be certain only on whole nodes of one known kind, whose CPUs the ranks divide evenly";
  return value == "none" ? "nothing is bound" : "as the job file says";
}

/// Each option once, its reason beside it.
void explain(const Lines& options, PlainScript& script) {
  constexpr std::size_t column = 20;
  for (const std::string_view option : options) {
    const auto name = option.substr(0, option.find('='));
    if (!name.starts_with("--")) continue;
    const auto why = name == "--cpu-bind" ? why_bound(option.substr(option.find('=') + 1))
                                          : std::string(why_of(srun_reasons, name, "as asked for"));
    std::string head(name);
    for (const auto& line : wrapped_lines(why, width - column)) {
      script.options.push_back(fmt::format("{:{}}{}", head, column, line));
      head.clear();
    }
  }
}

/// A text within single quotes of bash, on as many lines.
std::string in_single_quotes(const Lines& lines, std::string_view indent) {
  std::string text = "'";
  for (const auto& line : lines) {
    text += fmt::format("\n{}", indent);
    for (const char c : line) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return text + "'";
}

void add_start(const LaunchPlan& plan, PlainScript& script) {
  const bool divides = divides_cpus(plan);
  auto argv = options_of(plan);
  auto explained = argv;
  if (divides) explained.insert(explained.begin(), "--cpus-per-task");
  explain(explained, script);
  argv.insert(argv.begin(), "srun");
  auto start = shell_lines(argv, argv.size(), "  ");
  // The last of two options counts, which may be the user's.
  if (divides) start.insert(argv.front().size(), " \\\n  --cpus-per-task=\"$cpus_of_rank\"");
  const auto program = plan.train_json.empty()
                           ? shell_join(plan.start.program)
                           : fmt::format("{} --config \"$dllaunch_run/train.json\"",
                                         shell_quote(plan.paths.dltrain));
  script.start = fmt::format("{} \\\n  bash -c {} rank \\\n  {}", start,
                             in_single_quotes(script.of_rank, "    "), program);
}

void add_given_up(const LaunchPlan& plan, PlainScript& script) {
  const auto add = [&script](std::string_view text) {
    bool first = true;
    for (const auto& line : wrapped_lines(text, width)) {
      script.given_up.push_back((first ? "- " : "  ") + line);
      first = false;
    }
  };
  add("a look at each node before its ranks start: nodes unlike the plan's get masks of their own, "
      "and each rank's GPU is checked");
  if (has_point(plan))
    add("a rendezvous: a port that is free, at an address that every rank has reached, and a clear "
        "word where one cannot");
  add("the watchdog: a rank that hangs is named, with its stack, and the job is ended instead of "
      "waiting for its time limit");
  add(plan.recovery.requeue_on.any() || plan.recovery.max_restarts > 0
          ? "recovery: restarts in the same allocation, a requeue after the save at the time "
            "limit, "
            "limits on both, and one writer at a time"
          : "restarts and requeues, which recovery: asks for");
  if (plan.recovery.spare_nodes > 0 || plan.recovery.elastic())
    add("spare nodes, and fewer nodes when some are lost: this asks for the job file's number");
  if (!plan.ring.empty()) add("ranks in the order of the network: Slurm numbers the nodes");
  add("a log for each rank, `dllaunch status`, `logs`, `stacks` and `report`, the reason for a "
      "failure, and what the run has cost");
}

}  // namespace

Result<PlainScript> plain_script(const LaunchPlan& plan) {
  const auto needs_dllaunch = [](std::string what, std::string hint) {
    return Error{ErrorKind::bad_request, std::move(what) + " needs dllaunch on the nodes",
                 std::move(hint)};
  };
  if (!plan.stage.sources.empty())
    return needs_dllaunch("stage:, which copies to the nodes' own disks,",
                          "leave out stage: and write the paths, or use script without --plain");
  if (!plan.start.starts_by_srun())
    return Error{
        ErrorKind::unavailable,
        "no MPI plug-in of srun is known there: mpirun starts the ranks, and dllaunch binds "
        "them",
        plan.train_json.empty()
            ? "name it in a cluster profile, as mpi: pmix, or use script without --plain"
            : "use --set runtime.transport=tcp"};
  PlainScript script{.own_folder = !plan.train_json.empty() || plan.container};
  add_directives(plan, script);
  add_table(plan, script);
  add_variables(plan, script);
  add_start(plan, script);
  add_given_up(plan, script);
  return script;
}

}  // namespace dllaunch
