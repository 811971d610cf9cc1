#include "launcher/links/link_verdict.hpp"

#include <set>

#include "launcher/links/next_order.hpp"
#include "launcher/links/tournament.hpp"

namespace dllaunch {
namespace {

SlowDirection direction_of(const Evidence& evidence) {
  return {.slow = evidence.proven(),
          .gbit_per_s = evidence.record.best.gbit_per_s,
          .us = evidence.record.best.us,
          .why = evidence.record.best.why,
          .draws = evidence.draws};
}

SlowKind kind_of(const Suspicion& suspicion) {
  if (suspicion.a.size() > 1) return SlowKind::group;
  return suspicion.b.size() > 1 ? SlowKind::host : SlowKind::pair;
}

std::size_t pairs_missed(const LinkSurvey& survey, const Standing& standing) {
  std::set<std::pair<std::size_t, std::size_t>> missed;
  for (const auto& round : tournament_rounds(survey.hosts)) {
    for (const auto& pull : round.pulls) {
      const bool out = standing.out.contains(pull.to) || standing.out.contains(pull.from);
      if (!out && !standing.links.contains(pull)) missed.insert(std::minmax(pull.to, pull.from));
    }
  }
  return missed.size();
}

}  // namespace

bool all_links_fine(const LinkVerdict& verdict) {
  return verdict.slow.empty() && verdict.unsure.empty() && verdict.silent.empty() &&
         verdict.cut_off.empty() && verdict.missed == 0;
}

LinkVerdict judge_links(const LinkSurvey& survey) {
  const auto standing = standing_of(survey);
  LinkVerdict verdict{.usual = standing.in_controls, .under_load = standing.in_rounds};
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  for (const auto& [link, record] : standing.links)
    pairs.insert({std::min(link.to, link.from), std::max(link.to, link.from)});
  verdict.pairs = pairs.size();
  verdict.missed = pairs_missed(survey, standing);
  for (const auto host : standing.out)
    (survey.silent.contains(host) ? verdict.silent : verdict.cut_off).push_back(host);
  for (const auto& suspicion : standing.suspicions) {
    SlowLink link{.kind = kind_of(suspicion), .a = suspicion.a, .b = suspicion.b};
    link.sends = direction_of(evidence_on(survey, standing, link.b, link.a));
    link.receives = direction_of(evidence_on(survey, standing, link.a, link.b));
    if (link.sends.slow || link.receives.slow)
      verdict.slow.push_back(std::move(link));
    else if (is_open(survey, standing, suspicion))
      verdict.unsure.push_back(std::move(link));
  }
  return verdict;
}

}  // namespace dllaunch
