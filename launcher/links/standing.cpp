#include "launcher/links/standing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace dllaunch {
namespace {

/// `part` of the way from the smallest (0) to the largest (1); 0 if there is none.
double quantile(std::vector<double> values, std::size_t part, std::size_t parts) {
  if (values.empty()) return 0;
  const auto at = std::min(values.size() * part / parts, values.size() - 1);
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(at));
  return values[at];
}

bool is_control(const DoneOrder& done, const Pull& pull) {
  const auto& pulls = done.order.pulls;
  const auto found = std::ranges::find(pulls, pull);
  return found - pulls.begin() >= static_cast<std::ptrdiff_t>(done.order.controls_from);
}

struct Values {
  std::vector<double> rates = {};
  std::vector<double> times = {};
  void add(const PulledData& data) {
    if (!data.why.empty()) return;
    rates.push_back(data.gbit_per_s);
    times.push_back(data.us);
  }
};

UsualLink usual_in_rounds(const LinkSurvey& survey) {
  Values medians;
  for (const auto& done : survey.done) {
    if (!done.order.round) continue;
    Values values;
    for (const auto& data : done.pulled) values.add(data);
    if (values.rates.empty()) continue;
    medians.rates.push_back(quantile(values.rates, 1, 2));
    medians.times.push_back(quantile(values.times, 1, 2));
  }
  return {quantile(medians.rates, 5, 6), quantile(medians.times, 1, 6)};
}

/// Sets what later measurements are compared with, and how many a proof takes: as many as load
/// slows all by chance once in 1e5 times, if it slows each as often as a control.
void compare_with_controls(const LinkSurvey& survey, Standing& standing) {
  Values values;
  for (const auto& done : survey.done) {
    if (done.order.round) continue;
    for (const auto& data : done.pulled)
      if (is_control(done, data.pull)) values.add(data);
  }
  standing.controls = static_cast<int>(values.rates.size());
  standing.in_controls = standing.in_rounds;
  if (standing.controls == 0) return;
  standing.in_controls = {quantile(values.rates, 3, 4), quantile(values.times, 1, 4)};
  const auto slow = std::ranges::count_if(values.rates, [&](double rate) {
    return rate < slow_below * standing.in_controls.gbit_per_s;
  });
  const double share = (static_cast<double>(slow) + 0.5) / (standing.controls + 1.0);
  const double draws = std::ceil(std::log(chance_of_error) / std::log(share));
  standing.draws_for_slow = static_cast<int>(std::clamp<double>(draws, fewest_draws, most_draws));
}

void note(LinkRecord& record, const PulledData& data, const UsualLink& usual) {
  const double score = score_of(data, usual);
  if (score <= record.score) return;
  record = {score, data};
}

/// A host to which, and from which, nothing came through, with two partners at least.
bool is_cut_off(const Standing& standing, std::size_t host) {
  std::set<std::size_t> partners;
  for (const auto& [link, record] : standing.links) {
    if (link.to != host && link.from != host) continue;
    if (record.best.why.empty()) return false;
    partners.insert(link.to == host ? link.from : link.to);
  }
  return partners.size() >= 2;
}

/// Sets of hosts connected by fast pairs.
class Groups {
 public:
  explicit Groups(std::size_t hosts) : above_(hosts) { std::iota(above_.begin(), above_.end(), 0); }
  std::size_t of(std::size_t host) {
    while (above_[host] != host) host = above_[host] = above_[above_[host]];
    return host;
  }
  void unite(std::size_t a, std::size_t b) {
    above_[std::max(of(a), of(b))] = std::min(of(a), of(b));
  }

  /// The largest first; of equal ones the one with the first host.
  std::vector<std::vector<std::size_t>> all(const std::set<std::size_t>& without) {
    std::map<std::size_t, std::vector<std::size_t>> groups;
    for (std::size_t host = 0; host < above_.size(); ++host)
      if (!without.contains(host)) groups[of(host)].push_back(host);
    std::vector<std::vector<std::size_t>> sorted;
    for (auto& [root, members] : groups) sorted.push_back(std::move(members));
    std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& one) { return one.size(); });
    return sorted;
  }

 private:
  std::vector<std::size_t> above_;
};

bool is_cleared(const LinkSurvey& survey, const Standing& standing, const Suspicion& suspicion) {
  const auto& [a, b] = suspicion;
  return evidence_on(survey, standing, a, b).refuted() &&
         evidence_on(survey, standing, b, a).refuted();
}

using Pair = std::pair<std::size_t, std::size_t>;

