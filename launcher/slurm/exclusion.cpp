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

/// Nodes that were found unfit, newest first, each once.
std::vector<std::string> unfit_nodes(const Exclusion& wanted) {
  std::vector<std::string> all = hosts_of(wanted.fresh);
  for (auto list = wanted.earlier.rbegin(); list != wanted.earlier.rend(); ++list)
    for (auto& host : hosts_of(*list))
      if (std::ranges::find(all, host) == all.end()) all.push_back(std::move(host));
  return all;
}

}  // namespace

std::string nodes_to_exclude(const Exclusion& wanted, const std::string& now,
                             const std::vector<std::string>& usable) {
  const auto unfit = unfit_nodes(wanted);
  const auto fresh = hosts_of(wanted.fresh);
  const auto before = hosts_of(now);
  std::set<std::string> chosen(before.begin(), before.end());
  for (const auto& host : unfit) chosen.erase(host);
  for (auto& host : hosts_of(wanted.by_user)) chosen.insert(std::move(host));
  std::set<std::string> left(usable.begin(), usable.end());
  for (const auto& host : chosen) left.erase(host);

  constexpr std::size_t share = 10;
  const auto most = std::max(fresh.size(), (usable.size() + share - 1) / share);
  std::size_t count = 0;
  for (std::size_t i = 0; i < unfit.size() && count < most; ++i) {
    const auto& host = unfit[i];
    // Somebody may have let an earlier one in again.
    const bool still = i < fresh.size() || std::ranges::find(before, host) != before.end();
    const bool counts = left.contains(host);
    if (!still || chosen.contains(host) || (counts && left.size() <= wanted.needed)) continue;
    left.erase(host);
    chosen.insert(host);
    ++count;
  }
  return compress_host_set({chosen.begin(), chosen.end()});
}

}  // namespace dllaunch
