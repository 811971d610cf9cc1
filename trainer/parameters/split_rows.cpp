// Parameters whose rows are split among ranks (trainer/split): dealt to them and joined again, and
// their norms.
#include <algorithm>
#include <cstring>
#include <utility>

#include "trainer/parameters/arena_visits.hpp"

namespace dllaunch {
namespace {

/// Bytes that every rank receives at a time, also of rows that it does not keep.
constexpr std::size_t piece_bytes = std::size_t{16} << 20;

/// Collective. Calls visit(first byte, bytes) for each piece after the root's bytes are in it.
template <typename Fill, typename Visit>
void broadcast_pieces(Communicator& communicator, int root, std::size_t bytes, const Fill& fill,
                      const Visit& visit) {
  std::vector<std::byte> piece(std::min(bytes, piece_bytes));
  for (std::size_t from = 0; from < bytes; from += piece.size()) {
    const std::span now(piece.data(), std::min(piece.size(), bytes - from));
    if (communicator.rank() == root) fill(from, now);
    communicator.wait(communicator.broadcast(now.data(), now.size(), DType::u8, root));
    visit(from, now);
  }
}

std::size_t row_bytes(const ParameterSlot& slot, DType type) {
  return static_cast<std::size_t>(elements_of(slot.shape) / slot.shape.front()) * bytes_of(type);
}

}  // namespace

/// Each rank gets its rows of what rank 0 loaded: of nothing, of weights, or of states too.
void ParameterArenas::deal_rows() {
  std::vector<std::pair<const Memory*, std::string>> arenas{{&weights_[0], ""}};
  for (std::size_t s = 0; s < states_.size(); ++s) {
    arenas.emplace_back(&states_[s], state_suffixes_[s]);
  }
  const auto& slots = executable_.slots();
  auto loaded = static_cast<std::int64_t>(loaded_.size() / (slots.size() - first_split_));
  communicator_.wait(communicator_.broadcast(&loaded, 1, DType::i64, /*root=*/0));
  for (std::size_t a = 0; a < static_cast<std::size_t>(loaded); ++a) {
    for (std::size_t slot = first_split_; slot < slots.size(); ++slot) {
      const auto whole = loaded_.find(slots[slot].name + arenas[a].second);
      deal_rows(static_cast<int>(slot), *arenas[a].first,
                whole == loaded_.end() ? nullptr : &whole->second);
    }
  }
  loaded_.clear();
}

/// `whole`: on rank 0.
void ParameterArenas::deal_rows(int slot, const Memory& arena, const Tensor* whole) {
  const ParameterSlot& to = executable_.slots()[static_cast<std::size_t>(slot)];
  const std::size_t row = row_bytes(to, layout_.type);
  const std::size_t own_begin = static_cast<std::size_t>(to.rows->first) * row;
  const std::size_t own_end = own_begin + static_cast<std::size_t>(to.rows->count) * row;
  std::vector<std::byte> plain(static_cast<std::size_t>(to.shape.front()) * row);
  broadcast_pieces(
      communicator_, /*root=*/0, static_cast<std::size_t>(to.rows->all) * row,
      [&](std::size_t from, std::span<std::byte> piece) {
        std::memcpy(piece.data(), whole->data.data() + from, piece.size());
      },
      [&](std::size_t from, std::span<const std::byte> piece) {
        const std::size_t begin = std::max(from, own_begin);
        const std::size_t end = std::min(from + piece.size(), own_end);
        if (begin >= end) return;
        std::memcpy(plain.data() + (begin - own_begin), piece.data() + (begin - from), end - begin);
      });
  executable_.from_plain(slot, plain.data(), layout_.at(arena.bytes, slot));
}

std::vector<Tensor> ParameterArenas::join(std::vector<Tensor> own) const {
  if (!split()) return own;
  const auto& slots = executable_.slots();
  const bool root = communicator_.rank() == 0;
  for (std::size_t t = 0; t < own.size(); ++t) {
    const ParameterSlot& slot = slots[t % slots.size()];
    if (!slot.rows) continue;
    const std::size_t row = row_bytes(slot, layout_.type);
    std::vector<std::byte> whole;
    if (root) whole.resize(row * static_cast<std::size_t>(slot.rows->all));
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      const SlotRows theirs = rows_of_rank(slot.rows->all, rank, communicator_.size());
      broadcast_pieces(
          communicator_, rank, row * static_cast<std::size_t>(theirs.count),
          [&](std::size_t from, std::span<std::byte> piece) {
            std::memcpy(piece.data(), own[t].data.data() + from, piece.size());
          },
          [&](std::size_t from, std::span<const std::byte> piece) {
            const std::size_t at = row * static_cast<std::size_t>(theirs.first) + from;
            if (root) std::memcpy(whole.data() + at, piece.data(), piece.size());
          });
    }
    own[t].shape = whole_shape(slot);
    own[t].data = std::move(whole);
  }
  if (!root) own.clear();
  return own;
}

/// Each rank has measured its rows alone.
void ParameterArenas::sum_split_measures() {
  const std::span split = std::span(sums_).subspan(first_split_);
  static_assert(sizeof(SquareSums) == 2 * sizeof(double), "reduced as an array of doubles");
  communicator_.wait(
      communicator_.all_reduce(split.data(), 2 * split.size(), DType::f64, ReduceOp::sum));
}

}  // namespace dllaunch
