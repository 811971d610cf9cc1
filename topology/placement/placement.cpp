#include "topology/placement/placement.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "support/counted.hpp"
#include "support/position.hpp"
#include "topology/placement/deal_cores.hpp"
#include "topology/placement/nearest_nic.hpp"
#include "topology/placement/reserved_cpus.hpp"
#include "topology/placement/seats.hpp"

namespace dllaunch {
namespace {

Error bad_request(std::string what, std::string hint = "") {
  return {ErrorKind::bad_request, std::move(what), std::move(hint)};
}

int default_ranks(const Topology& topology, int gpus) {
  if (gpus > 0) return gpus;
  int nodes = 0;
  IdSet seen;
  for (const auto& node : topology.numa) {
    const auto cpus = node.cpus & topology.allowed_cpus;
    if (!cpus.empty() && !seen.contains(cpus)) ++nodes;
    seen |= cpus;
  }
  return std::max(nodes, 1);
}

// ---- messages -------------------------------------------------------------------------------

std::string gpu_words(const Topology& topology, const std::vector<int>& gpus) {
  if (gpus.empty()) return "no GPU";
  const auto& first = topology.gpus[at(gpus[0])];
  if (gpus.size() == 1 && first.pci.empty()) return fmt::format("GPU {}", first.index);
  if (gpus.size() == 1) return fmt::format("GPU {} ({})", first.index, first.pci);
  std::string text = "GPUs";
  for (const int g : gpus)
    text += fmt::format("{}{}", g == gpus[0] ? " " : ",", topology.gpus[at(g)].index);
  return text;
}

std::string numa_words(const IdSet& numa) {
  if (numa.empty()) return "an unknown NUMA node";
  return fmt::format("NUMA node{} {}", numa.size() == 1 ? "" : "s", to_list(numa));
}

int cores_among(const UsableNode& node, const IdSet& cpus) {
  return static_cast<int>(
      std::count_if(node.cores.begin(), node.cores.end(),
                    [&](const ShareUnit& core) { return core.cpus.intersects(cpus); }));
}

std::string why_words(const UsableNode& node, const Seat& seat, const RankPlacement& rank,
                      int cores_in_domain, int ranks_in_domain) {
  const auto near = rank.cpus - rank.far;
  const int cores = cores_among(node, near);
  const auto numa = numa_words(node.topology.numa_of(near.empty() ? seat.domain : near));
  std::string text;
  if (seat.gpus.empty())
    text = fmt::format("no GPU: {} of {} usable cores on {}", cores, cores_in_domain, numa);
  else if (seat.widened.empty())
    text = fmt::format("{} of {} usable cores local to {} on {}", cores, cores_in_domain,
                       gpu_words(node.topology, seat.gpus), numa);
  else
    text = fmt::format("no CPU local to {} is usable: {} of {} usable cores of {}",
                       gpu_words(node.topology, seat.gpus), cores, cores_in_domain, seat.widened);
  if (ranks_in_domain > 1) text += fmt::format(", which {} ranks divide", ranks_in_domain);
  if (!rank.far.empty())
    text += fmt::format(", then {} farther on {}", cores_among(node, rank.far),
                        numa_words(node.topology.numa_of(rank.far)));
  return text;
}

std::string ranks_words(const IdSet& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", to_list(ranks));
}

std::string cpus_words(const IdSet& cpus) {
  return fmt::format("CPU{} {}", cpus.size() == 1 ? "" : "s", to_list(cpus));
}

// Which ranks have far CPUs, and why.
std::string reach_words(const Placement& placement, const PlacementRequest& request) {
  IdSet ranks;
  IdSet far;
  for (const auto& rank : placement.ranks) {
    if (rank.far.empty()) continue;
    ranks.insert(rank.local_rank);
    far |= rank.far;
  }
  if (ranks.empty()) return "";
  const auto why =
      request.cores_per_rank > 0
          ? fmt::format("{} cores per rank were requested, fewer are near", request.cores_per_rank)
          : std::string("cores: fill leaves none idle");
  return fmt::format("near cores first, then far ones for {} ({}): {}", ranks_words(ranks),
                     cpus_words(far), why);
}

// Cores that stay idle although the request did not ask for fewer.
std::string idle_words(const UsableNode& node, const Placement& placement,
                       const PlacementRequest& request) {
  if (request.cores != BindCores::automatic || request.cores_per_rank > 0 ||
      request.mode == BindMode::core)
    return "";
  IdSet taken;
  for (const auto& rank : placement.ranks) taken |= rank.cpus;
  IdSet idle;
  for (const auto& core : node.cores)
    if (!core.cpus.intersects(taken)) idle |= request.smt ? core.cpus : IdSet{core.cpus.first()};
  if (idle.empty()) return "";
  return fmt::format("{} of {} usable cores stay idle ({}): no GPU of these ranks is near them",
                     cores_among(node, idle), node.cores.size(), cpus_words(idle));
}

// ---- policies -------------------------------------------------------------------------------

void choose_nics(const Topology& topology, Placement& placement) {
  std::vector<int> used(topology.nics.size(), 0);
  for (auto& rank : placement.ranks) {
    const Gpu* gpu = rank.gpus.empty() ? nullptr : &topology.gpus[at(rank.gpus[0])];
    const int nic = nearest_nic(topology, gpu, rank.cpus, used);
    if (nic < 0) continue;
    ++used[at(nic)];
    rank.nic = topology.nics[at(nic)].name;
  }
}

Placement place_unbound(const UsableNode& node, std::vector<Seat> seats) {
  Placement placement{.policy = BindPolicy::none};
  for (int r = 0; r < std::ssize(seats); ++r)
    placement.ranks.push_back({.local_rank = r,
                               .gpus = std::move(seats[at(r)].gpus),
                               .cpus = node.cpus,
                               .numa = node.topology.numa_of(node.cpus),
                               .why = "policy none: every allowed CPU"});
  return placement;
}

Result<Placement> place_explicit(const Topology& topology, const PlacementRequest& request,
                                 std::vector<Seat> seats) {
  if (request.masks.size() < seats.size())
    return bad_request(
        fmt::format("policy explicit: {} masks for {} ranks", request.masks.size(), seats.size()),
        "give one mask per rank");
  Placement placement{.policy = BindPolicy::explicit_masks};
  std::vector<int> all;
  if (request.masks.size() > seats.size())
    placement.warnings.push_back(fmt::format("{} masks for {} ranks: the last {} are not used",
                                             request.masks.size(), seats.size(),
                                             request.masks.size() - seats.size()));
  for (int r = 0; r < std::ssize(seats); ++r) {
    const auto& mask = request.masks[at(r)];
    if (mask.empty()) return bad_request(fmt::format("mask of rank {} is empty", r));
    const auto outside = mask - topology.allowed_cpus;
    if (!outside.empty())
      return bad_request(fmt::format("mask {} of rank {} holds CPUs {} that are not allowed here",
                                     to_mask(mask), r, to_list(outside)),
                         fmt::format("the allowed CPUs are {}", to_list(topology.allowed_cpus)));
    all.push_back(r);
    placement.ranks.push_back({.local_rank = r,
                               .gpus = std::move(seats[at(r)].gpus),
                               .cpus = mask,
                               .numa = topology.numa_of(mask),
                               .why = "policy explicit: the mask given for this rank"});
  }
  if (const auto sharing = describe_sharing(request.masks, all); !sharing.empty())
    placement.warnings.push_back(sharing + ": their masks overlap");
  return placement;
}

Placement place_bound(const UsableNode& node, std::vector<Seat> seats,
                      const PlacementRequest& request) {
  auto dealt = deal_cores(node, seats, request);
  Placement placement{.policy = request.policy, .ranks = {}, .warnings = std::move(dealt.warnings)};
  for (int r = 0; r < std::ssize(seats); ++r) {
    auto& seat = seats[at(r)];
    RankPlacement rank{.local_rank = r, .gpus = seat.gpus, .cpus = std::move(dealt.cpus[at(r)])};
    rank.far = std::move(dealt.far[at(r)]);
    rank.numa = node.topology.numa_of(rank.cpus);
    rank.why =
        why_words(node, seat, rank, dealt.cores_in_domain[at(r)], dealt.ranks_in_domain[at(r)]);
    if (!seat.widened.empty())
      placement.warnings.push_back(
          fmt::format("rank {}: no CPU local to {} is usable, so it gets "
                      "CPUs {} of {}",
                      r, gpu_words(node.topology, seat.gpus), to_list(rank.cpus), seat.widened));
    placement.ranks.push_back(std::move(rank));
  }
  placement.reach = reach_words(placement, request);
  placement.idle = idle_words(node, placement, request);
  return placement;
}

Result<int> rank_count(const Topology& topology, const PlacementRequest& request, int gpus) {
  constexpr int most_ranks = IdSet::max_id + 1;
  if (request.ranks < 0 || request.ranks > most_ranks)
    return bad_request(fmt::format("asked for {} ranks on a node", request.ranks),
                       fmt::format("ask for 1 to {}", most_ranks));
  if (request.ranks > 0) return request.ranks;
  if (request.policy == BindPolicy::explicit_masks && !request.masks.empty())
    return static_cast<int>(request.masks.size());
  return default_ranks(topology, gpus);
}

Error too_few_cores(const PlacementRequest& request, int ranks, std::size_t cores) {
  return {ErrorKind::unsatisfiable,
          fmt::format("asked for {} of {}, {} are usable on the node", counted(ranks, "rank"),
                      counted(request.cores_per_rank, "core"), cores),
          fmt::format("ask for at most {} cores per rank",
                      std::max<std::size_t>(1, cores / at(std::max(ranks, 1))))};
}

template <typename Word, std::size_t size>
Result<Word> parse_word(std::string_view word, std::string_view what,
                        const std::array<std::pair<std::string_view, Word>, size>& known) {
  std::string names;
  for (const auto& [name, value] : known) {
    if (name == word) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return bad_request(fmt::format("unknown {} '{}'", what, word.substr(0, 40)),
                     fmt::format("choose one of {}", names));
}

constexpr std::array<std::pair<std::string_view, BindPolicy>, 4> policies{
    {{"closest", BindPolicy::closest},
     {"spread", BindPolicy::spread},
     {"none", BindPolicy::none},
     {"explicit", BindPolicy::explicit_masks}}};

constexpr std::array<std::pair<std::string_view, BindCores>, 3> core_choices{
    {{"auto", BindCores::automatic}, {"near", BindCores::near}, {"fill", BindCores::fill}}};

}  // namespace

Result<Placement> place_ranks(const Topology& topology, const PlacementRequest& request) {
  const auto have = static_cast<int>(topology.gpus.size());
  if (request.gpus > have)
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("asked for {}, the node has {}", counted(request.gpus, "GPU"), have),
                 fmt::format("ask for at most {}", have)};
  const int gpus = request.gpus < 0 ? have : request.gpus;
  const auto ranks = rank_count(topology, request, gpus);
  if (!ranks) return ranks.error();

