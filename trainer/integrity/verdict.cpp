#include "trainer/integrity/verdict.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "support/json_fields.hpp"
#include "trainer/integrity/comparing.hpp"

namespace dllaunch {

template <typename Field>
void visit_fields(Field& field, Digest& digest) {
  field.required("weights", digest.weights);
  field.required("states", digest.states);
  field.required("gradients", digest.gradients);
}

template <typename Field>
void visit_fields(Field& field, Suspicion& suspicion) {
  field.required("since", suspicion.since);
  field.required("step", suspicion.step);
  field.required("hosts", suspicion.hosts);
  field.required("digests", suspicion.digests);
  field.required("prints", suspicion.prints);
}

namespace {

/// Adds one group of replicas to the verdict.
void judge_group(std::span<const Digest> digests, int first_rank, ReplicaVerdict& verdict) {
  const Digest& first = digests.front();
  const auto differs = [&](auto part) {
    return std::ranges::any_of(digests,
                               [&](const Digest& one) { return one.*part != first.*part; });
  };
  if (std::ranges::all_of(digests, [&](const Digest& one) { return one == first; })) return;
  verdict.agreed = false;
  verdict.weights = verdict.weights || differs(&Digest::weights);
  verdict.states = verdict.states || differs(&Digest::states);
  verdict.gradients = verdict.gradients || differs(&Digest::gradients);
  const auto alike = [&](const Digest& one) { return std::ranges::count(digests, one); };
  const auto most = std::ranges::max(digests, {}, alike);
  const bool decided = 2 * alike(most) > std::ssize(digests);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const int rank = first_rank + static_cast<int>(i);
    verdict.apart.push_back(rank);
    if (decided && digests[i] != most) verdict.wrong.push_back(rank);
  }
}

}  // namespace

ReplicaVerdict judge(std::span<const Digest> digests, int groups) {
  ReplicaVerdict verdict;
  const std::size_t each = digests.size() / static_cast<std::size_t>(groups);
  for (std::size_t first = 0; each > 0 && first + each <= digests.size(); first += each) {
    judge_group(digests.subspan(first, each), static_cast<int>(first), verdict);
  }
  return verdict;
}

std::string words_of(const ReplicaVerdict& verdict) {
  const std::array<std::pair<bool, std::string_view>, 3> parts{
      {{verdict.weights, "weights"},
       {verdict.states, "optimizer state"},
       {verdict.gradients, "sums of gradients"}}};
  std::string words;
  for (const auto& [differs, part] : parts) {
    if (differs) words += (words.empty() ? "" : ", ") + std::string(part);
  }
  if (const auto comma = words.rfind(", "); comma != std::string::npos)
    words.replace(comma, 2, " and ");
  return words;
}

std::vector<int> judge_again(const Suspicion& before, std::span<const std::int64_t> deviated,
                             std::span<const Digest> again, int groups) {
  const std::vector<int> apart = judge(before.digests, groups).apart;
  std::int64_t earliest = 0;
  for (const std::int64_t step : deviated) {
    if (step != 0 && (earliest == 0 || step < earliest)) earliest = step;
  }
  std::vector<int> wrong;
  for (const int rank : apart) {
    const auto i = static_cast<std::size_t>(rank);
    const bool other = earliest != 0   ? deviated[i] == earliest
                       : again.empty() ? false
                                       : again[i] != before.digests[i];
    if (other) wrong.push_back(rank);
  }
  if (wrong.size() == apart.size()) wrong.clear();
  return wrong;
}

std::string text_of(const Suspicion& suspicion) {
  return write_fields(suspicion).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Suspicion> read_suspicion(std::string_view text) {
  if (text.size() > most_suspicion_bytes)
    return Error{ErrorKind::bad_request, "is longer than any that dltrain writes", ""};
  Suspicion read;
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::string problem = read_fields(document, read);
  const std::size_t ranks = read.hosts.size();
  if (problem.empty() &&
      (ranks == 0 || read.digests.size() != ranks || read.prints.size() != ranks))
    problem = "has not one entry for each rank";
  if (problem.empty() && (read.since < 0 || read.step <= read.since ||
                          static_cast<std::uint64_t>(read.step - read.since) > most_prints))
    problem = "has no sound steps";
  for (const auto& prints : read.prints) {
    if (problem.empty() && prints.size() != static_cast<std::size_t>(read.step - read.since))
      problem = "has not one print for each step";
  }
  if (!problem.empty()) return Error{ErrorKind::bad_request, problem, ""};
  return read;
}

}  // namespace dllaunch
