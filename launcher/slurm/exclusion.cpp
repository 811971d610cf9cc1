#include "launcher/slurm/exclusion.hpp"

#include <algorithm>
#include <set>

#include "launcher/slurm/host_list.hpp"

namespace dllaunch {
namespace {

/// Empty for a list that cannot be read.
std::vector<std::string> hosts_of(const std::string& list) {
  auto hosts = expand_hosts(list);
  return hosts ? *std::move(hosts) : std::vector<std::string>();
}

struct Unfit {
  std::vector<std::string> nodes = {};  // newest first, each once
  std::size_t chain = 0;                // the first so many: since ranks last started
};

Unfit unfit_nodes(const Exclusion& wanted) {
  Unfit all{.nodes = hosts_of(wanted.fresh)};
  all.chain = all.nodes.size();
  std::size_t lists = 0;
  for (auto list = wanted.earlier.rbegin(); list != wanted.earlier.rend(); ++list) {
    for (auto& host : hosts_of(*list))
      if (std::ranges::find(all.nodes, host) == all.nodes.end())
        all.nodes.push_back(std::move(host));
    if (++lists <= wanted.chain) all.chain = all.nodes.size();
  }
  return all;
}

}  // namespace

std::string nodes_to_exclude(const Exclusion& wanted, const std::string& now,
                             const std::vector<std::string>& usable) {
  const auto [unfit, chain] = unfit_nodes(wanted);
  const auto fresh = hosts_of(wanted.fresh);
  const auto before = hosts_of(now);
  std::set<std::string> chosen(before.begin(), before.end());
  for (const auto& host : unfit) chosen.erase(host);
  // The user may have removed a node from the list since (scontrol update).
  const auto is_out = [&](const std::string& host) {
    return std::ranges::find(before, host) != before.end();
  };
  for (const auto& host : hosts_of(wanted.by_user))
    if (is_out(host)) chosen.insert(host);
  std::set<std::string> left(usable.begin(), usable.end());
  for (const auto& host : chosen) left.erase(host);

  constexpr std::size_t share = 10;
  const auto most = usable.empty() ? unfit.size() : (usable.size() + share - 1) / share;
  std::size_t count = 0;
  for (std::size_t i = 0; i < unfit.size() && (i < chain || count < most); ++i) {
    const auto& host = unfit[i];
    const bool still = i < fresh.size() || is_out(host);
    const bool counts = left.contains(host);
    if (!still || chosen.contains(host) || (counts && left.size() <= wanted.needed)) continue;
    left.erase(host);
    chosen.insert(host);
    ++count;
  }
  return compress_host_set({chosen.begin(), chosen.end()});
}

}  // namespace dllaunch