  std::vector<std::string> warnings;
  const bool memory_is_near_none =
      topology.numa.size() > 1 &&
      std::ranges::all_of(topology.numa, [](const NumaNode& node) { return node.cpus.empty(); });
  if (memory_is_near_none)
    warnings.emplace_back(
        "NUMA locality unknown: this node says which memory it has, not which CPUs are near it; "
        "ranks are not bound to memory");
  IdSet usable = topology.allowed_cpus & topology.cpus();
  const bool shares_cores =
      request.policy == BindPolicy::closest || request.policy == BindPolicy::spread;
  if (shares_cores) {
    auto reserved = reserved_cpus(topology, request.reserve);
    if (!reserved) return std::move(reserved).error();
    const bool any_l3 = std::any_of(topology.cores.begin(), topology.cores.end(),
                                    [](const Core& core) { return core.l3 >= 0; });
    if (request.reserve == "first-core-per-l3" && !any_l3)
      warnings.emplace_back(
          "reserve first-core-per-l3 reserves nothing: this node shows no L3 cache");
    usable -= *reserved;
  }
  if (usable.empty())
    return Error{ErrorKind::unsatisfiable, "no allowed CPU is left for the ranks",
                 "allow more CPUs or reserve fewer"};

  const UsableNode node(topology, std::move(usable));
  if (shares_cores && request.cores_per_rank > 0 &&
      1LL * request.cores_per_rank * *ranks > std::ssize(node.cores))
    return too_few_cores(request, *ranks, node.cores.size());

