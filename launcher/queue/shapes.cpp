#include "launcher/queue/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "launcher/plan/node_selection.hpp"
#include "launcher/presubmit/cluster_checks.hpp"
#include "launcher/slurm/slurm_time.hpp"
#include "launcher/study/study_sizes.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

/// Of a measured time, for what a run of the past did not meet.
constexpr double margin = 1.25;
constexpr int most_places = 4;
constexpr int most_nodes = 1 << 16;

/// Where a job may go.
struct Place {
  std::string partition = {};
  std::string qos = {};
  std::vector<std::string> sets = {};
  std::optional<int> most_minutes = {};  // nullopt: no limit, or a QOS decides
};

struct Size {
  int nodes = 1;
  std::optional<int> batch = {};
  std::vector<std::string> sets = {};
};

int minutes_for(double seconds) {
  constexpr double most = 365.0 * 24 * 60;
  return static_cast<int>(std::min(most, std::max(1.0, std::ceil(seconds / 60 - 1e-9))));
}

bool admits(const Job& job, const SlurmFacts& slurm, double now_s) {
  const auto findings = check_cluster(job, slurm, static_cast<std::int64_t>(now_s));
  return std::ranges::none_of(findings, &CheckFinding::fatal);
}

/// Names that Slurm may give, in YAML.
std::string set_to(const char* key, const std::string& value) {
  return fmt::format("{}={}", key, Json(value).dump());
}

/// QOS of the account that the job is charged to.
std::set<std::string> qos_of_user(const Job& job, const SlurmFacts& slurm) {
  std::set<std::string> names;
  if (!slurm.user || !slurm.user->associations) return names;
  const auto account = job.resources.account.value_or(slurm.user->default_account);
  for (const auto& one : *slurm.user->associations)
    if (account.empty() || same_name(one.account, account))
      names.insert(one.qos.begin(), one.qos.end());
  return names;
}

/// The job's own first. In other partitions the ranks must find the same nodes: their time is known
/// for those.
std::vector<Place> places_of(const Job& job, const LaunchPlan& plan, const SlurmFacts& slurm,
                             double now_s) {
  std::vector<Place> places = {
      {job.resources.partition.value_or(""), job.resources.qos.value_or(""), {}, {}}};
  const bool gpus = plan.occupies.gpus.value_or(0) > 0;
  const auto own = select_nodes(job, slurm, gpus);
  if (!own || job.resources.reservation) return places;
  // Without a default partition only a plug-in of the site could choose one for the job as written.
  const bool has_own = !partitions_of(job.resources, slurm).empty();
  if (places[0].partition.empty() && has_own) places[0].partition = own->partition;
  // The time limit depends on the shape.
  auto untimed = job;
  untimed.resources.time.reset();
  const auto add = [&](const Job& changed, Place place) {
    if (std::ssize(places) >= most_places || !admits(changed, slurm, now_s)) return;
    const auto nodes = select_nodes(changed, slurm, gpus);
    if (nodes && nodes->uniform && same_hardware(nodes->shape, own->shape))
      places.push_back(std::move(place));
  };
  for (const auto& partition : slurm.partitions) {
    if (partition.name == places[0].partition || partition.state != "UP") continue;
    auto changed = untimed;
    changed.resources.partition = partition.name;
    add(changed, {partition.name,
                  places[0].qos,
                  {set_to("resources.partition", partition.name)},
                  job.resources.qos ? std::nullopt : partition.max_minutes});
  }
  for (const auto& qos : qos_of_user(job, slurm)) {
    if (same_name(qos, places[0].qos)) continue;
    auto changed = untimed;
    changed.resources.qos = qos;
    add(changed, {places[0].partition, qos, {set_to("resources.qos", qos)}, {}});
  }
  return places;
}

bool was_measured(const Work& work, int ranks) {
  return std::ranges::find(work.sizes, ranks, &SizeTimes::ranks) != work.sizes.end();
}

std::vector<Size> sizes_for(const Job& job, const LaunchPlan& plan, const Work& work) {
  const auto batch = value_at<std::optional<int>>(job.train, "batch_size");
  std::vector<Size> sizes = {{plan.nodes, batch, {}}};
  const bool trains = !job.train.is_null();
  const bool scales =
      trains ? batch.has_value() && same_on_other_ranks(job) : job.study.value || job.study.step;
  if (!scales) return sizes;
  std::vector<int> counts = {plan.nodes * 2, plan.nodes / 2, plan.nodes * 4, plan.nodes / 4};
  for (const int nodes : counts) {
    if (nodes < 1 || nodes > most_nodes) continue;
    auto wanted = sizes_of({.nodes = {nodes}}, job, plan);
    if (!wanted) continue;
    Size size{.nodes = nodes, .sets = std::move(wanted->front().sets)};
    if (trains) {
      const std::int64_t global = static_cast<std::int64_t>(*batch) * plan.ranks();
      const int ranks = wanted->front().ranks;
      size.batch = static_cast<int>(global / ranks);
      if (*size.batch > 2 * *batch && !was_measured(work, ranks)) continue;
    }
    sizes.push_back(std::move(size));
  }
  return sizes;
}

