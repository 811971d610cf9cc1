// What every process of a run is doing, merged, and which rank holds up the others.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/core.h>

#include "launcher/autopsy/gather_stacks.hpp"
#include "launcher/autopsy/stored_stacks.hpp"
#include "launcher/base/shell_quote.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/monitor/find_run.hpp"
#include "launcher/monitor/observe_runs.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/rank_records.hpp"
#include "launcher/slurm/client.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/node_survey.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view stacks_examples =
    R"(  dllaunch stacks resnet50          where the ranks of a run are, and who is late
  dllaunch stacks 4711 --watch      again and again, until it ends
  dllaunch stacks runs/x --json     for programs
)";

struct StacksArguments {
  std::string run;
  bool watch = false;
  bool json = false;
  std::string node;        // a run's directory; set by gather_stacks() on each node
  int most_frames = 1000;  // likewise
  // Set by the supervisor.
  std::string keep;  // what for
  std::string why;   // the same in words
  std::string job;
  std::string hosts;
  std::string group;
};

Error not_running(const RunState& run_state) {
  return {ErrorKind::bad_request,
          fmt::format("{} has no ranks: it is {}", run_state.run.dir.path, run_state.state),
          "`dllaunch ps` lists the runs that are under way"};
}

Result<RunningRanks> ranks_of_run(System& system, const RunState& run_state) {
  const auto& run = run_state.run;
  if (!run.plan.components.empty())
    return Error{ErrorKind::bad_request, "this run has several components",
                 "dllaunch stacks " +
                     shell_quote(component_dir(run.dir.path, run.plan.components.front().name))};
  if (is_over(run_state) || run_state.state == "pending") return not_running(run_state);
  RunningRanks ranks{.run_dir = run.dir.path};
  if (run_state.jobs.empty()) {
    const auto& owner = run_state.owner;
    if (owner && !owner->host.empty() && owner->host != system.host_name())
      return Error{ErrorKind::bad_request, "the run is on " + owner->host, "call dllaunch there"};
    return ranks;
  }
  auto hosts = expand_hosts(run_state.where);
  if (!hosts) return std::move(hosts).error();
  if (hosts->empty()) return not_running(run_state);
  if (auto own = check_own_job(system, run.plan, run.dir, run.job_id); !own)
    return std::move(own).error();
  ranks.job = run_state.jobs.front().id;
  ranks.hosts = *std::move(hosts);
  return ranks;
}

/// Of ranks that have begun and not ended, and of which no process was found, a line each for whose
/// they are. Where a node's processes were left out, none is missed.
std::vector<std::string> words_of_unseen(const RunDir& run, const StackReport& report) {
  if (!report.unanswered.empty()) return {};
  IdSet seen;
  for (const StackGroup& group : report.groups) seen |= group.ranks;
  const auto left_out = [&report](const std::string& host) {
    return std::ranges::any_of(report.nodes, [&host](const NodeStacks& node) {
      return node.host == host && node.left_out > 0;
    });
  };
  std::map<std::string, IdSet> unseen;  // by whose they are
  for (const auto& [rank, life] : ranks_of_start(run, 0, unix_seconds()).lives) {
    if (life.ended_s > 0 || seen.contains(rank) || left_out(life.host)) continue;
    unseen[life.user == geteuid() ? "" : user_name(life.user)].insert(rank);
  }
  std::vector<std::string> lines;
  for (const auto& [user, ranks] : unseen)
    lines.push_back(fmt::format(
        "[{}] begun and not ended, but not to be read: {}", to_list(ranks),
        user.empty() ? "/proc shows no such process (hidepid, another container), unless it was "
                       "killed together with its shim"
                     : "owned by " + user));
  return lines;
}

std::string shown(const StackReport& report, const std::vector<std::string>& unseen) {
  if (report.groups.empty() && report.unanswered.empty() && unseen.empty())
    return "no rank runs yet\n";
  std::string text = render_stacks(report);
  for (const auto& line : unseen) text += line + "\n";
  return text;
}

