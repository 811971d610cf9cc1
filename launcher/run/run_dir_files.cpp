#include "launcher/run/run_dir_files.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <string>

#include <fmt/core.h>

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view run_command = "dllaunch run";
constexpr std::string_view command_or_script = "dllaunch run, the batch script";
constexpr std::string_view trainer = "dltrain";
constexpr std::string_view supervisor = "dllaunch supervise";

constexpr RunDirFile file_table[] = {
    {"job.yaml", "the job file with all defaults", run_command, Keep::to_continue},
    {"plan.json", "what was planned: nodes, ranks, binding; marks the folder as a run",
     command_or_script, Keep::to_continue},
    {"train.json", "the settings of dltrain, with train:", command_or_script, Keep::to_continue},
    {"job.sbatch", "the batch script, on Slurm", run_command, Keep::to_continue},
    {"checkpoints/",
     "step-NNNNNNNN/, each complete; best: a link to the best one. Of the steps, the newest is "
     "enough",
     trainer, Keep::to_continue},
    {"choices.json", "what dltrain chose for `batch_size: auto` and `lr: auto`", trainer,
     Keep::to_continue},
    {"integrity.json",
     "steps that are computed again to find whose numbers were wrong (runtime.integrity)", trainer,
     Keep::to_continue},
    {"events.jsonl", "how the training goes (`dllaunch help events`)",
     "dltrain, dllaunch supervise", Keep::to_continue},
    {"supervisor.jsonl", "starts, ends and decisions (`dllaunch help events`)", supervisor,
     Keep::to_continue},
    {"finished.job", "the Slurm job in which the run ended for good", supervisor,
     Keep::to_continue},
    {"rank-hosts", "where ranks follow the network: a line for each rank, its host", supervisor,
     Keep::to_continue},
    {"job.id", "the number of the latest Slurm job", command_or_script, Keep::to_continue},
    {".job.id", "job.id, until it is written", "the batch script", Keep::while_it_runs},
    {"job.json", "when and on which cluster that job was submitted", run_command,
     Keep::to_continue},
    {"job.intent", "a submission that is not confirmed yet", run_command, Keep::to_continue},
    {".run-id", "tells this run from another in the same place", run_command, Keep::to_continue},
    {".lease/", "one name per start of the run: the highest may write",
     "dllaunch run, supervise, lease", Keep::to_continue},
    {".retry/",
     "per hold a bell, and once it has ended a name with what `dllaunch retry` asked for",
     "dllaunch retry, supervise", Keep::to_continue},
    {".share", "marks a run that its group may read, with `share: group`", command_or_script,
     Keep::to_continue},
    {"task-*/", "a directory like this one for each task of a job array", "the batch script",
     Keep::to_continue},
    {"components/", "a directory like this one for each component; without Slurm its job file too",
     command_or_script, Keep::to_continue},
    {"component.sh", "of a component on Slurm: what starts its ranks", command_or_script,
     Keep::to_continue},

    {"provenance.json", "each submission: git revision, versions, variables without secrets, seeds",
     run_command, Keep::to_look_back},
    {"job.given.yaml", "the job file as it was written", run_command, Keep::to_look_back},
    {"estimate.json", "when the run was expected to start, with --soonest", run_command,
     Keep::to_look_back},
    {"code.diff", "what differed from the git revision, with `reproducibility: {diff: true}`",
     run_command, Keep::to_look_back},
    {"summary.json", "how the run ended", "dllaunch run, status and others", Keep::to_look_back},
    {"summary.before.json", "the summary of the submission before, with the costs until then",
     run_command, Keep::to_look_back},
    {"memory.csv", "the most memory of each rank, where dllaunch started it itself",
     "dllaunch spawn", Keep::to_look_back},
    {"out/", "the ranks' output, a file per rank or per node", "dllaunch exec", Keep::to_look_back},
    {"ranks/", "a file per node: when each of its ranks began, and how it ended", "dllaunch exec",
     Keep::to_look_back},
    {"slurm-*.out", "the output of the batch script", "Slurm", Keep::to_look_back},
    {"dllaunch.log", "the output of `dllaunch run --detach` without Slurm", run_command,
     Keep::to_look_back},
    {"watcher.log", "the output of the process that watches the script, with spare nodes",
     supervisor, Keep::to_look_back},
    {"timeline/", "a file per rank, with `runtime.timeline` or SIGUSR1", trainer,
     Keep::to_look_back},

    {"autopsy/", "the stacks of all ranks, when some hung: by time; python/ makes Python answer",
     "dllaunch run, supervise", Keep::to_look_back},

    {"timeline.json", "the timelines of all ranks as one trace", "dllaunch report",
     Keep::while_it_runs},
    {"metrics.csv", "a row per epoch", trainer, Keep::while_it_runs},
    {"ranks.csv", "a row per epoch and rank: where its time went", trainer, Keep::while_it_runs},
    {"report.html", "the run as a page", "dllaunch report --html", Keep::while_it_runs},
    {"classes.csv", "the last validation, class by class", trainer, Keep::while_it_runs},
    {"confusion.csv", "the last validation, true against predicted classes", trainer,
     Keep::while_it_runs},
    {"tensorboard/", "curves", trainer, Keep::while_it_runs},
    {"metrics.csv.*", "an earlier one with other columns, set aside", trainer, Keep::while_it_runs},
    {"checkpoints.*/", "those of an earlier training, set aside by `train.resume: none`", trainer,
     Keep::while_it_runs},
    {"image.s*", "the container image, fetched once", "the batch script", Keep::while_it_runs},
    {"shim/", "a copy of dllaunch for containers of Pyxis", "the batch script",
     Keep::while_it_runs},
    {".lock", "held while dllaunch follows or executes the run", run_command, Keep::while_it_runs},
    {".heartbeat", "touched by a command of run: to show that it is alive (DLLAUNCH_HEARTBEAT)",
     "your program", Keep::while_it_runs},
    {".rendezvous/", "where ranks meet, and a secret for each start", "dllaunch exec",
     Keep::while_it_runs},
    {".dllaunch-preflight-*", "a write test, removed at once", "checks of the nodes",
     Keep::while_it_runs},
    {".*.tmp", "a file being written, which then gets its name", "all of them",
     Keep::while_it_runs},
};

}  // namespace

