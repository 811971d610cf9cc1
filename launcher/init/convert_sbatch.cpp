#include "launcher/init/convert_sbatch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "launcher/init/first_job.hpp"
#include "launcher/init/job_draft.hpp"
#include "launcher/init/sbatch_body.hpp"
#include "launcher/init/sbatch_directives.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/job/rank_launcher.hpp"
#include "launcher/lint/rule.hpp"
#include "launcher/slurm/input_variables.hpp"
#include "launcher/slurm/slurm_options.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

/// How many ranks a node has, what they run, and the cores of each.
struct Ranks {
  long per_node = 1;
  long cores = -1;  // -1: dllaunch decides
  std::string framework = "none";
  std::string setup = {};
  std::string run = {};
  std::size_t line = 0;  // of `run` in the script
  std::vector<std::string> dropped = {};
  bool starts_others = false;  // `run` has a launcher of its own
};

/// Slurm's CPUs as cores; a part of a core is a core.
long cores_of(long cpus, int threads) {
  return (cpus + threads - 1) / threads;
}

/// The ranks that torchrun would start, if dllaunch can start them with the same CPUs.
bool take_over(const RankLauncher& launcher, const JobCounts& counts, int threads, Ranks& ranks) {
  const long total = launcher.ranks.value_or(0);
  long workers = launcher.ranks_per_node.value_or(counts.gpus_per_node);
  if (total > 0) workers = total % counts.nodes == 0 ? total / counts.nodes : 0;
  const long cpus = counts.cpus_per_task;
  const bool divides =
      workers > 0 && (cpus > 0 ? cpus % (workers * threads) == 0 : counts.exclusive);
  if (!launcher.refusal.empty() || launcher.restarts || ranks.per_node != 1 || !divides ||
      launcher.nodes.value_or(static_cast<int>(counts.nodes)) != counts.nodes)
    return false;
  ranks = {
      .per_node = workers,
      .cores = cpus > 0 ? cpus / (workers * threads) : -1,
      .framework = launcher.framework,
      .setup = ranks.setup,
      .run = launcher.command,
      .dropped = {fmt::format("line {}: {}: dllaunch starts the ranks, and they find each other",
                              ranks.line, launcher.written)}};
  return true;
}

/// A launcher that stays must not look like one that dllaunch takes off.
void keep_launcher(Ranks& ranks, bool runs_once) {
  for (auto found = rank_launcher_in(ranks.run); found; found = rank_launcher_in(ranks.run)) {
    ranks.run.insert(found->begin, "command ");
    ranks.starts_others = true;
  }
  if (runs_once)
    ranks.run.insert(0, "[ \"$RANK\" = 0 ] || exit 0  # it reaches the other nodes itself\n");
}

/// What Slurm sets for a job, and what the script assigns once.
KnownNumbers numbers_of(const lint::Script& script, const JobCounts& counts) {
  KnownNumbers numbers;
  for (const auto& one : script.run.assignments) {
    const auto again = std::ranges::count(script.run.assignments, one.name, &lint::Assigned::name);
    const long number = lint::number_of(one.value);
    if (again == 1 && one.plain && number >= 0) numbers[one.name] = number;
  }
  for (const char* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) numbers[name] = counts.nodes;
  if (counts.gpus_per_node > 0) numbers["SLURM_GPUS_ON_NODE"] = counts.gpus_per_node;
  return numbers;
}

