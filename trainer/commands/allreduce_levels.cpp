#include "trainer/commands/allreduce_levels.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>

#include <fmt/core.h>

namespace dllaunch {
namespace {

double us_within_node(const Levels& levels, std::size_t row) {
  return row < levels.within_node.size() ? levels.within_node[row].us : 0;
}

/// A level that was measured, in words.
struct NamedLink {
  std::string_view where;
  std::string_view per;
  LinkModel model;
};

std::vector<NamedLink> named_links(const Levels& levels) {
  const auto model = model_of(levels);
  const bool alike = model.communicator != "hierarchical";
  std::vector<NamedLink> links;
  if (model.among_ranks)
    links.push_back(
        {alike ? "among ranks" : "within a node", alike ? "message" : "call", *model.among_ranks});
  if (model.between_nodes) links.push_back({"between nodes", "message", *model.between_nodes});
  return links;
}

}  // namespace

std::optional<JobShape> shape_of(Communicator& communicator) {
  std::array<char, 256> host = {};
  ::gethostname(host.data(), host.size() - 1);
  std::vector<std::int64_t> hosts(static_cast<std::size_t>(communicator.size()));
  hosts[static_cast<std::size_t>(communicator.rank())] =
      static_cast<std::int64_t>(std::hash<std::string>{}(host.data()));
  communicator.wait(communicator.all_gather(hosts.data(), 1, DType::i64));
  std::map<std::int64_t, int> ranks;
  for (const std::int64_t each : hosts) ++ranks[each];
  const int first = ranks.begin()->second;
  const bool alike = std::ranges::all_of(ranks, [&](const auto& r) { return r.second == first; });
  if (!alike) return std::nullopt;
  return JobShape{static_cast<int>(ranks.size()), first};
}

std::optional<LinkModel> model_within_node(const Levels& levels) {
  const bool whole_job = levels.shape.nodes == 1;
  std::vector<LinkSample> samples;
  for (const AllReduceRow& row : whole_job ? levels.rows : levels.within_node) {
    samples.push_back({{1, static_cast<double>(row.bytes)}, row.us});
  }
  return fit_link(samples);
}

std::optional<LinkModel> model_between_nodes(const Levels& levels) {
  std::vector<LinkSample> samples;
  for (std::size_t i = 0; i < levels.rows.size(); ++i) {
    const AllReduceRow& row = levels.rows[i];
    const auto cost = cost_between_nodes(row.communicator, row.bytes, levels.shape);
    const double us = row.us - us_within_node(levels, i);
    if (cost && us > 0) samples.push_back({*cost, us});
  }
  return fit_link(samples);
}

AllReduceModel model_of(const Levels& levels) {
  AllReduceModel model;
  if (levels.rows.empty()) return model;
  model.communicator = levels.rows.front().communicator;
  model.nodes = levels.shape.nodes;
  const int ranks = levels.shape.nodes * levels.shape.ranks;
  if (model.communicator == "hierarchical") {
    if (levels.shape.ranks > 1) model.among_ranks = model_within_node(levels);
    model.between_nodes = model_between_nodes(levels);
  } else if (ranks > 1) {
    std::vector<LinkSample> samples;
    for (const AllReduceRow& row : levels.rows)
      samples.push_back({cost_among_ranks(row.communicator, row.bytes, ranks), row.us});
    model.among_ranks = fit_link(samples);
  }
  return model;
}

std::string describe_levels(const Levels& levels) {
  std::string text;
  for (const auto& [where, per, model] : named_links(levels))
    text += fmt::format("{}: {:.2f} us a {} + {:.3f} GB/s (fits within {:.0f} %)\n", where,
                        model.latency_us, per, model.gbs, 100 * model.error);
  return text;
}

std::string links_json(const Levels& levels) {
  std::string text;
  for (const auto& [where, per, model] : named_links(levels))
    text +=
        fmt::format(R"({}{{"level": "{}", "alpha_us": {:.4f}, "per": "{}", "beta_gbs": {:.6f}, )"
                    R"("error": {:.4f}}})",
                    text.empty() ? "" : ", ", where, model.latency_us, per, model.gbs, model.error);
  return "[" + text + "]";
}

std::vector<AllReduceRow> project(const Levels& levels, int nodes) {
  const auto model = model_between_nodes(levels);
  std::vector<AllReduceRow> projected;
  for (std::size_t i = 0; model && i < levels.rows.size(); ++i) {
    AllReduceRow row = levels.rows[i];
    const auto cost = cost_between_nodes(row.communicator, row.bytes, {nodes, levels.shape.ranks});
    if (!cost) continue;
    row.ranks = nodes * levels.shape.ranks;
    row.projected = true;
    row.us = us_within_node(levels, i) + predict_us(*model, *cost);
    row.algbw_gbs = static_cast<double>(row.bytes) / row.us / 1e3;
    row.busbw_gbs = row.algbw_gbs * 2 * (row.ranks - 1) / row.ranks;
    projected.push_back(row);
  }
  return projected;
}

}  // namespace dllaunch