std::span<const RunDirFile> run_dir_files() {
  return file_table;
}

std::uint64_t own_files(const RunDir& run) {
  constexpr int most = 2000;  // of a program that keeps its data there
  constexpr int deepest = 3;
  std::uint64_t all = 0;
  int seen = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(run.path, error), end; !error && at != end;
       at.increment(error)) {
    const auto name = at->path().filename().string();
    const auto* const ours = at.depth() == 0 ? run_dir_file(name) : nullptr;
    if ((ours != nullptr && ours->name != "checkpoints/") || at.depth() == deepest)
      at.disable_recursion_pending();
    if (ours != nullptr) continue;
    if (++seen > most) break;
    std::error_code gone;
    const auto size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
    const auto time = at->last_write_time(gone).time_since_epoch().count();
    // A sum: folders have no order.
    all += std::hash<std::string>()(fmt::format("{} {} {}", at->path().string(), size, time));
  }
  return all;
}

namespace {

/// "a pipe"; empty: a file, or a folder where there may be one. Costs no stat() but for links.
std::string_view odd_kind(const fs::directory_entry& entry, bool folder, bool may_be_link) {
  std::error_code gone;
  const auto kind = entry.symlink_status(gone).type();
  const auto behind = kind == fs::file_type::symlink ? entry.status(gone).type() : kind;
  switch (behind) {
    case fs::file_type::regular:
      if (folder) return "a file, not a folder";
      return kind == behind || may_be_link ? "" : "a link";
    case fs::file_type::directory:
      if (!folder) return "a folder, not a file";
      return kind == behind || may_be_link ? "" : "a link";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::not_found:
      return kind == behind ? "" : "a link to nothing";
    case fs::file_type::none:
      return "";
    default:
      return "a device or a socket";
  }
}

}  // namespace

std::vector<std::string> odd_files(const RunDir& run) {
  constexpr std::size_t most = 5;
  constexpr std::array<std::string_view, 7> never_behind_links = {
      "events.jsonl", "supervisor.jsonl", "choices.json", "integrity.json", ".run-id",
      ".lock",        "autopsy/"};
  constexpr std::array<std::string_view, 4> read_within = {"out/", "ranks/", "autopsy/",
                                                           "timeline/"};
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(run.path, error), end;
       !error && at != end && found.size() < most; at.increment(error)) {
    const auto name = at->path().filename().string();
    const bool within = at.depth() > 0;
    const auto* const row = within ? nullptr : run_dir_file(name);
    if (within || row == nullptr || std::ranges::find(read_within, row->name) == read_within.end())
      at.disable_recursion_pending();
    if (!within && row == nullptr) continue;
    std::error_code gone;
    const bool folder = within ? at->is_directory(gone) : row->name.ends_with('/');
    const bool may_be_link = within ? at->path().parent_path().filename() == "timeline" || folder
                                    : std::ranges::count(never_behind_links, row->name) == 0;
    const auto kind = odd_kind(*at, folder, may_be_link);
    if (!kind.empty())
      found.push_back(
          fmt::format("{} is {}", at->path().lexically_relative(run.path).string(), kind));
  }
  std::ranges::sort(found);
  return found;
}

const RunDirFile* run_dir_file(std::string_view name) {
  const std::string text(name);
  const auto* const found = std::ranges::find_if(file_table, [&](const RunDirFile& file) {
    std::string pattern(file.name);
    if (pattern.ends_with('/')) pattern.pop_back();
    return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
  });
  return found == std::end(file_table) ? nullptr : found;
}

}  // namespace dllaunch