/// One job. What does not resume is lost at a limit that turns out too short, so it keeps its own.
Shape whole(const Job& job, const LaunchPlan& plan, const Work& work, const Size& size,
            int own_minutes, bool resumes) {
  Shape shape{.sets = size.sets,
              .nodes = size.nodes,
              .spare_nodes = plan.recovery.spare_nodes,
              .ranks_per_node = plan.ranks_per_node,
              .batch_per_rank = size.batch,
              .limit_minutes = own_minutes};
  if (job.train.is_null()) shape.batch_per_rank.reset();
  shape.run_s = seconds_on(work, shape.ranks());
  if (size.sets.empty()) return shape;
  const double ratio = shape.run_s / seconds_on(work, plan.ranks());
  const int scaled = minutes_for(own_minutes * 60.0 * ratio);
  shape.limit_minutes = resumes ? scaled : std::max(scaled, own_minutes);
  return shape;
}

/// A limit that Slurm may lower, where past runs tell what is enough.
std::optional<Shape> with_least_time(const Job& job, const Work& work, Shape shape) {
  if (!work.measured()) return std::nullopt;
  const int least = minutes_for(shape.run_s * margin + job.recovery.grace_seconds);
  if (least * 5 > shape.limit_minutes * 4) return std::nullopt;
  auto extra = job.resources.sbatch_extra;
  if (std::ranges::any_of(extra, [](const std::string& one) { return one.starts_with("--time"); }))
    return std::nullopt;
  extra.push_back(fmt::format("--time-min={}", least));
  shape.sets.push_back("resources.sbatch_extra=" + Json(extra).dump());
  shape.least_minutes = least;
  return shape;
}

/// `grace_s`: before each limit the run stops and saves.
std::optional<Shape> in_slices(Shape shape, int slices, double grace_s) {
  const double part_s = shape.run_s / slices;
  if (part_s < 2 * (grace_s + slice_start_s)) return std::nullopt;
  const int minutes = minutes_for(part_s + grace_s + slice_start_s);
  if (minutes >= shape.limit_minutes) return std::nullopt;
  shape.limit_minutes = minutes;
  shape.slices = slices;
  shape.useful_s = minutes * 60 - grace_s - slice_start_s;
  return shape;
}

}  // namespace

std::optional<int> minutes_of(const Job& job, const SlurmFacts& slurm) {
  const auto minutes = job.resources.time ? parse_slurm_minutes(*job.resources.time) : std::nullopt;
  if (minutes.value_or(0) > 0) return minutes;
  const auto partitions = partitions_of(job.resources, slurm);
  if (partitions.empty()) return std::nullopt;
  const auto& one = *partitions.front();
  const bool names_none = job.resources.time.has_value();  // 0, UNLIMITED
  return one.default_minutes && !names_none ? one.default_minutes : one.max_minutes;
}

Result<std::vector<Shape>> shapes_of(const Job& job, const LaunchPlan& plan,
                                     const SlurmFacts& slurm, const Work& work, double now_s) {
  const auto minutes = minutes_of(job, slurm);
  if (!minutes && !work.measured())
    return Error{ErrorKind::unsatisfiable,
                 "neither the job nor its partition has a time limit, and no completed run of the "
                 "job is known here: how long it takes is unknown",
                 "set resources.time"};
  const bool begins_anew = job.train.is_object() && job.train.value("resume", Json()) == "none";
  const bool resumes = plan.recovery.requeue_on.timeout && plan.asks_ranks && !begins_anew;
  const auto places = places_of(job, plan, slurm, now_s);
  std::vector<Shape> shapes;
  const auto add = [&](const Shape& shape) {
    for (const Place& place : places) {
      if (place.most_minutes && shape.limit_minutes > *place.most_minutes) continue;
      auto one = shape;
      one.partition = place.partition;
      one.qos = place.qos;
      one.other_qos = place.qos != places[0].qos;
      one.sets.insert(one.sets.end(), place.sets.begin(), place.sets.end());
      const bool changes = !one.sets.empty() || one.slices > 1;
      // What has no limit must not get one that may end it.
      if (changes && !minutes && !resumes) continue;
      // Another partition has another default.
      if (changes) one.sets.push_back(fmt::format("resources.time={}", one.limit_minutes));
      shapes.push_back(std::move(one));
    }
  };
  for (const Size& size : sizes_for(job, plan, work)) {
    const int own = minutes.value_or(minutes_for(seconds_on(work, plan.ranks()) * margin));
    const Shape one = whole(job, plan, work, size, own, resumes);
    add(one);
    if (!resumes) continue;
    if (const auto least = with_least_time(job, work, one)) add(*least);
    for (const int slices : {2, 3, 4, 6, 8})
      if (const auto cut = in_slices(one, slices, plan.grace_seconds)) add(*cut);
  }
  return shapes;
}

std::string words_of(const Shape& shape) {
  auto text =
      fmt::format("{} of {}", counted(shape.nodes, "node"), counted(shape.ranks_per_node, "rank"));
  if (shape.batch_per_rank) text += fmt::format(", batch {}", *shape.batch_per_rank);
  if (!shape.partition.empty()) text += ", partition " + shape.partition;
  if (!shape.qos.empty()) text += ", QOS " + shape.qos;
  const auto minutes = shape.least_minutes
                           ? fmt::format("{} to {} min", *shape.least_minutes, shape.limit_minutes)
                           : fmt::format("{} min", shape.limit_minutes);
  return shape.slices == 1 ? text + ", " + minutes
                           : fmt::format("{}, {} slices of {}", text, shape.slices, minutes);
}

}  // namespace dllaunch
