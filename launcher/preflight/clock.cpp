// Check: the nodes' clocks agree, as measured while they exchange messages.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "launcher/preflight/check.hpp"
#include "launcher/preflight/outliers.hpp"

namespace dllaunch {
namespace {

struct Step {
  std::string to = {};
  double ahead_s = 0;
};
constexpr double most_s = 1e10;
using Steps = std::map<std::string, std::vector<Step>>;

Steps steps_in(const std::vector<NodeSample>& samples) {
  Steps steps;
  for (const auto& sample : samples) {
    steps[sample.node];
    if (!sample.seen.is_object() || !sample.seen.contains("peers")) continue;
    for (const auto& peer : sample.seen["peers"]) {
      const auto to = text_of(peer, "to");
      const auto ahead = number_of(peer, "ahead_s");
      if (!flag_of(peer, "reached") || !ahead || to.empty()) continue;
      if (std::abs(*ahead) > most_s) continue;  // no clock
      steps[sample.node].push_back({to, *ahead});
      steps[to].push_back({sample.node, -*ahead});
    }
  }
  return steps;
}

/// Returns how far ahead of the median the clock of each node connected to `from` is.
std::map<std::string, double> clocks_around(const std::string& from, const Steps& steps) {
  std::map<std::string, double> clocks{{from, 0}};
  for (std::deque<std::string> next{from}; !next.empty(); next.pop_front()) {
    const double here = clocks.at(next.front());
    for (const auto& step : steps.at(next.front()))
      if (clocks.try_emplace(step.to, here + step.ahead_s).second) next.push_back(step.to);
  }
  std::vector<double> all;
  all.reserve(clocks.size());
  for (const auto& [node, clock] : clocks) all.push_back(clock);
  const double middle = median_of(std::move(all));
  for (auto& [node, clock] : clocks) clock -= middle;
  return clocks;
}

std::vector<NodeResult> judge_clock(const PreflightRequest&,
                                    const std::vector<NodeSample>& samples) {
  // With NTP, clocks agree within milliseconds; ntpd steps the clock from 128 ms. From one second,
  // files appear newer than they are; from ten, shared deadlines are missed.
  constexpr double off_s = 0.5;
  constexpr double wrong_s = 10;
  const auto steps = steps_in(samples);
  std::map<std::string, double> clocks;
  std::map<std::string, std::size_t> company;
  for (const auto& sample : samples) {
    if (clocks.contains(sample.node)) continue;
    const auto around = clocks_around(sample.node, steps);
    for (const auto& [node, clock] : around) {
      clocks[node] = clock;
      company[node] = around.size();
    }
  }
  std::vector<NodeResult> results;
  for (const auto& sample : samples) {
    PreflightResult result{.value = "no other node to compare with"};
    if (company[sample.node] > 1) {
      const double ahead = clocks[sample.node];
      result.value = fmt::format("{:+.3f} s", ahead);
      if (std::abs(ahead) > off_s) {
        result.level = std::abs(ahead) > wrong_s ? Level::fail : Level::warn;
        result.why = fmt::format("its clock is {:.1f} s {} the other nodes'", std::abs(ahead),
                                 ahead > 0 ? "ahead of" : "behind");
        result.fix = "look at `chronyc tracking` or `ntpq -p` there, and tell the administrators";
      }
    }
    results.push_back({sample.node, std::move(result)});
  }
  return results;
}

}  // namespace

extern const PreflightCheck clock_check;
const PreflightCheck clock_check{.name = "clock",
                                 .about = "the clocks of the nodes, compared",
                                 .judge = judge_clock,
                                 .reads = "network"};

}  // namespace dllaunch
