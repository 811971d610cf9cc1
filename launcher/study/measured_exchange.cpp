#include "launcher/study/measured_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "launcher/base/shown_line.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

// Far beyond any machine; within them, every product and quotient of the model is finite.
constexpr double most_bytes = 1LL << 53;  // every whole number up to it is a double
constexpr double most_us = 1e12;
constexpr double least_gbs = 1e-9;
constexpr double most_gbs = 1e9;

std::optional<LinkModel> link_of(const Json& level) {
  const auto alpha = value_at<std::optional<double>>(level, "alpha_us");
  const auto beta = value_at<std::optional<double>>(level, "beta_gbs");
  if (!alpha || !beta || *alpha < 0 || *alpha > most_us) return std::nullopt;
  if (*beta < least_gbs || *beta > most_gbs) return std::nullopt;
  return LinkModel{.latency_us = *alpha, .gbs = *beta, .error = value_at<double>(level, "error")};
}

/// How many times the model's time was measured at the next larger size, or at the largest: at
/// least 1, so that the exchange stays a bound.
double beyond_model(const MeasuredAllReduce& measured, std::size_t bytes) {
  auto at = std::ranges::lower_bound(measured.us_of_bytes, static_cast<double>(bytes), {},
                                     &std::pair<double, double>::first);
  if (at == measured.us_of_bytes.end()) --at;
  const auto modelled =
      predict_us(measured.model, static_cast<std::size_t>(at->first), measured.shape);
  return modelled.value_or(0) > 0 ? std::max(1.0, at->second / *modelled) : 1;
}

/// The runs' nodes are as full as those of the largest size; up to a node, ranks share one.
JobShape shape_at(int ranks, int ranks_of_node) {
  if (ranks <= ranks_of_node) return {.nodes = 1, .ranks = ranks};
  return {.nodes = (ranks + ranks_of_node - 1) / ranks_of_node, .ranks = ranks_of_node};
}

}  // namespace

Result<MeasuredAllReduce> read_allreduce(const Json& document) {
  MeasuredAllReduce measured;
  AllReduceModel& model = measured.model;
  const bool is_list = document.is_array();
  for (std::size_t i = 0; is_list && i < document.size(); ++i) {
    const Json& row = document[i];
    const auto bytes = value_at<double>(row, "bytes");
    const auto us = value_at<double>(row, "us");
    const bool credible = bytes >= 1 && bytes <= most_bytes && us > 0 && us <= most_us;
    if (credible && !value_at<bool>(row, "projected")) measured.us_of_bytes.emplace_back(bytes, us);
    const auto levels = value_at<Json>(row, "models");
    const int ranks = value_at<int>(row, "ranks");
    const int nodes = value_at<int>(row, "nodes", 1);
    if (!levels.is_array() || nodes < 1 || nodes > ranks) continue;
    // Messages and the study's page show it.
    model.communicator = shown_line(value_at<std::string>(row, "backend"));
    model.nodes = nodes;
    measured.shape = {.nodes = nodes, .ranks = ranks / nodes};
    for (const Json& level : levels)
      (value_at<std::string>(level, "level") == "between nodes" ? model.between_nodes
                                                                : model.among_ranks) =
          link_of(level);
  }
  std::ranges::sort(measured.us_of_bytes);
  if ((model.among_ranks || model.between_nodes) && !measured.us_of_bytes.empty()) return measured;
  return Error{ErrorKind::bad_request, "no model of an all-reduce is in it",
               "dllaunch bench allreduce --json > FILE, with two ranks and three sizes or more"};
}

Result<Ok> check_measured(const AllReduceModel& model, int ranks, int nodes) {
  const JobShape shape{.nodes = nodes, .ranks = ranks / nodes};
  if (predict_us(model, 1, shape)) return Ok{};
  return Error{ErrorKind::bad_request,
               fmt::format("{} on {}, but the all-reduce was measured without that level",
                           counted(ranks, "rank"), counted(nodes, "node")),
               fmt::format("salloc -N {} --ntasks-per-node {} dllaunch bench allreduce --json",
                           nodes, shape.ranks)};
}

Result<Ok> check_same_communicator(const AllReduceModel& model, const std::string& of_runs) {
  if (of_runs == model.communicator) return Ok{};
  const auto shown = shown_line(of_runs);
  return Error{
      ErrorKind::bad_request,
      fmt::format("the runs reduce by {}, but {} was measured", shown, model.communicator),
      fmt::format("measure with dllaunch bench allreduce --communicator {} --json", shown)};
}

Result<MeasuredExchange> measured_exchange(const Study& study) {
  const auto none = [](const std::string& why) { return Error{ErrorKind::bad_request, why, ""}; };
  if (!study.allreduce) return none("no all-reduce was measured (--allreduce)");
  const AllReduceModel& model = study.allreduce->model;
  const StudyRun* known = nullptr;
  const StudyRun* largest = nullptr;
  for (const StudyRun& run : study.runs) {
    if (!run.value) continue;
    if (run.gradient_bytes.value_or(0) > 0 && run.global_batch.value_or(0) > 0) known = &run;
    if (largest == nullptr || run.ranks > largest->ranks) largest = &run;
    if (auto good = check_measured(model, run.ranks, run.nodes); !good)
      return std::move(good).error();
    if (run.ranks < 2 || run.communicator.empty()) continue;
    if (auto good = check_same_communicator(model, run.communicator); !good)
      return std::move(good).error();
  }
  if (known == nullptr) return none("no run says how many bytes it exchanges");
  const auto bytes = static_cast<std::size_t>(*known->gradient_bytes);
  const int ranks_of_node = largest->nodes > 1 ? largest->ranks / largest->nodes : 1 << 24;
  // The times are seconds an image; with weak scaling, of a rank.
  const double images = static_cast<double>(*known->global_batch) /
                        (study.scaling == Scaling::weak ? known->ranks : 1);
  const double slower = beyond_model(*study.allreduce, bytes);
  const auto us_at = [model, bytes, ranks_of_node, slower](int ranks) {
    return slower * predict_us(model, bytes, shape_at(ranks, ranks_of_node)).value_or(0);
  };
  return MeasuredExchange{
      .time = [us_at, images](int ranks) { return us_at(ranks) / 1e6 / images; },
      .bytes = *known->gradient_bytes,
      .ranks = largest->ranks,
      .us = us_at(largest->ranks)};
}

}  // namespace dllaunch