  auto seats = seat_ranks(node, *ranks, gpus, request.order, request.mode);
  Result<Placement> placement =
      request.policy == BindPolicy::none ? place_unbound(node, std::move(seats))
      : shares_cores                     ? place_bound(node, std::move(seats), request)
                                         : place_explicit(topology, request, std::move(seats));
  if (!placement) return placement;
  placement->warnings.insert(placement->warnings.begin(), warnings.begin(), warnings.end());
  choose_nics(topology, *placement);
  return placement;
}

Result<BindPolicy> parse_bind_policy(std::string_view word) {
  return parse_word(word, "binding policy", policies);
}

Result<BindMode> parse_bind_mode(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, BindMode>, 3> modes{
      {{"cores", BindMode::cores}, {"core", BindMode::core}, {"numa", BindMode::numa}}};
  return parse_word(word, "binding mode", modes);
}

Result<BindCores> parse_bind_cores(std::string_view word) {
  return parse_word(word, "choice of cores", core_choices);
}

Result<RankOrder> parse_rank_order(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, RankOrder>, 2> orders{
      {{"gpu", RankOrder::gpu}, {"numa", RankOrder::numa}}};
  return parse_word(word, "rank order", orders);
}

std::string_view to_string(BindPolicy policy) {
  for (const auto& [name, value] : policies)
    if (value == policy) return name;
  return "closest";
}

std::string_view to_string(BindCores cores) {
  for (const auto& [name, value] : core_choices)
    if (value == cores) return name;
  return "auto";
}

}  // namespace dllaunch
