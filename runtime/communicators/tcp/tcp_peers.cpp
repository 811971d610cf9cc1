#include "runtime/communicators/tcp/tcp_peers.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <utility>

#include "runtime/communicators/peers/exchanges.hpp"
#include "runtime/communicators/reduction/reduction.hpp"
#include "runtime/communicators/tcp/links.hpp"
#include "runtime/communicators/tcp/preferred_address.hpp"
#include "runtime/rank/transport.hpp"
#include "support/parse_number.hpp"
#include "support/random.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;

// Tags of this file's own messages; those of callers are smaller.
constexpr std::uint64_t collective_tag = std::uint64_t{1} << 63;
constexpr std::uint64_t gather_tag = std::uint64_t{3} << 62;
constexpr int tag_bits_of_round = 16;

constexpr int polls_before_sleep = 500;  // of a rank that only waits
constexpr milliseconds longest_sleep{50};

/// A part of a buffer, reduced by one rank.
struct Part {
  std::size_t begin;  // elements
  std::size_t count;
};

Part part_of(std::size_t count, int rank, int ranks) {
  const auto each = (count + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
  const std::size_t begin = std::min(count, static_cast<std::size_t>(rank) * each);
  return {begin, std::min(count - begin, each)};
}

std::string host_name() {
  std::array<char, 256> name = {};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == 0) return "unknown";
  return name.data();
}

/// Equal for processes that may share memory: one kernel, one set of process ids. Whether they can
/// is found out when they try.
std::int64_t node_key() {
  std::string identity;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> identity;
  identity += host_name();
  std::array<char, 64> name = {};
  if (::readlink("/proc/self/ns/pid", name.data(), name.size() - 1) > 0) identity += name.data();
  return std::bit_cast<std::int64_t>(random_key(0, identity));
}

class TcpPeers final : public Peers {
 public:
  /// `members`: ranks of the job, in the order of the group.
  TcpPeers(std::shared_ptr<Links> links, std::uint32_t group, std::vector<int> members)
      : links_(std::move(links)), group_(group), members_(std::move(members)) {
    const auto own = std::ranges::find(members_, links_->rank());
    rank_ = static_cast<int>(own - members_.begin());
  }
  ~TcpPeers() override {
    while (unfinished_ > 0) wait_for_some();
  }

  std::string transport() const override {
    return fmt::format("{}x{}{}", tcp_protocol, links_->connections(),
                       links_->has_preferred() ? "+card" : "");
  }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }

  std::unique_ptr<Peers> split(int colour, int key) const override { return divide(colour, key); }
  std::unique_ptr<Peers> on_this_node() const override { return divide(node_key(), rank_); }

  std::size_t best_message_bytes() const override { return most_message_bytes; }
  /// Messages of any size go whole.
  void limit_messages(std::size_t) override {}

  Pending open() override { return exchanges_.open(); }
  void send(Pending exchange, const std::byte* data, std::size_t bytes, int to,
            std::uint64_t round) override {
    links_->send(member(to), {group_, round, bytes}, data, add(exchange));
  }
  void receive(Pending exchange, std::byte* data, std::size_t bytes, int from,
               std::uint64_t round) override {
    links_->receive(member(from), {group_, round, bytes}, data, add(exchange));
  }
  void all_reduce(Pending exchange, std::byte* data, std::size_t count, DType type,
                  ReduceOp op) override;
  void broadcast(Pending exchange, std::byte* data, std::size_t bytes, int root) override;
  void barrier(Pending exchange) override;

  void at_end(Pending exchange, std::function<void()> action) override {
    exchanges_.at_end(exchange, std::move(action));
  }
  void progress() override;
  bool is_done(Pending exchange) const override { return exchanges_.is_done(exchange); }
  void wait(Pending exchange) override {
    while (!is_done(exchange)) wait_for_some();
  }

  std::vector<std::int64_t> gather_all(std::span<const std::int64_t> words) const override;

 private:
  int member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }
  /// The rank `distance` after this one; before it if negative.
  int neighbour(int distance) const { return (rank_ + distance + size()) % size(); }

  Receipt add(Pending exchange) {
    exchanges_.add(exchange);
    ++unfinished_;
    return {&received_, exchange.id};
  }
  /// Ends messages that have arrived or left. Their exchanges' actions may send others.
  void settle();
  void wait_for_some();
  std::unique_ptr<Peers> divide(std::int64_t colour, int key) const;

  /// A collective is a part of the caller's exchange, whose action is the caller's: its messages
  /// have an exchange of their own, and its end is that of one message of the caller's.
  struct PartOfExchange {
    Pending own;
    Receipt receipt;
    std::uint64_t tag;
  };
  PartOfExchange begin_part(Pending exchange) {
    const Receipt receipt = add(exchange);
    return {exchanges_.open(), receipt, collective_tag | ++collectives_ << tag_bits_of_round};
  }
  void reach(const PartOfExchange& part, int distance);

  std::shared_ptr<Links> links_;
  std::uint32_t group_;
  std::vector<int> members_;
  int rank_ = 0;
  Exchanges exchanges_;
  long unfinished_ = 0;                 // messages
  std::vector<std::int64_t> received_;  // or sent, and not settled
  std::uint64_t collectives_ = 0;       // begun, alike on all ranks
  unsigned idle_ = 0;                   // calls of progress() with nothing in progress
};

