#include "launcher/accounting/read_books.hpp"

#include <algorithm>
#include <utility>

#include "launcher/accounting/allocated_time.hpp"
#include "launcher/accounting/books.hpp"
#include "launcher/accounting/rank_memory.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_bytes = std::size_t{4} << 20;

/// As for goodput, the longest of what is known: each may have missed something.
double seconds_of(const RunOutline& plan, const RunDir& dir, double known_s,
                  const History& history) {
  const auto journal_of = [&](const std::string& path) {
    return allocated_seconds(file_end(path + "/supervisor.jsonl", most_bytes),
                             began_at_s(dir, plan.launcher));
  };
  double journal = journal_of(dir.path);
  for (const auto& component : plan.components)
    journal = std::max(journal, journal_of(component_dir(dir.path, component.name)));
  const double most_seconds = seconds_since_began(dir, plan.launcher);
  return std::max(known_s, std::min(std::max(journal, history.span_seconds()), most_seconds));
}

/// Nodes that an elastic run had on average; nullopt: as many as planned.
std::optional<double> nodes_of(const RunOutline& plan, const RunDir& dir,
                               std::optional<double> seconds) {
  if (!plan.recovery.elastic() || !seconds) return std::nullopt;
  return mean_nodes(file_end(dir.path + "/supervisor.jsonl", most_bytes),
                    began_at_s(dir, plan.launcher), plan.nodes + plan.recovery.spare_nodes,
                    *seconds);
}

}  // namespace

double nodes_held(const RunOutline& plan, const RunDir& dir, double seconds) {
  return nodes_of(plan, dir, seconds).value_or(plan.nodes + plan.recovery.spare_nodes);
}

std::optional<double> wasted_seconds(const History& history, int restarts) {
  if (restarts == 0) return 0;
  if (history.restart_count() == 0) return std::nullopt;
  // The last start reached no step: how long nothing was trained is not known.
  if (history.is_down()) return std::nullopt;
  return history.lost_seconds() + history.interrupted_seconds();
}

Books hours_so_far(const RunOutline& plan, const RunDir& dir, double seconds,
                   const History& history) {
  RunReadings readings;
  // Of an array, not all tasks run at a time.
  if (!plan.array) readings.seconds = seconds_of(plan, dir, seconds, history);
  if (readings.seconds == 0.0) readings.seconds.reset();
  readings.nodes = nodes_of(plan, dir, readings.seconds);
  return books_of(readings, plan);
}

Books read_books(System& system, const RunOutline& plan, const RunDir& dir, const Outcome& outcome,
                 const Summary& summary, const History& history) {
  const double began_s = began_at_s(dir, plan.launcher);
  RunReadings readings{
      .seconds =
          plan.array ? outcome.task_seconds : seconds_of(plan, dir, outcome.seconds, history),
      .wasted_seconds = wasted_seconds(history, summary.restarts),
      .events = read_event_readings(dir.events(), began_s),
      .kernel_peaks = peaks_in(file_end(memory_file(dir.path), most_bytes), began_s),
      .peak_process_bytes = outcome.peak_process_bytes,
      .cpu_joules = outcome.cpu_joules};
  // Neither events nor Slurm tell how long it ran: as of a `run:` whose dllaunch was killed.
  if (readings.seconds == 0.0 && !outcome.queue_seconds) readings.seconds.reset();
  if (!plan.array) readings.nodes = nodes_of(plan, dir, readings.seconds);
  const auto held = held_time(file_end(dir.path + "/supervisor.jsonl", most_bytes), began_s);
  readings.held_seconds = held.all;
  // Events tell of what a start followed.
  if (readings.wasted_seconds) *readings.wasted_seconds += held.in_vain;
  // Restarts of an array's tasks are in their own directories.
  if (plan.array) readings.wasted_seconds.reset();
  if (plan.launcher == Launcher::slurm) {
    const auto id = system.read_file(dir.job_id());
    const auto job = id ? job_id_in(*id) : std::nullopt;
    if (job) readings.slurm = usage_of_job(system, *job);
  }
  return books_of(readings, plan);
}

}  // namespace dllaunch