/// `threads`: what Slurm counts for each core.
Ranks ranks_of(const ConvertedBody& body, const JobCounts& counts, const KnownNumbers& numbers,
               int threads) {
  Ranks ranks{.per_node = counts.tasks_per_node,
              .cores = counts.exclusive ? -1 : 1,
              .framework = body.framework,
              .setup = body.setup,
              .run = body.run,
              .line = body.line};
  if (counts.cpus_per_task > 0) ranks.cores = cores_of(counts.cpus_per_task, threads);
  if (body.whole_script) {
    keep_launcher(ranks, false);
    ranks.starts_others = true;
    return ranks;
  }
  const auto plain = rank_launcher_in(body.plain_run, numbers);
  const bool nothing_left = plain && plain->command.find_first_of("$`") == std::string::npos;
  if (nothing_left && take_over(*plain, counts, threads, ranks)) {
    ranks.setup = body.plain_setup;
    ranks.dropped.insert(ranks.dropped.end(), body.plain_dropped.begin(), body.plain_dropped.end());
    return ranks;
  }
  const auto launcher = rank_launcher_in(body.run, numbers);
  if (!launcher || !take_over(*launcher, counts, threads, ranks))
    keep_launcher(ranks, body.runs_once);
  return ranks;
}

/// The first word of the command that is a Python program; empty: there is none.
std::string python_program_in(std::string_view run) {
  while (!run.empty()) {
    const auto word = run.substr(0, run.find_first_of(" \t\n\"'"));
    if (word.size() > 3 && word.ends_with(".py")) return std::string(word);
    run.remove_prefix(std::min(run.size(), word.size() + 1));
  }
  return "";
}

Json list_of(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const auto& text : texts) list.push_back(text);
  return list;
}

/// --gpus-per-node with the type of GPU that only srun or an option of a task names; empty: none.
std::string typed_gpus(const SlurmRequest& job, const SlurmRequest& step, const JobCounts& counts,
                       const std::vector<std::string>& extra) {
  const bool written = std::ranges::any_of(extra, [](const std::string& option) {
    return option.starts_with("--gpus") ||
           (option.starts_with("--gres=") && asks_for_gpus(option.substr(7)));
  });
  const auto& types = job.gpu_types.empty() ? step.gpu_types : job.gpu_types;
  if (written || types.size() != 1 || counts.gpus_per_node < 1) return "";
  return fmt::format("--gpus-per-node={}:{}", *types.begin(), counts.gpus_per_node);
}

void add_resources(const ConvertedDirectives& directives, const SlurmRequest& job,
                   const JobCounts& counts, const ConvertedBody& body, const Ranks& ranks,
                   JobDraft& draft) {
  auto& keys = draft.resources;
  keys.push_back({.key = "nodes", .value = counts.nodes});
  keys.push_back({.key = "gpus_per_node",
                  .value = counts.gpus_per_node,
                  .comment = counts.gpus_per_node > 0 ? ""
                             : counts.exclusive
                                 ? "no option asks for GPUs; --exclusive gives all that a node has"
                                 : "the script asks Slurm for no GPUs"});
  keys.push_back({.key = "ranks_per_node", .value = ranks.per_node});
  if (ranks.cores > 0) keys.push_back({.key = "cpus_per_rank", .value = ranks.cores});
  keys.insert(keys.end(), directives.resources.begin(), directives.resources.end());
  keys.push_back({.key = "exclusive", .value = counts.exclusive});
  auto extra = directives.sbatch_extra;
  if (auto typed = typed_gpus(job, body.request, counts, extra); !typed.empty())
    extra.push_back(std::move(typed));
  const auto of_memory = [](const std::string& option) { return option.starts_with("--mem"); };
  const bool memory = std::ranges::any_of(extra, of_memory) ||
                      std::ranges::find(directives.resources, "memory", &DraftKey::key) !=
                          directives.resources.end();
  // dllaunch asks for all of an exclusive node's memory, sbatch for the site's default.
  if (counts.exclusive && !memory) extra.emplace_back("!--mem");
  if (!extra.empty())
    keys.push_back({.key = "sbatch_extra", .value = list_of(extra), .comment = "as in the script"});
  if (!body.srun_extra.empty())
    keys.push_back({.key = "srun_extra", .value = list_of(body.srun_extra)});
}