/// Returns nullopt when the run is over.
Result<std::optional<StackReport>> look(System& system, const std::string& path, bool first) {
  auto run_state = observe_end(system, path);
  if (!run_state) return std::move(run_state).error();
  if (!first && is_over(*run_state)) return std::optional<StackReport>();
  const auto ranks = ranks_of_run(system, *run_state);
  if (!ranks) return ranks.error();
  auto report = gather_stacks(system, *ranks);
  if (!report) return std::move(report).error();
  return std::optional(*std::move(report));
}

/// Looks at the ranks as the supervisor knows them, without asking Slurm's controller.
Result<int> keep(const StacksArguments& options, System& system) {
  const auto* const named = std::ranges::find(stacks_kind_names, options.keep);
  if (named == std::end(stacks_kind_names))
    return Error{ErrorKind::bad_request, "stacks are not kept for " + options.keep, ""};
  const auto kind = static_cast<StacksKind>(named - std::begin(stacks_kind_names));
  RunningRanks ranks{.run_dir = options.run, .job = options.job, .group = options.group};
  auto hosts = expand_hosts(options.hosts);
  if (!hosts) return std::move(hosts).error();
  ranks.hosts = *std::move(hosts);
  const auto report = gather_stacks(system, ranks);
  if (!report) return report.error();
  // Of ranks that may be well.
  const bool only_standstill = kind == StacksKind::start || kind == StacksKind::silence;
  if (report->groups.empty() || (only_standstill && !is_standstill(*report)))
    return exit_code::success;
  const auto kept = keep_stacks(options.run, *report, kind, options.why, unix_seconds());
  if (!kept) return kept.error();
  return exit_code::success;
}

Result<int> show_stacks(const StacksArguments& options, System& system) {
  if (!options.keep.empty()) return keep(options, system);
  if (!options.node.empty()) {
    const auto node = stacks_here(system, options.node, options.most_frames);
    system.print(answer_lines(node.host, write_fields(node)));
    return exit_code::success;
  }
  const auto path = find_run_to_read(system, options.run);
  if (!path) return path.error();
  for (bool first = true;; first = false) {
    auto report = look(system, *path, first);
    if (!report) return std::move(report).error();
    if (!*report) return exit_code::success;
    // A rank that has ended has no stack, and the others may wait for it.
    const auto left = words_of_who_left(RunDir{.path = *path});
    const auto unseen = words_of_unseen(RunDir{.path = *path}, **report);
    auto document = options.json ? to_json(**report) : Json();
    if (options.json && !unseen.empty()) document["unseen"] = unseen;
    if (options.json && !left.empty()) document["ended"] = left;
    system.print(options.json ? json_text(document)
                              : (first ? "" : "\n") + shown(**report, unseen) +
                                    (left.empty() ? "" : left + "\n"));
    if (!options.watch) return exit_code::success;
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::seconds(10));
  }
}

CommandBody declare_stacks(CommandOptions& app) {
  auto options = std::make_shared<StacksArguments>();
  app.add_option("RUN", options->run, "a run's directory, a name, a job id [the newest run]");
  auto* json = app.add_flag("--json", options->json, "one JSON document");
  app.add_flag("-w,--watch", options->watch, "again every 10 s, until the run ends")
      ->excludes(json);
  app.add_option("--node", options->node)->group("");                // hidden
  app.add_option("--most-frames", options->most_frames)->group("");  // hidden
  app.add_option("--keep", options->keep)->group("");                // hidden
  app.add_option("--why", options->why)->group("");                  // hidden
  app.add_option("--job", options->job)->group("");                  // hidden
  app.add_option("--hosts", options->hosts)->group("");              // hidden
  app.add_option("--group", options->group)->group("");              // hidden
  return [options](System& system) { return show_stacks(*options, system); };
}

}  // namespace

extern const Command stacks_command;
const Command stacks_command{"stacks", "where each rank is, and who holds up the others",
                             stacks_examples, declare_stacks, /*pages=*/true};

}  // namespace dllaunch
