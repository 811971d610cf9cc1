// How the arenas of a rank are walked through: pieces of parameters, for the threads of a CPU, and
// runs of them, for a device. For the files that define ParameterArenas.
#pragma once

#include <algorithm>
#include <vector>

#include "trainer/parameters/parameter_arenas.hpp"

namespace dllaunch {

/// Splits an update into parts for the threads of a pool. Elements are independent, so the split
/// does not change the result.
class SharedUpdate {
 public:
  explicit SharedUpdate(std::size_t bytes_each) : bytes_each_(bytes_each) {}

  void add(const ParameterUpdate& piece) {
    for (std::size_t from = 0; from < piece.elements; from += largest) {
      ParameterUpdate part = piece;
      part.elements = std::min(largest, piece.elements - from);
      part.weights = behind(piece.weights, from);
      part.gradients = behind(piece.gradients, from);
      first_state_.push_back(states_.size());
      for (void* state : piece.states) states_.push_back(behind(state, from));
      parts_.push_back(part);
    }
  }
  int parts() const { return static_cast<int>(parts_.size()); }
  ParameterUpdate part(int index) const {
    const auto i = static_cast<std::size_t>(index);
    ParameterUpdate part = parts_[i];
    part.states = std::span(states_).subspan(first_state_[i], part.states.size());
    return part;
  }

 private:
  static constexpr std::size_t largest = std::size_t{1} << 16;  // elements

  void* behind(void* memory, std::size_t elements) const {
    return static_cast<std::byte*>(memory) + elements * bytes_each_;
  }

  std::size_t bytes_each_;
  std::vector<ParameterUpdate> parts_;
  std::vector<std::size_t> first_state_;  // offset of each part in states_
  std::vector<void*> states_;
};

template <typename Visit>
void ParameterArenas::visit_pieces(const Own& own, Visit visit) {
  const std::size_t size = bytes_of(layout_.type);
  const std::size_t end = own.range.offset + own.range.elements;
  std::vector<void*> states(optimizer_states());
  auto slot = static_cast<std::size_t>(std::ranges::upper_bound(layout_.offset, own.range.offset) -
                                       layout_.offset.begin());
  for (slot = slot == 0 ? 0 : slot - 1; slot < layout_.offset.size(); ++slot) {
    const std::size_t from = std::max(layout_.offset[slot], own.range.offset);
    const std::size_t to = std::min(layout_.offset[slot] + layout_.elements[slot], end);
    if (layout_.offset[slot] >= end) return;
    if (from >= to || !trained_[slot]) continue;
    for (std::size_t s = 0; s < states.size(); ++s) {
      states[s] = state_at(s, own) + (from - own.range.offset) * size;
    }
    visit(slot, ParameterUpdate{.elements = to - from,
                                .weights = weights_[0].bytes.data() + from * size,
                                .gradients = gradients_.bytes.data() + from * size,
                                .states = states,
                                .one_dimensional = executable_.slots()[slot].shape.size() <= 1});
  }
}

template <typename Visit>
void ParameterArenas::visit_runs(const Own& own, Visit visit) {
  const std::size_t size = bytes_of(layout_.type);
  for (const Own& run : trained_runs(own)) {
    std::vector<void*> states;
    for (std::size_t s = 0; s < optimizer_states(); ++s) states.push_back(state_at(s, run));
    const std::size_t from = run.range.offset * size;
    visit(ArenaPart{.first = run.range.offset,
                    .elements = run.range.elements,
                    .weights = weights_[0].bytes.data() + from,
                    .gradients = gradients_.bytes.data() + from,
                    .states = states},
          run);
  }
}

}  // namespace dllaunch