void add_environment(const ConvertedBody& body, const std::string& setup, JobDraft& draft) {
  auto& keys = draft.environment;
  if (!body.modules.empty()) keys.push_back({.key = "modules", .value = list_of(body.modules)});
  if (!body.activate.empty()) keys.push_back({.key = "activate", .value = body.activate});
  Json variables = Json::object();
  for (const auto& [name, value] : body.variables) variables[name] = value;
  if (!variables.empty()) keys.push_back({.key = "variables", .value = variables});
  if (const auto& container = body.container; !container.image.empty())
    keys.push_back({.key = "container",
                    .value = {{"image", container.image},
                              {"runtime", "enroot"},
                              {"mounts", list_of(container.mounts)}}});
  if (!setup.empty())
    keys.push_back(
        {.key = "setup", .value = setup, .comment = "the script's lines before its ranks start"});
}

std::string describe_megabytes(long megabytes) {
  return megabytes % 1024 == 0 ? fmt::format("{}G", megabytes / 1024)
                               : fmt::format("{}M", megabytes);
}

std::string describe_memory(const SlurmRequest& job) {
  if (job.memory_per_node == 0) return "all memory of a node";
  if (job.memory_per_node > 0) return describe_megabytes(job.memory_per_node) + " a node";
  if (job.memory_per_cpu > 0) return describe_megabytes(job.memory_per_cpu) + " a CPU";
  if (job.memory_per_gpu > 0) return describe_megabytes(job.memory_per_gpu) + " a GPU";
  return "memory as the partition says";
}

std::string describe_gpus(const JobCounts& counts, bool hidden) {
  if (counts.gpus_per_node < 1) return counts.exclusive ? "all GPUs of a node" : "no GPUs";
  return fmt::format("{} GPU{} a node{}", counts.gpus_per_node,
                     counts.gpus_per_node == 1 ? "" : "s",
                     hidden ? ", of which a task sees its own; dllaunch's ranks see all" : "");
}

/// What lint's rule says of the script.
std::vector<lint::Finding> findings_of(std::string_view rule, const lint::Script& script) {
  const auto& rules = lint::rules();
  const auto found = std::ranges::find(rules, rule, &lint::Rule::id);
  lint::Report report{.severity = found->severity};
  found->check({.script = script, .around = {}}, report);
  return report.findings;
}

/// What Slurm gives the script, in three lines.
std::vector<std::string> account_of(const JobCounts& counts, const lint::Script& script) {
  const bool hidden = !findings_of("gpus-hidden", script).empty();
  const auto* time = script.directive("time");
  return {
      fmt::format("{} node{} x {} task{}, {}{}", counts.nodes, counts.nodes == 1 ? "" : "s",
                  counts.tasks_per_node, counts.tasks_per_node == 1 ? "" : "s",
                  counts.cpus_per_task > 0 ? fmt::format("{} CPUs a task", counts.cpus_per_task)
                  : counts.exclusive       ? "all CPUs of a node"
                                           : "1 CPU a task",
                  counts.exclusive ? ", nobody else on the nodes" : ""),
      describe_gpus(counts, hidden),
      fmt::format("{}, {}", describe_memory(script.request),
                  time == nullptr ? "time as the partition says" : "time " + time->value.bytes())};
}

std::vector<std::string> head_of(const SbatchOrigin& origin,
                                 const std::vector<std::string>& account,
                                 const std::vector<std::string>& dropped) {
  std::vector<std::string> head = {
      fmt::format("Made from {} by dllaunch init. `dllaunch validate` checks it, `dllaunch plan` "
                  "shows",
                  origin.file),
      "what it asks Slurm for. The script's own account:"};
  for (const auto& line : account) head.push_back("  " + line);
  if (!dropped.empty()) head.emplace_back("Not taken over:");
  for (const auto& what : dropped) head.push_back("  " + what);
  return head;
}

/// 7 of "line 7: ...".
int line_in(std::string_view dropped) {
  const auto digits = dropped.substr(std::min<std::size_t>(dropped.size(), 5));
  return parse_number<int>(digits.substr(0, digits.find(':'))).value_or(0);
}

