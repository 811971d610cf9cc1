#include "launcher/doctor/gather.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "launcher/os/own_executable.hpp"

namespace dllaunch {
namespace {

/// Drops nodes without ranks if others have some.
void drop_idle_rows(Report& report) {
  const auto is_rank = [](const RankRow& row) { return row.rank >= 0; };
  if (std::ranges::any_of(report.ranks, is_rank))
    std::erase_if(report.ranks, [&](const RankRow& row) { return !is_rank(row); });
  std::ranges::stable_sort(report.ranks, [](const RankRow& a, const RankRow& b) {
    return a.job != b.job ? a.job < b.job : a.rank < b.rank;
  });
}

}  // namespace

Result<Report> examine_allocation(System& system, const Allocation& allocation, bool bench) {
  const auto program = own_executable();
  if (!program) return program.error();
  const auto nodes = allocation.hosts.size();
  const std::chrono::seconds limit(30 + nodes / 10 + (bench ? 60 : 0));
  const std::chrono::seconds grace(15);
  std::vector<std::string> command = {*program, "doctor", "--node", allocation.job_id};
  if (bench) command.emplace_back("--bench");
  const auto survey = survey_nodes(system, allocation.hosts,
                                   {.job = allocation.job_id,
                                    .count = nodes,
                                    .name = "dllaunch-doctor",
                                    .limit = limit,
                                    .grace = std::chrono::seconds(5)},
                                   command, std::chrono::seconds(15));
  if (!survey) return survey.error();

  Report all;
  for (const auto& [host, document] : survey->answers) {
    auto report = document ? report_from_json(*document) : Result<Report>(document.error());
    if (report)
      merge(all, *std::move(report));
    else
      all.unanswered.emplace_back(host, report.error().what);
  }
  if (all.hosts.empty())
    return Error{
        ErrorKind::unavailable,
        fmt::format("no node of job {} answered: {}", allocation.job_id, survey->complaint),
        "dllaunch must have the same path on all nodes; --pid examines one process"};
  drop_idle_rows(all);
  return all;
}

}  // namespace dllaunch
