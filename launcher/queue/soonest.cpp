#include "launcher/queue/soonest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/job/expand_tilde.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/plan/divide_gpus.hpp"
#include "launcher/plan/node_selection.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/option_overrides.hpp"
#include "launcher/slurm/pending_reasons.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "launcher/slurm/slurm_time.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// What is found out once, for all shapes.
struct Ground {
  std::string text = {};  // of the job file
  Facts facts = {};
  Paths paths = {};
  SbatchVariables variables = {};
};

/// The time that all calls share.
class Budget {
 public:
  milliseconds left() const {
    const auto spent = std::chrono::duration_cast<milliseconds>(Clock::now() - began_);
    return std::max(whole - spent, milliseconds(0));
  }
  double spent_s() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

 private:
  static constexpr milliseconds whole{static_cast<int>(most_test_seconds * 1000)};
  Clock::time_point began_ = Clock::now();
};
constexpr milliseconds longest_test(2000);

struct Shaped {
  Job job;  // as Slurm would get it
  LaunchPlan plan;
};

Result<Shaped> plan_shape(Job job, const Ground& ground) {
  auto divided = divide_gpus(std::move(job), ground.facts, ground.variables, false);
  if (!divided) return std::move(divided).error();
  auto effective = effective_job(*divided, ground.facts, ground.variables, false);
  auto plan = plan_effective(effective, ground.facts, ground.paths, ground.variables, false);
  if (!plan) return std::move(plan).error();
  return Shaped{std::move(effective), *std::move(plan)};
}

/// nullopt: it cannot be planned, or a variable of sbatch overrides what it changes.
std::optional<LaunchPlan> plan_of(const Shape& shape, const SoonestRequest& request,
                                  const Ground& ground, System& system) {
  auto sets = request.sets;
  sets.insert(sets.end(), shape.sets.begin(), shape.sets.end());
  auto parsed = parse_job(ground.text, request.job_file, sets);
  if (!parsed.job) return std::nullopt;
  const auto home = system.environment("HOME").value_or("");
  auto job = home.empty() ? *std::move(parsed.job) : expand_tilde(*std::move(parsed.job), home);
  auto shaped = plan_shape(std::move(job), ground);
  if (!shaped) return std::nullopt;
  const bool other_place =
      !shape.as_written() && !shape.partition.empty() &&
      shaped->job.resources.partition.value_or(shape.partition) != shape.partition;
  if (other_place || shaped->plan.nodes != shape.nodes ||
      shaped->plan.ranks_per_node != shape.ranks_per_node)
    return std::nullopt;
  const auto& time = shaped->job.resources.time;
  if (time && parse_slurm_minutes(*time) != shape.limit_minutes) return std::nullopt;
  return std::move(shaped->plan);
}

std::vector<std::string> options_of(const LaunchPlan& plan) {
  std::vector<std::string> options;
  for (const auto& option : plan.sbatch) options.push_back(option_word(option));
  options.insert(options.end(), plan.sbatch_extra.begin(), plan.sbatch_extra.end());
  return options;
}

Result<Ground> look_around(System& system, const SoonestRequest& request, const Job& job) {
  if (job.array)
    return Error{ErrorKind::bad_request, "a job array starts task by task, not at one moment",
                 "remove array: to ask for one task"};
  Ground ground;
  auto text = system.read_file(request.job_file);
  if (!text) return std::move(text).error();
  ground.text = *std::move(text);
  auto facts = find_facts(system, {.job = request.job_file}, job.cluster, job.resources.partition);
  if (!facts) return std::move(facts).error();
  ground.facts = *std::move(facts);
  if (!ground.facts.slurm)
    return Error{ErrorKind::unavailable,
                 fmt::format("there is no queue here ({})", ground.facts.why_no_slurm),
                 "dllaunch run starts the job on this machine at once; with another scheduler ask "
                 "its own command, such as showstart of PBS"};
  auto paths = program_paths(new_run_path(job.name));
  if (!paths) return std::move(paths).error();
  ground.paths = *std::move(paths);
  ground.variables = variables_that_count(system, ground.facts, {});
  if (!ground.facts.from_profile) observe_user(system, *ground.facts.slurm);
  return ground;
}

/// Free nodes, by the partition that a shape names.
class Gaps {
 public:
  Gaps(const Job& job, const Ground& ground, bool gpus, double now_s)
      : job_(job), slurm_(*ground.facts.slurm), gpus_(gpus), now_s_(now_s) {}

  void take(QueueView queue) { queue_ = std::move(queue); }
  /// Null: not known.
  const NodeForecast* of(const Shape& shape) {
    if (!queue_) return nullptr;
    const auto known = std::ranges::find(pools_, shape.partition, &Pool::partition);
    if (known != pools_.end()) return known->forecast.get();
    auto one = job_;
    one.resources.nodes = 1;
    one.resources.time.reset();
    if (!shape.partition.empty()) one.resources.partition = shape.partition;
    const auto nodes = select_nodes(one, slurm_, gpus_);
    Pool pool{.partition = shape.partition};
    if (nodes)
      pool.forecast = std::make_unique<NodeForecast>(
          forecast_nodes(*queue_, slurm_, nodes->hosts, nodes->partition, now_s_));
    pools_.push_back(std::move(pool));
    return pools_.back().forecast.get();
  }