// ---- progress

void TcpPeers::settle() {
  for (std::size_t i = 0; i < received_.size(); ++i) {
    --unfinished_;
    exchanges_.finish_one_of(received_[i]);
  }
  received_.clear();
}

void TcpPeers::progress() {
  constexpr unsigned idle_calls_per_look = 64;
  if (unfinished_ == 0 && ++idle_ % idle_calls_per_look != 0) return;
  links_->progress(milliseconds(0));
  settle();
}

void TcpPeers::wait_for_some() {
  for (int polls = 0; received_.empty(); ++polls) {
    links_->progress(polls < polls_before_sleep ? milliseconds(0) : longest_sleep);
  }
  settle();
}

// ---- groups

std::unique_ptr<Peers> TcpPeers::divide(std::int64_t colour, int key) const {
  const std::array<std::int64_t, 3> mine = {colour, key, links_->next_group()};
  const auto all = gather_all(mine);
  std::vector<std::pair<std::int64_t, std::size_t>> seats;  // key, and rank in this group
  std::int64_t group = 0;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    if (all[3 * rank] == colour) seats.emplace_back(all[3 * rank + 1], rank);
    group = std::max(group, all[3 * rank + 2]);
  }
  std::ranges::sort(seats);
  std::vector<int> members;
  members.reserve(seats.size());
  for (const auto& [place, rank] : seats) members.push_back(members_[rank]);
  links_->take_group(static_cast<std::uint32_t>(group));
  return std::make_unique<TcpPeers>(links_, static_cast<std::uint32_t>(group), std::move(members));
}

/// Bruck's algorithm: in round k each rank sends the 2^k blocks that it has to the rank 2^k before
/// it. Blocks lie from the rank's own on.
std::vector<std::int64_t> TcpPeers::gather_all(std::span<const std::int64_t> words) const {
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<std::int64_t> blocks(words.begin(), words.end());
  blocks.resize(ranks * words.size());
  std::vector<std::int64_t> ended;
  for (std::size_t have = 1; have < ranks; have *= 2) {
    const std::size_t more = std::min(have, ranks - have);
    const MessageName name{group_, gather_tag | have, more * words.size_bytes()};
    const int distance = static_cast<int>(have);
    auto* const from = reinterpret_cast<std::byte*>(blocks.data());
    links_->receive(member(neighbour(distance)), name, from + have * words.size_bytes(), {&ended});
    links_->send(member(neighbour(-distance)), name, from, {&ended});
    while (ended.size() < 2) links_->progress(longest_sleep);
    ended.clear();
  }
  const auto own = blocks.end() - static_cast<std::ptrdiff_t>(words.size()) * rank_;
  std::rotate(blocks.begin(), own, blocks.end());
  return blocks;
}

// ---- collectives

/// In round k every rank tells the one 2^k after it that it, and all it has heard of, have come.
void TcpPeers::barrier(Pending exchange) {
  if (size() == 1) return add(exchange).give();
  reach(begin_part(exchange), 1);
}

void TcpPeers::reach(const PartOfExchange& part, int distance) {
  if (distance >= size()) return part.receipt.give();
  const std::uint64_t tag = part.tag | static_cast<std::uint64_t>(distance);
  send(part.own, nullptr, 0, neighbour(distance), tag);
  receive(part.own, nullptr, 0, neighbour(-distance), tag);
  at_end(part.own, [=, this] { reach(part, 2 * distance); });
}

/// A binomial tree, of ranks counted from the root.
void TcpPeers::broadcast(Pending exchange, std::byte* data, std::size_t bytes, int root) {
  if (size() == 1) return add(exchange).give();
  const PartOfExchange part = begin_part(exchange);
  const int own = (rank_ - root + size()) % size();
  const int span =
      own == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(size()))) : own & -own;
  const auto pass_on = [=, this] {
    at_end(part.own, [part] { part.receipt.give(); });
    if (span == 1 || own + 1 == size()) return part.receipt.give();
    for (int step = span / 2; step > 0; step /= 2) {
      if (own + step >= size()) continue;
      send(part.own, data, bytes, (root + own + step) % size(), part.tag);
    }
  };
  if (own == 0) return pass_on();
  receive(part.own, data, bytes, (root + own - span) % size(), part.tag);
  at_end(part.own, pass_on);
}

