#include "launcher/supervise/allocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace dllaunch {
namespace {

constexpr std::chrono::seconds query_limit(20);

std::optional<std::int64_t> number_in(const std::optional<std::string>& text) {
  std::int64_t number = 0;
  if (!text || text->empty()) return std::nullopt;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc{} || stop != end || number < 0) return std::nullopt;
  return number;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

JobAllocation read_allocation(World& world) {
  JobAllocation allocation;
  allocation.job = world.environment("SLURM_JOB_ID").value_or("");
  if (allocation.job.empty()) return allocation;
  allocation.restarts =
      static_cast<int>(number_in(world.environment("SLURM_RESTART_COUNT")).value_or(0));
  allocation.nodes = world.environment("SLURM_JOB_NODELIST").value_or("");
  if (const auto end = number_in(world.environment("SLURM_JOB_END_TIME"))) {
    allocation.end_s = static_cast<double>(*end);
  } else if (const auto record = ask_of_job(world, allocation.job)) {
    allocation.end_s = end_of(*record);
  }
  return allocation;
}

std::optional<SlurmJob> ask_of_job(World& world, const std::string& job) {
  const auto output = world.run({"scontrol", "show", "job", job}, query_limit);
  if (!output || output->exit_code != 0) return std::nullopt;
  auto jobs = parse_slurm_jobs(output->out);
  if (jobs.empty()) return std::nullopt;
  return std::move(jobs.front());
}

std::optional<double> end_of(const SlurmJob& job) {
  const auto end = parse_slurm_time(job.end);
  if (!end) return std::nullopt;
  return static_cast<double>(*end);
}

std::optional<double> queue_seconds(const SlurmJob& job, double since_s) {
  const auto start = parse_slurm_time(job.start);
  const auto submit = parse_slurm_time(job.submit);
  if (!start || !submit) return std::nullopt;
  return std::max(0.0,
                  static_cast<double>(*start) - std::max(static_cast<double>(*submit), since_s));
}

Result<Ok> requeue(World& world, const JobAllocation& allocation) {
  const auto record = ask_of_job(world, allocation.job);
  if (record && record->restarts != allocation.restarts)
    return Error{ErrorKind::bad_request,
                 fmt::format("job {} runs again already: this is an older copy", allocation.job),
                 ""};
  const auto output = world.run({"scontrol", "requeue", allocation.job}, query_limit);
  if (!output) return output.error();
  if (output->exit_code == 0) return Ok{};
  const auto& words = output->err.empty() ? output->out : output->err;
  return Error{ErrorKind::unavailable,
               fmt::format("scontrol requeue {}: {}", allocation.job, first_line(words)), ""};
}

std::string node_out_of_order(World& world, const JobAllocation& allocation) {
  if (allocation.nodes.empty()) return "";
  const auto output = world.run({"scontrol", "show", "node", allocation.nodes}, query_limit);
  if (!output || output->exit_code != 0) return "";
  for (const auto& node : parse_slurm_nodes(output->out)) {
    // Drained nodes run what they have to its end.
    const bool gone = node.state.find("DOWN") != std::string::npos ||
                      node.state.find("NOT_RESPONDING") != std::string::npos ||
                      node.state.find('*') != std::string::npos;
    if (gone) return node.name;
  }
  return "";
}

}  // namespace dllaunch