/// The host with most slow pairs, if these are three at least and half of all its pairs.
std::optional<std::size_t> host_with_most(const std::vector<Pair>& slow,
                                          const std::map<std::size_t, std::size_t>& pairs_of) {
  std::map<std::size_t, std::size_t> counts;
  for (const auto& [a, b] : slow) {
    ++counts[a];
    ++counts[b];
  }
  const auto worst =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  if (worst == counts.end() || worst->second < 3) return std::nullopt;
  return 2 * worst->second < pairs_of.at(worst->first) ? std::nullopt : std::optional(worst->first);
}

/// Hosts with most of their pairs slow are suspected once, with those partners; other pairs one by
/// one, and also those of a host that some partner has cleared.
void suspect_pairs(const LinkSurvey& survey, std::vector<Pair> slow,
                   const std::map<std::size_t, std::size_t>& pairs_of, Standing& standing) {
  std::vector<Pair> single;
  while (const auto host = host_with_most(slow, pairs_of)) {
    Suspicion suspicion{.a = {*host}, .b = {}};
    std::vector<Pair> pairs;
    for (const auto& pair : slow) {
      if (pair.first != *host && pair.second != *host) continue;
      pairs.push_back(pair);
      suspicion.b.push_back(pair.first == *host ? pair.second : pair.first);
    }
    std::erase_if(slow, [&](const Pair& pair) { return std::ranges::count(pairs, pair) > 0; });
    if (is_cleared(survey, standing, suspicion))
      single.insert(single.end(), pairs.begin(), pairs.end());
    else
      standing.suspicions.push_back(std::move(suspicion));
  }
  single.insert(single.end(), slow.begin(), slow.end());
  for (const auto& [a, b] : single) standing.suspicions.push_back({{a}, {b}});
}

}  // namespace

double score_of(const PulledData& data, const UsualLink& usual) {
  if (!data.why.empty()) return 0;
  const double rate = usual.gbit_per_s > 0 ? data.gbit_per_s / usual.gbit_per_s : 1;
  const bool late = usual.us > 0 && data.us > late_times * usual.us && data.us > usual.us + late_us;
  return late ? std::min(rate, usual.us / data.us) : rate;
}

bool Evidence::proven() const {
  if (refuted() || (draws > failed && !comparable)) return false;
  return draws >= draws_needed || (failed == draws && draws >= draws_for_broken);
}

Evidence evidence_on(const LinkSurvey& survey, const Standing& standing,
                     const std::vector<std::size_t>& to, const std::vector<std::size_t>& from) {
  const std::set<std::size_t> takers(to.begin(), to.end());
  const std::set<std::size_t> givers(from.begin(), from.end());
  Evidence evidence{.draws_needed = standing.draws_for_slow,
                    .comparable = standing.controls == 0 || standing.controls >= fewest_controls};
  for (const auto& done : survey.done) {
    if (done.order.round) continue;
    for (const auto& data : done.pulled) {
      if (!takers.contains(data.pull.to) || !givers.contains(data.pull.from)) continue;
      if (is_control(done, data.pull)) continue;
      ++evidence.draws;
      if (!data.why.empty()) ++evidence.failed;
      note(evidence.record, data, standing.in_controls);
    }
  }
  return evidence;
}

Standing standing_of(const LinkSurvey& survey) {
  Standing standing;
  standing.in_rounds = usual_in_rounds(survey);
  compare_with_controls(survey, standing);
  for (const auto& done : survey.done)
    for (const auto& data : done.pulled)
      note(standing.links[data.pull], data,
           done.order.round ? standing.in_rounds : standing.in_controls);
  standing.out = survey.silent;
  for (std::size_t host = 0; host < survey.hosts; ++host)
    if (is_cut_off(standing, host)) standing.out.insert(host);

  Groups groups(survey.hosts);
  std::vector<Pair> slow;
  std::map<std::size_t, std::size_t> pairs_of;
  for (const auto& [link, record] : standing.links) {
    if (link.to > link.from || standing.out.contains(link.to) || standing.out.contains(link.from))
      continue;
    const auto back = standing.links.find({link.from, link.to});
    if (back == standing.links.end()) continue;
    ++pairs_of[link.to];
    ++pairs_of[link.from];
    if (std::min(record.score, back->second.score) >= slow_below) {
      standing.fast.insert(link);
      groups.unite(link.to, link.from);
    } else {
      slow.emplace_back(link.to, link.from);
    }
  }
  auto parts = groups.all(standing.out);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (is_cleared(survey, standing, {parts[0], parts[i]}))
      groups.unite(parts[0].front(), parts[i].front());
  }
  parts = groups.all(standing.out);
  if (parts.empty()) return standing;
  standing.main = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i)
    standing.suspicions.push_back({parts[i], standing.main});
  std::erase_if(slow,
                [&](const Pair& pair) { return groups.of(pair.first) != groups.of(pair.second); });
  suspect_pairs(survey, std::move(slow), pairs_of, standing);
  return standing;
}

}  // namespace dllaunch
