#include "launcher/queue/soonest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/job/expand_tilde.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/launch/dependencies.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/plan/divide_gpus.hpp"
#include "launcher/plan/node_selection.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/presubmit/cluster_checks.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/host_list.hpp"
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
  bool has_partition = true;  // that the job names, or the default
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
  job.after.clear();  // all have completed
  auto shaped = plan_shape(std::move(job), ground);
  if (!shaped) return std::nullopt;
  if (shape.as_written()) return std::move(shaped->plan);
  const bool other_place = !shape.partition.empty() && shaped->job.resources.partition.value_or(
                                                           shape.partition) != shape.partition;
  if (other_place || shaped->plan.nodes != shape.nodes ||
      shaped->plan.ranks_per_node != shape.ranks_per_node)
    return std::nullopt;
  if (minutes_of(shaped->job, *ground.facts.slurm) != shape.limit_minutes) return std::nullopt;
  return std::move(shaped->plan);
}

std::vector<std::string> options_of(const LaunchPlan& plan) {
  std::vector<std::string> options;
  for (const auto& option : plan.sbatch) options.push_back(option_word(option));
  options.insert(options.end(), plan.sbatch_extra.begin(), plan.sbatch_extra.end());
  return options;
}

/// What options of resources.sbatch_extra decide in place of the keys that shapes change.
struct Extras {
  std::string fixes;   // the first that keeps the job in the shape that it has; empty: none
  std::string places;  // the first that decides on its nodes or its start
  bool waits = false;  // for other jobs
  std::optional<std::string> time = {};
};