 private:
  struct Pool {
    std::string partition = {};
    std::unique_ptr<NodeForecast> forecast = {};
  };
  const Job& job_;
  const SlurmFacts& slurm_;
  bool gpus_;
  double now_s_;
  std::optional<QueueView> queue_ = {};
  std::vector<Pool> pools_ = {};
};

/// The job as written first, then what promises the earliest finish: with gaps as the queue shows
/// them, else as if all started at once.
void sort_by_promise(std::vector<Shape>& shapes, Gaps& gaps, double now_s) {
  std::vector<Forecast> promised;
  for (const Shape& shape : shapes) {
    const NodeForecast* nodes = gaps.of(shape);
    if (auto one = forecast(shape, nodes ? std::nullopt : std::optional(now_s), nodes, now_s))
      promised.push_back(*std::move(one));
  }
  rank_by_finish(promised, now_s);
  std::ranges::stable_partition(promised,
                                [](const Forecast& one) { return one.shape.as_written(); });
  shapes.clear();
  for (auto& one : promised) shapes.push_back(std::move(one.shape));
}

/// Adds the forecast of what Slurm accepts. bad_request: sbatch rejects an option of the job.
Result<Ok> ask_slurm(System& system, const SoonestRequest& request, const Ground& ground,
                     std::vector<Shape> shapes, Gaps& gaps, const Budget& budget, Soonest& found) {
  for (const Shape& shape : shapes) {
    if (found.tests >= most_tests || budget.left() < milliseconds(50)) {
      ++found.left_out;
      continue;
    }
    const auto plan = plan_of(shape, request, ground, system);
    if (!plan) continue;
    ++found.tests;
    const auto tested =
        test_submission(system, options_of(*plan), std::min(budget.left(), longest_test));
    const bool silent = tested.refusal && tested.refusal->kind == ErrorKind::timeout;
    found.silent += silent ? 1 : 0;
    if (tested.refusal && !silent) {
      if (shape.as_written() && tested.refusal->kind == ErrorKind::bad_request)
        return *tested.refusal;
      found.refused.push_back(words_of(shape) + ": " + tested.message);
      continue;
    }
    // Without an answer the queue may still tell.
    auto estimate = parse_start_estimate(tested.message);
    const bool useful = estimate && is_useful_start(slurm_time(estimate->start_s), found.now_s);
    auto one = forecast(shape, useful ? std::optional(estimate->start_s) : std::nullopt,
                        gaps.of(shape), found.now_s);
    if (!one) continue;
    if (useful && one->shape.partition.empty()) one->shape.partition = estimate->partition;
    found.ranked.push_back(*std::move(one));
  }
  return Ok{};
}

}  // namespace

Result<Soonest> find_soonest(System& system, const SoonestRequest& request) {
  const auto job = load_job(system, request.job_file, request.sets);
  if (!job) return job.error();
  if (!job->components.empty())
    return Error{ErrorKind::bad_request, "a job with components has one shape, that of the file",
                 "dllaunch run submits it as it is"};
  const auto ground = look_around(system, request, *job);
  if (!ground) return ground.error();
  const auto own = plan_shape(*job, *ground);
  if (!own) return own.error();
  if (auto here = check_submittable(ground->facts, own->plan); !here)
    return std::move(here).error();
  Soonest found{.trains = !job->train.is_null(), .now_s = unix_seconds()};
  const auto& slurm = *ground->facts.slurm;
  found.work = {.own_ranks = own->plan.ranks(),
                .own_limit_s = 60.0 * minutes_of(own->job, slurm).value_or(0)};
  add_past_runs(system, *job, found.work);
  found.worth = worth_of(past_estimates(system));
  auto shapes = shapes_of(own->job, own->plan, slurm, found.work, found.now_s);
  if (!shapes) return std::move(shapes).error();
  Gaps gaps(own->job, *ground, own->plan.occupies.gpus.value_or(0) > 0, found.now_s);
  const Budget budget;
  auto queue =
      own->job.resources.reservation
          ? Result<QueueView>(Error{ErrorKind::unavailable, "the job has a reservation", ""})
          : whole_queue(system, longest_test);
  found.knows_queue = queue && !queue->hides_jobs();
  if (!found.knows_queue)
    found.why_no_queue = queue ? "Slurm does not show the jobs of others" : queue.error().what;
  if (found.knows_queue) gaps.take(*std::move(queue));
  sort_by_promise(*shapes, gaps, found.now_s);
  auto asked = ask_slurm(system, request, *ground, *std::move(shapes), gaps, budget, found);
  if (!asked) return std::move(asked).error();
  found.test_seconds = budget.spent_s();
  if (found.ranked.empty() && found.silent > 0)
    return Error{ErrorKind::timeout,
                 fmt::format("Slurm told no start within {:.0f} s", found.test_seconds),
                 "its controller is busy: try again later, or submit with dllaunch run"};
  if (found.ranked.empty())
    return Error{ErrorKind::unsatisfiable,
                 found.refused.empty() ? "no shape of this job has a start that Slurm can tell"
                                       : "Slurm refuses every shape; " + found.refused.front(),
                 "`dllaunch plan --check` looks for the reason"};
  rank_by_finish(found.ranked, found.now_s);
  return found;
}

StartRecord record_of(const Forecast& forecast, double now_s) {
  return {.made_s = now_s,
          .start_s = forecast.start_s,
          .finish_s = forecast.finish_s,
          .slurm_s = forecast.slurm_s,
          .by_backfill = forecast.by_backfill(),
          .shape = words_of(forecast.shape)};
}

}  // namespace dllaunch
