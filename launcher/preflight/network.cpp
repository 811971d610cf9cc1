// Check: the nodes reach each other over the job's network; names the nodes that do not.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "launcher/preflight/check.hpp"
#include "launcher/preflight/exchange.hpp"
#include "support/network/interfaces.hpp"

namespace dllaunch {
namespace {

std::set<std::string> names_of(const std::vector<NetworkInterface>& interfaces) {
  std::set<std::string> names;
  for (const auto& card : interfaces) names.insert(card.name);
  if (names.empty()) names.insert("none");
  return names;
}

Result<Json> observe_network(const NodeView& view, const std::string&) {
  const auto& hosts = view.request.hosts;
  Json seen{{"interface", ""}, {"peers", Json::array()}};
  const auto own = std::ranges::find(hosts, view.node);
  if (hosts.size() < 2) return seen;
  if (own == hosts.end())
    return Error{ErrorKind::unavailable,
                 fmt::format("this node's name is {}, which is not a node of the job", view.node),
                 ""};
  // If Slurm does not pass on the environment, the mark is all that the nodes share.
  const auto secret = view.system.environment(preflight_secret).value_or("");
  ExchangePlan plan{.mark = view.request.mark,
                    .secret = secret.empty() ? view.request.mark : secret,
                    .own = static_cast<std::size_t>(own - hosts.begin())};
  for (const auto& host : hosts) plan.hosts.push_back(host + view.request.host_suffix);
  const auto wanted = view.system.environment("NCCL_SOCKET_IFNAME").value_or("");
  if (!wanted.empty()) {
    const auto here = interfaces_here();
    const auto meant = interfaces_meant(wanted, here);
    if (meant.empty()) {
      seen["error"] =
          fmt::format("NCCL_SOCKET_IFNAME={} matches no interface that is up; there are: {}",
                      wanted, fmt::join(names_of(interfaces_meant("^", here)), ", "));
      return seen;
    }
    seen["interface"] = meant.front().name;
    plan.address = meant.front().address;
  }
  const auto calls = exchange_with_peers(plan);
  if (!calls) return calls.error();
  const auto peers = peers_of(plan.own, hosts.size());
  for (std::size_t i = 0; i < calls->size(); ++i) {
    const auto& call = (*calls)[i];
    seen["peers"].push_back({{"to", hosts[peers[i]]},
                             {"reached", call.reached},
                             {"why", call.why},
                             {"ms", call.round_trip_ms},
                             {"mb_per_s", call.mb_per_s},
                             {"ahead_s", call.ahead_s}});
  }
  return seen;
}

struct Call {
  std::string from = {};
  std::string to = {};
  std::string why = {};
};

struct Tally {
  int calls = 0;  // in both directions
  int failed = 0;
};

/// Returns nodes whose removal explains all failed calls, starting with the one with most failures.
/// `first` runs the job's script and is blamed last.
std::map<std::string, std::vector<Call>> blamed(std::vector<Call> failed,
                                                const std::map<std::string, int>& calls_of,
                                                const std::string& first) {
  std::map<std::string, std::vector<Call>> guilty;
  while (!failed.empty()) {
    std::map<std::string, Tally> tallies;
    for (const auto& call : failed) {
      for (const auto& node : {call.from, call.to}) {
        ++tallies[node].failed;
        tallies[node].calls = calls_of.at(node);
      }
    }
    const auto worst = std::ranges::max_element(tallies, [&](const auto& a, const auto& b) {
      const auto rank = [&](const auto& entry) {
        const auto& [node, tally] = entry;
        return std::tuple(tally.failed, -tally.calls, node != first);
      };
      return rank(a) < rank(b);
    });
    const auto node = worst->first;
    for (const auto& call : failed)
      if (call.from == node || call.to == node) guilty[node].push_back(call);
    std::erase_if(failed, [&](const Call& call) { return call.from == node || call.to == node; });
  }
  return guilty;
}

std::string words_of(const std::string& node, const std::vector<Call>& calls) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(calls.size(), most); ++i) {
    const auto& call = calls[i];
    text += text.empty() ? "" : "; ";
    text += call.from == node ? fmt::format("it cannot reach {}", call.to)
                              : fmt::format("{} cannot reach it", call.from);
    text += call.why.empty() ? "" : ": " + call.why;
  }
  if (calls.size() > most) text += fmt::format("; and {} more", calls.size() - most);
  return text;
}

struct Calls {
  std::vector<Call> failed = {};
  std::map<std::string, int> of = {};  // node -> calls in both directions
};

/// Returns the calls between nodes that answered.
Calls calls_in(const std::vector<NodeSample>& samples) {
  std::set<std::string> here;
  for (const auto& sample : samples) here.insert(sample.node);
  Calls calls;
  for (const auto& sample : samples) {
    if (!sample.seen.is_object() || !sample.seen.contains("peers")) continue;
    for (const auto& peer : sample.seen["peers"]) {
      const auto to = text_of(peer, "to");
      if (!here.contains(to) || to == sample.node) continue;
      ++calls.of[sample.node];
      ++calls.of[to];
      if (!flag_of(peer, "reached"))
        calls.failed.push_back({sample.node, to, text_of(peer, "why")});
    }
  }
  return calls;
}

std::string value_of(const NodeSample& sample) {
  int reached = 0;
  double ms = 0;
  double slowest = 0;
  if (sample.seen.is_object() && sample.seen.contains("peers")) {
    for (const auto& peer : sample.seen["peers"]) {
      if (!flag_of(peer, "reached")) continue;
      ms = std::max(ms, number_of(peer, "ms").value_or(0));
      const auto speed = number_of(peer, "mb_per_s").value_or(0);
      slowest = reached == 0 ? speed : std::min(slowest, speed);
      ++reached;
    }
  }
  if (reached == 0) return "no other node";
  const auto interface = text_of(sample.seen, "interface");
  return fmt::format("{} peer{}{}{}, {:.2f} ms, {:.0f} MB/s", reached, reached == 1 ? "" : "s",
                     interface.empty() ? "" : " over ", interface, ms, slowest);
}

std::vector<NodeResult> judge_network(const PreflightRequest& request,
                                      const std::vector<NodeSample>& samples) {
  const auto calls = calls_in(samples);
  const auto first = request.hosts.empty() ? std::string() : request.hosts.front();
  const auto guilty = blamed(calls.failed, calls.of, first);
  std::vector<NodeResult> results;
  for (const auto& sample : samples) {
    PreflightResult result{.value = value_of(sample)};
    const auto found = guilty.find(sample.node);
    if (const auto error = text_of(sample.seen, "error"); !error.empty()) {
      result.level = Level::fail;
      result.why = error;
      result.fix = "ip -brief address on that node; leave it out until its interface is back";
    } else if (found != guilty.end()) {
      result.level = Level::fail;
      result.why = words_of(sample.node, found->second);
      result.fix =
          "leave the node out; check its cable, its switch port and firewalls between nodes";
    }
    results.push_back({sample.node, std::move(result)});
  }
  return results;
}

}  // namespace

extern const PreflightCheck network_check;
const PreflightCheck network_check{
    .name = "network",
    .about = "TCP between nodes, over NCCL_SOCKET_IFNAME where it is set: a line and 1 MiB",
    .limit = std::chrono::milliseconds(3500),
    .observe = observe_network,
    .judge = judge_network};

}  // namespace dllaunch