Extras extras_of(const Job& job) {
  constexpr std::array<std::string_view, 8> fixing = {"--time",      "--time-min",   "--nodes",
                                                      "--partition", "--qos",        "--ntasks",
                                                      "--account",   "--reservation"};
  constexpr std::array<std::string_view, 8> placing = {"--nodelist",   "--nodefile",  "--exclude",
                                                       "--begin",      "--deadline",  "--hold",
                                                       "--contiguous", "--constraint"};
  const auto is_among = [](const auto& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  Extras found;
  for (const auto& extra : job.resources.sbatch_extra) {
    const auto option = option_of_line(extra.substr(extra.starts_with('!') ? 1 : 0));
    // Several options in one: "-N 2 -t 5".
    const bool several = !option && extra.find(" -") != std::string::npos;
    const auto name = option ? option->first : extra;
    if (found.fixes.empty() && (several || is_among(fixing, name))) found.fixes = extra;
    if (found.places.empty() && is_among(placing, name)) found.places = extra;
    found.waits = found.waits || name == "--dependency";
    if (name == "--time" && option) found.time = option->second;
  }
  return found;
}

/// Whether the job could start now: Slurm does not say when those that it waits for end.
Result<Ok> check_dependencies(System& system, const Job& job) {
  const auto dependencies = resolve_dependencies(system, job.after);
  if (!dependencies) return dependencies.error();
  if (dependencies->jobs.empty() && !extras_of(job).waits) return Ok{};
  return Error{
      ErrorKind::unsatisfiable,
      dependencies->jobs.empty()
          ? "resources.sbatch_extra has a dependency, and when it ends is not known"
          : fmt::format("the job waits for job {} (after:), and when that ends is not known",
                        dependencies->jobs.front()),
      "dllaunch run submits it as it is; or ask once those have completed"};
}

/// Without partitions whose jobs Slurm starts before the job's own, or may preempt otherwise: to
/// use those is a decision. Without the queue all others are such.
SlurmFacts alike_only(const Job& job, SlurmFacts slurm, bool gpus, const QueueView& queue) {
  const auto own = select_nodes(job, slurm, gpus);
  const auto names = job.resources.partition.value_or(own ? own->partition : "");
  const auto named = split_at(names, ',');
  const auto known = [&queue](std::string_view name) {
    const auto one = queue.precedence.find(std::string(name));
    return one == queue.precedence.end() ? std::string() : one->second;
  };
  const auto wanted = known(named.front());
  std::erase_if(slurm.partitions, [&](const Partition& one) {
    const bool is_own = std::ranges::find(named, std::string_view(one.name)) != named.end();
    return !is_own && (wanted.empty() || known(one.name) != wanted);
  });
  return slurm;
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
  if (auto none = check_dependencies(system, job); !none) return std::move(none).error();
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
    // A job without a limit fits into no gap.
    if (!queue_ || (shape.as_written() && !minutes_of(job_, slurm_))) return nullptr;
    const auto known = std::ranges::find(pools_, shape.partition, &Pool::partition);
    if (known != pools_.end()) return known->forecast.get();
    auto one = job_;
    one.resources.nodes = 1;
    one.resources.time.reset();
    if (!shape.partition.empty()) one.resources.partition = shape.partition;
    auto nodes = select_nodes(one, slurm_, gpus_);
    Pool pool{.partition = shape.partition};
    if (nodes) {
      const auto excluded = expand_hosts(one.resources.exclude.value_or(""));
      if (excluded)
        std::erase_if(nodes->hosts, [&excluded](const std::string& host) {
          return std::ranges::find(*excluded, host) != excluded->end();
        });
      pool.forecast = std::make_unique<NodeForecast>(
          forecast_nodes(*queue_, slurm_, nodes->hosts, nodes->partition, now_s_));
    }
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
/// them, else as if all started at once; last what fits into no gap, of which Slurm may know more.
void sort_by_promise(std::vector<Shape>& shapes, Gaps& gaps, double now_s) {
  std::vector<Forecast> promised;
  for (const Shape& shape : shapes) {
    const NodeForecast* nodes = gaps.of(shape);
    auto one = forecast(shape, nodes ? std::nullopt : std::optional(now_s), nodes, now_s);
    if (!one) one = forecast(shape, now_s, nullptr, now_s);
    if (one) promised.push_back(*std::move(one));
  }
  rank_by_finish(promised, now_s);
  std::ranges::stable_partition(promised,
                                [](const Forecast& one) { return one.shape.as_written(); });
  shapes.clear();
  for (auto& one : promised) shapes.push_back(std::move(one.shape));
}

/// Why gaps in the queue tell nothing of the job; empty: they do.
std::string why_no_gaps(const Job& job, const Extras& extras, const Result<QueueView>& queue) {
  if (job.resources.reservation) return "the job has a reservation";
  for (const auto& extra : {extras.fixes, extras.places})
    if (!extra.empty())
      return fmt::format("resources.sbatch_extra has {}, which only Slurm takes into account",
                         extra);
  if (!queue) return queue.error().what;
  return queue->hides_jobs() ? "Slurm does not show the jobs of others" : "";
}

/// Adds the forecast of what Slurm accepts. bad_request: sbatch rejects an option of the job.
Result<Ok> ask_slurm(System& system, const SoonestRequest& request, const Ground& ground,
                     std::vector<Shape> shapes, Gaps& gaps, const Budget& budget, Soonest& found) {
  bool own_preempts = false;  // so that the job's partition is meant to
  for (const Shape& shape : shapes) {
    if (found.tests >= most_tests || budget.left() < milliseconds(50)) {
      ++found.left_out;
      continue;
    }
    const bool has_place = ground.has_partition || !shape.partition.empty();
    if (!has_place && !found.refused.empty()) continue;  // as the job as written
    const auto plan = plan_of(shape, request, ground, system);
    if (!plan) continue;
    ++found.tests;
    const auto tested =
        test_submission(system, options_of(*plan), std::min(budget.left(), longest_test));
    const bool silent = tested.refusal && tested.refusal->kind == ErrorKind::timeout;
    found.silent += silent ? 1 : 0;
    if (tested.refusal && !silent) {
      if (shape.as_written() && ground.has_partition &&
          tested.refusal->kind == ErrorKind::bad_request)
        return *tested.refusal;
      found.refused.push_back(words_of(shape) + ": " + tested.message);
      continue;
    }
    const bool preempts = tested.message.find("Preempts:") != std::string::npos;
    own_preempts = own_preempts || (preempts && shape.as_written());
    if (preempts && !own_preempts) {
      found.refused.push_back(words_of(shape) + ": it would preempt other jobs");
      continue;
    }
    // Without an answer the queue may still tell.
    auto estimate = parse_start_estimate(tested.message);
    const bool useful = estimate && is_useful_start(slurm_time(estimate->start_s), found.now_s);
    auto one = forecast(shape, useful ? std::optional(estimate->start_s) : std::nullopt,
                        gaps.of(shape), found.now_s);
    if (!one) {
      ++found.without_start;
      continue;
    }
    if (useful && one->shape.partition.empty()) one->shape.partition = estimate->partition;
    found.ranked.push_back(*std::move(one));
  }
  return Ok{};
}

Error error_of_no_start(const Soonest& found, bool has_partition) {
  if (found.silent > 0)
    return Error{ErrorKind::timeout,
                 fmt::format("Slurm named no start time within {:.0f} s", found.test_seconds),
                 "its controller is busy: try again later, or submit with dllaunch run"};
  if (found.refused.empty())
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("no shape of this job has a start that Slurm can tell ({} asked for)",
                             found.without_start),
                 "`dllaunch plan --check` looks for the reason"};
  return Error{
      ErrorKind::unsatisfiable,
      "Slurm refuses every shape; " + found.refused.front() +
          (has_partition ? "" : fmt::format(" ({})", no_default_message)),
      has_partition ? "`dllaunch plan --check` looks for the reason" : "set resources.partition"};
}

}  // namespace

