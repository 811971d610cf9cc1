#include "launcher/links/tournament.hpp"

#include <bit>

namespace dllaunch {
namespace {

void add_pair(LinkOrder& order, std::size_t a, std::size_t b) {
  order.pulls.push_back({a, b});
  order.pulls.push_back({b, a});
}

LinkOrder round_of(std::size_t mask, std::size_t hosts) {
  LinkOrder order;
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < hosts; ++i) {
    const auto partner = i ^ mask;
    if (partner >= hosts)
      left.push_back(i);
    else if (i < partner)
      add_pair(order, i, partner);
  }
  for (std::size_t i = 0; i + 1 < left.size(); i += 2) add_pair(order, left[i], left[i + 1]);
  return order;
}

}  // namespace

std::vector<LinkOrder> tournament_rounds(std::size_t hosts) {
  std::vector<LinkOrder> rounds;
  const auto end = std::bit_ceil(hosts);
  for (std::size_t mask = 1; mask < end; mask *= 2) rounds.push_back(round_of(mask, hosts));
  if (hosts > most_hosts_for_all_pairs) return rounds;
  for (std::size_t mask = 1; mask < end; ++mask)
    if (!std::has_single_bit(mask)) rounds.push_back(round_of(mask, hosts));
  const auto once = rounds.size();
  while (once > 0 && rounds.size() < fewest_rounds) rounds.push_back(rounds[rounds.size() - once]);
  return rounds;
}

}  // namespace dllaunch