/// Each rank reduces a part, in rank order, and sends it to all: the same bits everywhere.
void TcpPeers::all_reduce(Pending exchange, std::byte* data, std::size_t count, DType type,
                          ReduceOp op) {
  if (size() == 1 || count == 0) return add(exchange).give();
  const PartOfExchange part = begin_part(exchange);
  const std::size_t element = bytes_of(type);
  const Part mine = part_of(count, rank_, size());
  const std::size_t bytes = mine.count * element;
  std::byte* const own = data + mine.begin * element;
  const std::shared_ptr<std::byte[]> others(
      new std::byte[bytes * static_cast<std::size_t>(size() - 1)]);
  std::byte* to = others.get();
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    const Part theirs = part_of(count, peer, size());
    if (bytes > 0) receive(part.own, to, bytes, peer, part.tag);
    if (theirs.count > 0) {
      send(part.own, data + theirs.begin * element, theirs.count * element, peer, part.tag);
    }
    to += bytes;
  }
  at_end(part.own, [=, this] {
    std::vector<const std::byte*> sources;
    const std::byte* from = others.get();
    for (int peer = 0; peer < size(); ++peer) {
      sources.push_back(peer == rank_ ? own : from);
      if (peer != rank_) from += bytes;
    }
    const std::array<std::byte*, 1> result = {own};
    reduce({type, op == ReduceOp::average ? ReduceOp::sum : op}, sources, result, mine.count);
    at_end(part.own, [part] { part.receipt.give(); });
    for (int peer = 0; peer < size(); ++peer) {
      const Part theirs = part_of(count, peer, size());
      if (peer == rank_) continue;
      if (theirs.count > 0) {
        receive(part.own, data + theirs.begin * element, theirs.count * element, peer,
                part.tag | 1);
      }
      if (bytes > 0) send(part.own, own, bytes, peer, part.tag | 1);
    }
  });
}

// ---- opening

constexpr const char* connections_variable = "DLLAUNCH_TCP_CONNECTIONS";

void warn(std::string_view sentence) {
  fmt::print(stderr, "dltrain: warning: {}\n", sentence);
}

/// Returns where the launcher wants the ranks to meet. A rank alone needs no place.
Result<MeetingPlan> plan_of(const RankEnv& env, const EnvLookup& lookup) {
  MeetingPlan plan{
      .rank = env.rank, .size = env.world_size, .host = host_name(), .warn = Say(warn)};
  if (env.world_size == 1) return plan;
  plan.address = lookup("MASTER_ADDR").value_or("");
  plan.port = parse_number<int>(lookup("MASTER_PORT").value_or("")).value_or(0);
  plan.secret = lookup(start_secret_variable).value_or("");
  plan.preferred = preferred_address(lookup);
  const auto connections = parse_number<int>(lookup(connections_variable).value_or("1"));
  if (!connections || *connections < 1 || *connections > most_connections) {
    return Error{ErrorKind::bad_request,
                 fmt::format("{}={}: a number from 1 to {} is wanted", connections_variable,
                             *lookup(connections_variable), most_connections),
                 ""};
  }
  plan.connections = *connections;
  if (!plan.address.empty() && plan.port > 0 && plan.port < 65536 && !plan.secret.empty()) {
    return plan;
  }
  return Error{ErrorKind::unavailable,
               fmt::format("{} ranks cannot meet over TCP: MASTER_ADDR, MASTER_PORT and {} are not "
                           "all set",
                           env.world_size, start_secret_variable),
               "start them through `dllaunch exec`, or with MPI: srun --mpi=pmix, or mpirun"};
}

Result<std::shared_ptr<Links>> open_links(const MeetingPlan& plan) {
  auto met = meet(plan);
  if (!met) return std::move(met).error();
  return std::make_shared<Links>(plan, *std::move(met));
}

/// All ranks of the job, before any other group.
TcpPeers first_group(const std::shared_ptr<Links>& links) {
  std::vector<int> all(static_cast<std::size_t>(links->size()));
  std::iota(all.begin(), all.end(), 0);
  return {links, 0, std::move(all)};
}

}  // namespace

Result<std::unique_ptr<Peers>> open_tcp_peers_at(const MeetingPlan& plan) {
  auto links = open_links(plan);
  if (!links) return std::move(links).error();
  return first_group(*links).split(0, plan.rank);
}

Result<std::unique_ptr<Peers>> open_tcp_peers(const RankEnv& env, const EnvLookup& lookup) {
  static std::weak_ptr<Links> shared;
  std::shared_ptr<Links> links = shared.lock();
  if (!links) {
    auto plan = plan_of(env, lookup);
    if (!plan) return std::move(plan).error();
    auto opened = open_links(*plan);
    if (!opened) return std::move(opened).error();
    links = *std::move(opened);
    shared = links;
  }
  return first_group(links).split(0, env.rank);
}

}  // namespace dllaunch