Result<Soonest> find_soonest(System& system, const SoonestRequest& request) {
  auto job = load_job(system, request.job_file, request.sets);
  if (!job) return std::move(job).error();
  auto ground = look_around(system, request, *job);
  if (!ground) return std::move(ground).error();
  job->after.clear();  // all have completed
  auto own = plan_shape(*job, *ground);
  if (!own) return std::move(own).error();
  if (auto here = check_submittable(ground->facts, own->plan); !here)
    return std::move(here).error();
  Soonest found{.trains = !job->train.is_null(), .now_s = unix_seconds()};
  const auto extras = extras_of(own->job);
  if (extras.time) own->job.resources.time = extras.time;
  const auto& all = *ground->facts.slurm;
  ground->has_partition = !partitions_of(own->job.resources, all).empty();
  const double limit_s = 60.0 * minutes_of(own->job, all).value_or(0);
  const double grace_s = own->plan.asks_ranks ? own->plan.grace_seconds : 0;
  found.work = {.own_ranks = own->plan.ranks(), .own_limit_s = std::max(0.0, limit_s - grace_s)};
  const bool gpus = own->plan.occupies.gpus.value_or(0) > 0;
  add_past_runs(system, *job, hosts_of_another_kind(own->job, all, gpus), found.work);
  found.worth = worth_of(past_estimates(system));
  const Budget budget;
  auto queue = whole_queue(system, longest_test);
  const auto slurm = alike_only(own->job, all, gpus, queue ? *queue : QueueView{});
  auto shapes = shapes_of(own->job, own->plan, slurm, found.work, found.now_s);
  if (!shapes) return std::move(shapes).error();
  if (!extras.fixes.empty())
    std::erase_if(*shapes, [](const Shape& shape) { return !shape.as_written(); });
  Gaps gaps(own->job, *ground, gpus, found.now_s);
  found.why_no_queue = why_no_gaps(own->job, extras, queue);
  found.knows_queue = found.why_no_queue.empty();
  if (found.knows_queue) gaps.take(*std::move(queue));
  sort_by_promise(*shapes, gaps, found.now_s);
  auto asked = ask_slurm(system, request, *ground, *std::move(shapes), gaps, budget, found);
  if (!asked) return std::move(asked).error();
  found.test_seconds = budget.spent_s();
  if (found.ranked.empty()) return error_of_no_start(found, ground->has_partition);
  rank_by_finish(found.ranked, found.now_s);
  return found;
}

Result<Forecast> choose(const Soonest& soonest) {
  for (const Forecast& one : soonest.ranked)
    if (!one.shape.other_qos) return one;
  return Error{ErrorKind::unsatisfiable,
               "only with another QOS does the job have a start, and --soonest takes none unasked",
               "`dllaunch when` shows them; set resources.qos"};
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