/// Options that Slurm refuses: a job file that holds the ones of them asks for another job.
std::vector<std::string> refused_options(const lint::Script& script) {
  std::vector<std::string> reasons;
  for (const char* rule : {"options-exclusive", "request-contradicts"})
    for (const auto& finding : findings_of(rule, script))
      if (finding.severity == lint::Severity::error)
        reasons.push_back(
            fmt::format("line {}: {}", lint::line_of(script.text, finding.at), finding.message));
  return reasons;
}

/// Variables that give srun options would change the job's own srun.
void leave_out_input_variables(ConvertedBody& body) {
  const auto inputs = variables_of(SlurmProgram::srun);
  std::erase_if(body.variables, [&](const auto& variable) {
    const auto& [name, value] = variable;
    const bool is_input = std::ranges::find(inputs, name) != inputs.end();
    if (is_input)
      body.dropped.push_back(
          fmt::format("{}={}: it gives srun an option, and dllaunch starts the ranks with its own",
                      name, value));
    return is_input;
  });
}

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

ConvertedScript convert_sbatch(std::string_view text, const SbatchOrigin& origin) {
  if (text.find('\0') != std::string_view::npos)
    return {.job = {}, .dropped = {}, .reasons = {"it holds a NUL character"}};
  const lint::Script script = lint::read_script(text);
  const auto directives = convert_directives(script);
  auto body = convert_body(script);
  leave_out_input_variables(body);
  JobCounts counts = counts_of(script.request, body.request);
  if (body.tasks_per_node > 0) counts.tasks_per_node = body.tasks_per_node;
  ConvertedScript converted{.dropped = directives.dropped, .reasons = directives.reasons};
  append(converted.dropped, body.dropped);
  append(converted.reasons, body.reasons);
  append(converted.reasons, refused_options(script));
  if (script.request.gpu_types.empty() && body.request.gpu_types.size() > 1)
    converted.reasons.emplace_back("srun names several types of GPUs, and #SBATCH lines none");
  if (counts.gpus_per_node < 0 && script.request.nodes > 0)
    converted.reasons.emplace_back(
        "its number of GPUs does not divide over its nodes, or is not written as a number");
  if (!script.tree.unread.empty()) converted.reasons.push_back("it is " + script.tree.unread);
  if (!converted.reasons.empty()) return converted;

  const int threads = counts_cores(script) ? 1 : std::max(1, origin.threads_per_core);
  auto ranks = ranks_of(body, counts, numbers_of(script, counts), threads);
  append(converted.dropped, ranks.dropped);
  std::ranges::stable_sort(converted.dropped, {}, line_in);
  // srun looks in the current folder too, after PATH; a shell does not.
  const auto& program = body.srun_program;
  const bool here = !program.empty() && origin.is_program && origin.is_program(program);
  if (const auto at = ranks.run.find(program); here && at != std::string::npos)
    ranks.run.insert(at, "./");
  if (!origin.framework.empty()) ranks.framework = origin.framework;
  converted.framework = ranks.framework;
  converted.counts_cpus =
      threads == 1 && ranks.cores > 0 && counts.cpus_per_task > 0 && !counts_cores(script);
  if (!ranks.starts_others) converted.program = python_program_in(ranks.run);
  converted.account = account_of(counts, script);
  JobDraft draft{.head = head_of(origin, converted.account, converted.dropped),
                 .name = directives.name.empty() ? stem_of(origin.file) : directives.name};
  add_resources(directives, script.request, counts, body, ranks, draft);
  add_environment(body, ranks.setup, draft);
  if (!directives.array.empty()) draft.other.push_back({.key = "array", .value = directives.array});
  if (ranks.framework != "none")
    draft.other.push_back({.key = "framework", .value = ranks.framework});
  draft.other.push_back({.key = "run", .value = ranks.run, .comment = "what each rank runs"});
  converted.job = render_draft(draft);
  const auto parsed = parse_job(converted.job, "the job file", {});
  for (const auto& problem : parsed.problems) converted.reasons.push_back(problem.message);
  if (!parsed.job) converted.job.clear();
  return converted;
}

}  // namespace dllaunch
