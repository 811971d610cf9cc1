#include "launcher/plan/external_scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "launcher/base/shell_quote.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/plan/plan_internal.hpp"
#include "launcher/plan/stage.hpp"

namespace dllaunch {
namespace {

using Texts = std::vector<std::string>;

struct Scheduler {
  std::string name;    // "PBS"
  std::string job_id;  // shell expression for the job id
};

Scheduler scheduler_of(const ClusterProfile& profile) {
  if (profile.scheduler == "pbs") return {"PBS", "$PBS_JOBID"};
  if (profile.scheduler == "lsf") return {"LSF", "$LSB_JOBID"};
  return {"Cobalt", "$COBALT_JOBID"};
}

/// Whether an item of `stage:` is a word rather than a path.
bool is_word(const std::string& wish) {
  return wish == "programs" || wish == "no-programs";
}

/// The text with {stage}/NAME replaced by `source`, where NAME is a whole path component.
std::string with_source(std::string text, const std::string& name, const std::string& source) {
  const std::string mark = std::string(stage_mark) + "/" + name;
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) {
    const auto end = at + mark.size();
    const char next = end < text.size() ? text[end] : '/';
    const bool whole = std::string_view("/ \t\n\"';:,)&|").find(next) != std::string_view::npos;
    if (whole) text.replace(at, mark.size(), source);
    at += whole ? source.size() : mark.size();
  }
  return text;
}

template <typename Change>
void change_texts(Json& value, const Change& change) {
  if (value.is_string()) value = change(value.get<std::string>());
  if (!value.is_structured()) return;
  for (auto& item : value) change_texts(item, change);
}

/// Each rank's CPUs, "24-31:16-23": as `mpiexec --cpu-bind list:` takes them.
std::string cpu_lists(const Placement& placement) {
  Texts lists;
  for (const auto& rank : placement.ranks) lists.push_back(to_list(rank.cpus));
  return fmt::format("{}", fmt::join(lists, ":"));
}

Texts start_argv(const std::string& start, const LaunchPlan& plan) {
  std::size_t cores = 0;
  std::size_t gpus = 0;
  for (const auto& rank : plan.placement.ranks) {
    std::size_t own = 0;
    for (const auto& core : plan.topology.cores) own += core.cpus.intersects(rank.cpus) ? 1 : 0;
    cores = cores == 0 ? own : std::min(cores, own);
    gpus = std::max(gpus, rank.gpus.size());
  }
  const std::pair<std::string, std::string> values[] = {
      {"{ranks}", std::to_string(plan.ranks())},
      {"{nodes}", std::to_string(plan.nodes)},
      {"{ranks_per_node}", std::to_string(plan.ranks_per_node)},
      {"{cores_per_rank}", std::to_string(cores)},
      {"{gpus_per_rank}", std::to_string(gpus)},
      {"{cpus}", cpu_lists(plan.placement)}};
  std::istringstream text(start);
  Texts argv;
  for (std::string word; text >> word;) {
    for (const auto& [name, value] : values)
      for (std::size_t at = 0; (at = word.find(name, at)) != std::string::npos; at += value.size())
        word.replace(at, name.size(), value);
    argv.push_back(std::move(word));
  }
  return argv;
}

/// Empty if there is none.
std::string take_first(Texts& argv) {
  if (argv.empty()) return {};
  auto first = std::move(argv.front());
  argv.erase(argv.begin());
  return first;
}

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

/// For double quotes in bash: escapes the profile's text, leaves our variables to the shell.
std::string folder_words(const std::string& path, const Scheduler& scheduler) {
  std::string text;
  for (const char c : path) {
    if (std::string_view("\"\\$`").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  replace_all(text, "{user}", "$USER");
  replace_all(text, "{job}", scheduler.job_id);
  replace_all(text, "{node}", "node");
  return "\"" + text + "\"";
}

/// Lines of bash that write a text file.
void write_file(const std::string& path, const std::string& content, Texts& lines) {
  lines.push_back(fmt::format("cat > {} << 'END_OF_TRAIN'", shell_quote(path)));
  std::istringstream text(content);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  lines.emplace_back("END_OF_TRAIN");
}

Texts lines_before(const LaunchPlan& plan, const Scheduler& scheduler) {
  Texts lines = {"cd -- " + shell_quote(plan.paths.work_dir)};
  for (const auto& module : plan.modules) lines.push_back("module load " + shell_quote(module));
  if (!plan.activate.empty())
    lines.push_back(fmt::format("source {}  # a conda prefix: conda activate {}",
                                shell_quote(plan.activate + "/bin/activate"),
                                shell_quote(plan.activate)));
  for (const auto& [name, value] : plan.environment)
    lines.push_back(fmt::format("export {}={}", name, shell_quote(value)));
  for (const auto& [name, path] : plan.node_folders)
    lines.push_back(fmt::format("export {}={}", name, folder_words(path, scheduler)));
  if (!tells_ranks_nothing(plan) || !plan.train_json.empty())
    lines.push_back(fmt::format("mkdir -p -- {}", shell_quote(plan.paths.run_dir + "/out")));
  if (!tells_ranks_nothing(plan))
    lines.push_back(fmt::format(
        "{} plan JOB.yaml --set {} --json > {}", shell_quote(plan.paths.dllaunch),
        shell_quote("cluster=" + plan.cluster), shell_quote(plan.paths.run_dir + "/plan.json")));
  if (!plan.train_json.empty())
    write_file(plan.paths.run_dir + "/train.json", plan.train_json, lines);
  std::istringstream setup(plan.setup);
  for (std::string line; std::getline(setup, line);) lines.push_back(line);
  return lines;
}

bool still_marked(const LaunchPlan& plan) {
  const auto marked = [](const std::string& text) {
    return text.find(stage_mark) != std::string::npos;
  };
  return std::any_of(plan.start.program.begin(), plan.start.program.end(), marked) ||
         marked(plan.train_json) ||
         std::any_of(plan.environment.begin(), plan.environment.end(),
                     [&](const auto& variable) { return marked(variable.second); });
}

/// Warns about what only a generated script does.
void warn_of_the_rest(const Job& job, const std::string& where, LaunchPlan& plan) {
  const auto warn = [&plan](std::string text) { plan.warnings.push_back(std::move(text)); };
  if (std::any_of(job.stage.begin(), job.stage.end(), [](const auto& w) { return !is_word(w); }))
    warn(fmt::format("stage: nothing is copied on {}: {}/NAME is read from where it lies", where,
                     stage_mark));
  if (still_marked(plan))
    warn(
        fmt::format("{} is left in the command: unpack the archive in a folder that all nodes "
                    "share, and write that path",
                    stage_mark));
  if (job.array) warn("array: these lines start one task");
  if (!job.after.empty()) warn("after: has no effect there: nothing waits for those jobs");
  const auto& container = job.environment.container;
  if (container && container->image.find("://") != std::string::npos)
    warn("environment.container.image is an address: fetch it to a file first, or every rank does");
  if (tells_ranks_nothing(plan))
    warn(
        fmt::format("{} tells a program only its rank (ALPS_APP_PE): no RANK, WORLD_SIZE "
                    "or MASTER_ADDR is set, so the program has to ask MPI",
                    plan.start.starter));
}

}  // namespace

Job for_external_scheduler(Job job) {
  job.array.reset();
  for (const auto& source : job.stage) {
    if (is_word(source) || archive_kind(source) != ArchiveKind::none) continue;
    const auto name = staged_name(source);
    // bash parses a `run:` string: a path that needs quotes would break it.
    const bool script = shell_text_at(job.run_command) < job.run_command.size();
    for (auto& word : job.run_command)
      if (!script || shell_quote(source) == source) word = with_source(word, name, source);
    for (auto& [variable, value] : job.environment.variables)
      value = with_source(value, name, source);
    change_texts(job.train,
                 [&](const std::string& text) { return with_source(text, name, source); });
  }
  job.stage = {"no-programs"};
  return job;
}

void start_elsewhere(const Job& job, const ClusterProfile& profile, LaunchPlan& plan) {
  const auto scheduler = scheduler_of(profile);
  plan.scheduler = scheduler.name;
  plan.start.options = start_argv(profile.start, plan);
  plan.start.starter = take_first(plan.start.options);
  plan.start.shim = tells_ranks_nothing(plan) ? Texts() : shim(plan);
  plan.before = lines_before(plan, scheduler);
  plan.sbatch.clear();
  plan.sbatch_extra.clear();
  leave_out_spare_nodes(scheduler.name + " is not asked for spare nodes", plan);
  plan.warnings.push_back(fmt::format(
      "{} is run by {}: put these lines into the script of a job that you submit, which sets "
      "nodes, time and account; nothing requeues it or warns it before its end",
      profile.name, plan.scheduler));
  warn_of_the_rest(job, profile.name, plan);
}

}  // namespace dllaunch
