#include "launcher/links/next_order.hpp"

#include <algorithm>
#include <tuple>

#include "launcher/links/tournament.hpp"

namespace dllaunch {
namespace {

/// How often each link and each host was measured after the tournament.
struct Counts {
  std::map<Pull, int> links = {};
  std::map<std::size_t, int> hosts = {};
  std::size_t orders = 0;
};

Counts counts_in(const LinkSurvey& survey) {
  Counts counts;
  for (const auto& done : survey.done) {
    if (done.order.round) continue;
    ++counts.orders;
    for (const auto& pull : done.order.pulls) {
      ++counts.links[pull];
      ++counts.hosts[pull.to];
      ++counts.hosts[pull.from];
    }
  }
  return counts;
}

std::optional<LinkOrder> next_round(const LinkSurvey& survey, const Standing& standing) {
  const auto rounds = tournament_rounds(survey.hosts);
  const auto begun = static_cast<std::size_t>(
      std::ranges::count_if(survey.done, [](const auto& done) { return done.order.round; }));
  for (auto i = begun; i < rounds.size(); ++i) {
    auto order = rounds[i];
    std::erase_if(order.pulls, [&](const Pull& pull) {
      return standing.out.contains(pull.to) || standing.out.contains(pull.from);
    });
    // An empty round is an order too, or the next one would be counted wrongly.
    if (!order.pulls.empty() || i + 1 < rounds.size()) return order;
  }
  return std::nullopt;
}

/// The link between free hosts that was measured least; nullopt: none is free.
std::optional<Pull> least_measured(const std::vector<std::size_t>& to,
                                   const std::vector<std::size_t>& from, const Counts& counts,
                                   const std::set<std::size_t>& busy) {
  const auto count = [](const auto& all, const auto& key) {
    const auto found = all.find(key);
    return found == all.end() ? 0 : found->second;
  };
  std::optional<std::tuple<int, int, Pull>> best;
  for (const auto taker : to) {
    for (const auto giver : from) {
      if (taker == giver || busy.contains(taker) || busy.contains(giver)) continue;
      const Pull pull{taker, giver};
      const std::tuple one(count(counts.links, pull),
                           count(counts.hosts, taker) + count(counts.hosts, giver), pull);
      if (!best || one < *best) best = one;
    }
  }
  return best ? std::optional(std::get<Pull>(*best)) : std::nullopt;
}

void add(LinkOrder& order, const Pull& pull, std::set<std::size_t>& busy) {
  order.pulls.push_back(pull);
  busy.insert({pull.to, pull.from});
}

/// Fast pairs without a host that is suspected itself.
void add_controls(LinkOrder& order, const Standing& standing, const Counts& counts,
                  std::set<std::size_t> busy, std::size_t most) {
  std::set<std::size_t> suspected;
  for (const auto& suspicion : standing.suspicions)
    suspected.insert(suspicion.a.begin(), suspicion.a.end());
  std::vector<Pull> pairs;
  for (const auto& pair : standing.fast)
    if (!suspected.contains(pair.to) && !suspected.contains(pair.from)) pairs.push_back(pair);
  // If every pair has a suspected host, any fast pair has to do.
  if (pairs.empty()) pairs.assign(standing.fast.begin(), standing.fast.end());
  if (pairs.empty()) return;
  std::ranges::rotate(pairs,
                      pairs.begin() + static_cast<std::ptrdiff_t>(counts.orders % pairs.size()));
  for (auto pair : pairs) {
    if (order.pulls.size() >= order.controls_from + most) return;
    if (busy.contains(pair.to) || busy.contains(pair.from)) continue;
    if (counts.orders % 2 != 0) std::swap(pair.to, pair.from);
    add(order, pair, busy);
  }
}

}  // namespace

bool is_open(const LinkSurvey& survey, const Standing& standing, const Suspicion& suspicion) {
  const auto& [a, b] = suspicion;
  return evidence_on(survey, standing, b, a).open() || evidence_on(survey, standing, a, b).open();
}

std::optional<LinkOrder> next_order(const LinkSurvey& survey, const Standing& standing) {
  if (auto round = next_round(survey, standing)) return round;
  constexpr std::size_t most_controls = 2;
  const auto at_once = std::clamp<std::size_t>(survey.hosts / 4, 1, 8);
  const auto counts = counts_in(survey);
  LinkOrder order{.round = false};
  std::set<std::size_t> busy;
  for (const auto& [a, b] : standing.suspicions) {
    if (order.pulls.size() >= at_once) break;
    const auto out = evidence_on(survey, standing, b, a);
    const auto in = evidence_on(survey, standing, a, b);
    if (!out.open() && !in.open()) continue;
    const bool outwards = out.open() && (!in.open() || out.draws <= in.draws);
    if (const auto pull =
            outwards ? least_measured(b, a, counts, busy) : least_measured(a, b, counts, busy))
      add(order, *pull, busy);
  }
  if (order.pulls.empty()) return std::nullopt;
  order.controls_from = order.pulls.size();
  add_controls(order, standing, counts, busy, most_controls);
  // Two or three hosts: controls take turns with what they are compared with.
  const bool alone = order.pulls.size() == order.controls_from && !standing.fast.empty();
  if (alone && counts.orders % 2 == 0) {
    LinkOrder controls{.round = false};
    add_controls(controls, standing, counts, {}, most_controls);
    return controls;
  }
  return order;
}

}  // namespace dllaunch
