#include "launcher/doctor/gather.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "launcher/os/own_executable.hpp"
#include "launcher/slurm/srun_env_options.hpp"

namespace dllaunch {
namespace {

std::vector<std::string> command(const std::string& dllaunch, const Allocation& allocation,
                                 std::chrono::seconds limit, bool bench) {
  std::vector<std::string> argv = {"env"};
  for (const auto& inherited : srun_env_options()) {
    argv.emplace_back("-u");
    argv.emplace_back(inherited.variable);
  }
  const auto nodes = allocation.hosts.size();
  // On TERM, srun forwards the output so far; it is killed if it does not exit.
  argv.insert(argv.end(), {"timeout",
                           "--kill-after=5",
                           std::to_string(limit.count()),
                           "srun",
                           "--jobid=" + allocation.job_id,
                           "--overlap",
                           fmt::format("--nodes={}", nodes),
                           fmt::format("--ntasks={}", nodes),
                           "--ntasks-per-node=1",
                           "--cpu-bind=none",
                           "--mem-bind=none",
                           "--mem=0",
                           "--mpi=none",
                           "--input=none",
                           "--job-name=dllaunch-doctor",
                           "--kill-on-bad-exit=0",
                           "--quiet",
                           dllaunch,
                           "doctor",
                           "--node",
                           allocation.job_id});
  if (bench) argv.emplace_back("--bench");
  return argv;
}

/// Drops nodes without ranks if others have some.
void drop_idle_rows(Report& report) {
  const auto is_rank = [](const RankRow& row) { return row.rank >= 0; };
  if (std::any_of(report.ranks.begin(), report.ranks.end(), is_rank))
    std::erase_if(report.ranks, [&](const RankRow& row) { return !is_rank(row); });
  std::stable_sort(report.ranks.begin(), report.ranks.end(),
                   [](const RankRow& a, const RankRow& b) {
                     return a.job != b.job ? a.job < b.job : a.rank < b.rank;
                   });
}

}  // namespace

Result<Report> examine_allocation(System& system, const Allocation& allocation, bool bench) {
  const auto program = own_executable();
  if (!program) return program.error();
  const auto nodes = static_cast<int>(allocation.hosts.size());
  const std::chrono::seconds limit(30 + nodes / 10 + (bench ? 60 : 0));
  const std::chrono::seconds grace(15);
  const auto output = system.run(command(*program, allocation, limit, bench), limit + grace);
  if (!output) return output.error();

  Report all;
  const auto answers = read_answers(output->out);
  const auto silence = fmt::format("no answer within {} s", limit.count());
  for (const auto& host : allocation.hosts) {
    const auto answer = answers.find(host);
    auto report = answer == answers.end() ? Result<Report>(Error{.what = ""})
                                          : report_from_json(answer->second);
    if (report)
      merge(all, *std::move(report));
    else
      all.unanswered.emplace_back(host, report.error().what.empty()
                                            ? why_silent(host, output->err, silence)
                                            : report.error().what);
  }
  if (all.hosts.empty())
    return Error{ErrorKind::unavailable,
                 fmt::format("no node of job {} answered: {}", allocation.job_id,
                             why_silent("", output->err, silence)),
                 "dllaunch must have the same path on all nodes; --pid examines one process"};
  drop_idle_rows(all);
  return all;
}

}  // namespace dllaunch
