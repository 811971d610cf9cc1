#include "runtime/communicators/ring/ring.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/communicators/aligned_memory.hpp"
#include "runtime/communicators/reduction/reduction.hpp"

namespace dllaunch {
namespace {

class Ring final : public Communicator {
 public:
  explicit Ring(std::unique_ptr<Peers> world) : peers_(std::move(world)) {}

  std::string_view name() const override { return "ring"; }
  int rank() const override { return peers_->rank(); }
  int size() const override { return peers_->size(); }

  Pending all_reduce(void* data, std::size_t count, DType type, ReduceOp op) override {
    const std::size_t each = (count + ranks() - 1) / ranks();
    return start(
        data, {type, op, size()},
        [=](std::size_t r) {
          return Span{std::min(count, r * each), std::min(count, (r + 1) * each)};
        },
        Phases::both);
  }
  Pending reduce_scatter(void* data, std::size_t count, DType type, ReduceOp op) override {
    return start(data, {type, op, size()}, blocks_of(count), Phases::reduce);
  }
  Pending all_gather(void* data, std::size_t count, DType type) override {
    return start(data, {type, ReduceOp::sum, 1}, blocks_of(count), Phases::gather);
  }
  Pending broadcast(void* data, std::size_t count, DType type, int root) override;
  Pending barrier() override;

  bool test(Pending pending) override {
    peers_->progress();
    return peers_->is_done(pending);
  }
  void wait(Pending pending) override { peers_->wait(pending); }

  std::span<std::byte> allocate(std::size_t bytes) override { return memory_.allocate(bytes); }

 private:
  /// Elements [begin, end): the part a rank owns after the reductions.
  struct Span {
    std::size_t begin;
    std::size_t end;
  };
  using SpanOf = std::function<Span(std::size_t rank)>;
  enum class Phases { reduce, gather, both };

  struct Turn {
    std::byte* data;
    Reduction reduction;
    SpanOf span_of;
    Phases phases;
    std::uint64_t round;
    std::vector<std::byte> received = {};

    std::byte* at(std::size_t rank) const {
      return data + span_of(rank).begin * bytes_of(reduction.type);
    }
    std::size_t count(std::size_t rank) const { return span_of(rank).end - span_of(rank).begin; }
    std::size_t bytes(std::size_t rank) const { return count(rank) * bytes_of(reduction.type); }
  };

  std::size_t ranks() const { return static_cast<std::size_t>(size()); }
  /// The rank `steps` before this one.
  std::size_t before(std::size_t steps) const {
    return (static_cast<std::size_t>(rank()) + ranks() - steps % ranks()) % ranks();
  }
  int left() const { return static_cast<int>(before(1)); }
  int right() const { return static_cast<int>(before(ranks() - 1)); }
  static SpanOf blocks_of(std::size_t count) {
    return [=](std::size_t r) { return Span{r * count, (r + 1) * count}; };
  }

  Pending start(void* data, Reduction reduction, SpanOf span_of, Phases phases);
  void reduce_step(Pending pending, const std::shared_ptr<Turn>& turn, std::size_t step);
  void gather_step(Pending pending, const std::shared_ptr<Turn>& turn, std::size_t step);
  void divide(const Turn& turn) const;

  AlignedMemory memory_;  // before peers_, whose destructor waits for operations on it
  std::unique_ptr<Peers> peers_;
  std::uint64_t round_ = 0;
};

Pending Ring::start(void* data, Reduction reduction, SpanOf span_of, Phases phases) {
  auto turn = std::make_shared<Turn>(
      Turn{static_cast<std::byte*>(data), reduction, std::move(span_of), phases, ++round_});
  if (size() == 1) return {};
  const Pending pending = peers_->open();
  if (phases == Phases::gather) {
    gather_step(pending, turn, 0);
  } else {
    reduce_step(pending, turn, 0);
  }
  return pending;
}

/// Step s: send the partial sum of the span of the rank s + 1 before, and add this rank's data to
/// that of the rank s + 2 before. After p - 1 steps this rank's span is complete.
void Ring::reduce_step(Pending pending, const std::shared_ptr<Turn>& turn, std::size_t step) {
  const std::size_t out = before(step + 1);
  const std::size_t in = before(step + 2);
  turn->received.resize(turn->bytes(in));
  peers_->receive(pending, turn->received.data(), turn->bytes(in), left(), turn->round);
  peers_->send(pending, turn->at(out), turn->bytes(out), right(), turn->round);
  peers_->at_end(pending, [=, this] {
    const std::array<const std::byte*, 2> sources = {turn->received.data(), turn->at(in)};
    const std::array<std::byte*, 1> sum = {turn->at(in)};
    const ReduceOp op = turn->reduction.op;
    const ReduceOp pair = op == ReduceOp::average ? ReduceOp::sum : op;
    reduce({turn->reduction.type, pair}, sources, sum, turn->count(in));
    if (step + 2 < ranks()) return reduce_step(pending, turn, step + 1);
    divide(*turn);
    if (turn->phases == Phases::both) gather_step(pending, turn, 0);
  });
}

/// Step s: send the span of the rank s before, receive that of the rank s + 1 before.
void Ring::gather_step(Pending pending, const std::shared_ptr<Turn>& turn, std::size_t step) {
  const std::size_t out = before(step);
  const std::size_t in = before(step + 1);
  peers_->receive(pending, turn->at(in), turn->bytes(in), left(), turn->round);
  peers_->send(pending, turn->at(out), turn->bytes(out), right(), turn->round);
  if (step + 2 >= ranks()) return;
  peers_->at_end(pending, [=, this] { gather_step(pending, turn, step + 1); });
}

void Ring::divide(const Turn& turn) const {
  if (turn.reduction.op != ReduceOp::average) return;
  const auto mine = static_cast<std::size_t>(rank());
  const std::array<const std::byte*, 1> sum = {turn.at(mine)};
  const std::array<std::byte*, 1> average = {turn.at(mine)};
  reduce(turn.reduction, sum, average, turn.count(mine));
}

/// From rank to rank, p - 1 steps in sequence.
Pending Ring::broadcast(void* data, std::size_t count, DType type, int root) {
  const std::uint64_t round = ++round_;
  if (size() == 1) return {};
  const Pending pending = peers_->open();
  auto* const bytes = static_cast<std::byte*>(data);
  const std::size_t size = count * bytes_of(type);
  const auto pass_on = [=, this] {
    if (right() != root) peers_->send(pending, bytes, size, right(), round);
  };
  if (rank() == root) {
    pass_on();
  } else {
    peers_->receive(pending, bytes, size, left(), round);
    peers_->at_end(pending, pass_on);
  }
  return pending;
}

/// An empty all-reduce: no rank ends before every rank has begun.
Pending Ring::barrier() {
  return start(
      nullptr, {DType::u8, ReduceOp::sum, 1},
      [](std::size_t) {
        return Span{0, 0};
      },
      Phases::both);
}

}  // namespace

std::unique_ptr<Communicator> open_ring(std::unique_ptr<Peers> world) {
  return std::make_unique<Ring>(std::move(world));
}

}  // namespace dllaunch
