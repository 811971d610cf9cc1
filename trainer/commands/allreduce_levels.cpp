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

std::string describe(std::string_view where, std::string_view per, const LinkModel& model) {
  return fmt::format("{}: {:.2f} us {} + {:.3f} GB/s (fits within {:.0f} %)\n", where,
                     model.latency_us, per, model.gbs, 100 * model.error);
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

std::string describe_levels(const Levels& levels) {
  std::string text;
  if (const auto model = model_within_node(levels); model && levels.shape.ranks > 1) {
    text += describe("within a node", "a call", *model);
  }
  if (const auto model = model_between_nodes(levels)) {
    text += describe("between nodes", "a message", *model);
  }
  return text;
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
