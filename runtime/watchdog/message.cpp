#include "runtime/watchdog/message.hpp"

#include <algorithm>
#include <cstring>

namespace dllaunch {
namespace {

constexpr std::uint32_t magic = 0x32574c44;  // identifies the layout and the byte order
constexpr std::uint8_t dead_flag = 1;
constexpr std::uint8_t left_flag = 2;

struct Head {
  std::uint32_t magic;
  JobToken token;
  std::int32_t from;
  std::int32_t to;
  MessageKind kind;
  std::uint8_t count;  // of states or ranks
  std::uint16_t text_bytes;
};
static_assert(sizeof(Head) == 32);

struct StateOnWire {
  std::int32_t rank;
  std::uint8_t flags;
  RankPhase phase;
  CollectiveKind kind;
  CollectiveScope scope;
  std::int64_t heartbeat_age_ns;
  std::int64_t step;
  std::int64_t phase_age_ns;
  std::array<std::uint64_t, collective_scopes> begun;
  std::array<std::uint64_t, collective_scopes> ended;
  std::uint64_t waiting_for;
  std::int64_t waiting_rank;
  std::int64_t waiting_age_ns;
  std::uint64_t bytes;
};
static_assert(sizeof(StateOnWire) == 96, "without padding");
static_assert(sizeof(Head) + WatchdogMessage::most_states * sizeof(StateOnWire) <=
              most_message_bytes);
static_assert(sizeof(Head) + WatchdogMessage::most_ranks * 4 + WatchdogMessage::most_text <=
              most_message_bytes);

StateOnWire to_wire(const RankState& state) {
  return {.rank = state.rank,
          .flags = static_cast<std::uint8_t>((state.dead ? dead_flag : 0) |
                                             (state.left ? left_flag : 0)),
          .phase = state.phase,
          .kind = state.kind,
          .scope = state.scope,
          .heartbeat_age_ns = state.heartbeat_age_ns,
          .step = state.step,
          .phase_age_ns = state.phase_age_ns,
          .begun = state.begun,
          .ended = state.ended,
          .waiting_for = state.waiting_for,
          .waiting_rank = state.waiting_rank,
          .waiting_age_ns = state.waiting_age_ns,
          .bytes = state.bytes};
}

/// Larger ages are invalid; sums of a few stay far from overflow.
constexpr std::int64_t longest_age_ns = std::int64_t{1} << 60;

std::optional<RankState> from_wire(const StateOnWire& wire, int ranks) {
  const bool sound = wire.rank >= 0 && wire.rank < ranks && wire.flags <= (dead_flag | left_flag) &&
                     wire.phase <= RankPhase::end && wire.kind <= CollectiveKind::barrier &&
                     wire.scope <= CollectiveScope::group && wire.waiting_rank >= -1 &&
                     wire.waiting_rank < ranks;
  if (!sound) return std::nullopt;
  const auto age = [](std::int64_t ns) { return std::clamp<std::int64_t>(ns, 0, longest_age_ns); };
  RankState state;
  state.rank = wire.rank;
  state.dead = (wire.flags & dead_flag) != 0;
  state.left = (wire.flags & left_flag) != 0;
  state.heartbeat_age_ns = age(wire.heartbeat_age_ns);
  state.step = wire.step;
  state.phase = wire.phase;
  state.phase_age_ns = age(wire.phase_age_ns);
  state.begun = wire.begun;
  state.ended = wire.ended;
  state.waiting_for = wire.waiting_for;
  state.waiting_rank = static_cast<int>(wire.waiting_rank);
  state.scope = wire.scope;
  state.waiting_age_ns = age(wire.waiting_age_ns);
  state.kind = wire.kind;
  state.bytes = wire.bytes;
  return state;
}

template <typename T>
void append(std::vector<std::byte>& bytes, const T* values, std::size_t count) {
  const auto* first = reinterpret_cast<const std::byte*>(values);
  bytes.insert(bytes.end(), first, first + count * sizeof(T));
}

/// Takes values from the front of `bytes`; false if too few are left.
template <typename T>
bool take(std::span<const std::byte>& bytes, T* values, std::size_t count) {
  if (bytes.size() < count * sizeof(T)) return false;
  if (count > 0) std::memcpy(values, bytes.data(), count * sizeof(T));
  bytes = bytes.subspan(count * sizeof(T));
  return true;
}

bool holds_states(MessageKind kind) {
  return kind == MessageKind::report || kind == MessageKind::answer;
}

bool take_states(std::span<const std::byte>& bytes, std::size_t count, int ranks,
                 std::vector<RankState>& states) {
  for (std::size_t i = 0; i < count; ++i) {
    StateOnWire wire = {};
    if (!take(bytes, &wire, 1)) return false;
    const auto state = from_wire(wire, ranks);
    if (!state) return false;
    states.push_back(*state);
  }
  return true;
}

bool take_ranks(std::span<const std::byte>& bytes, std::size_t count, int ranks,
                std::vector<int>& named) {
  named.resize(count);
  if (!take(bytes, named.data(), count)) return false;
  return std::ranges::all_of(named, [&](int rank) { return rank >= 0 && rank < ranks; });
}

}  // namespace

std::vector<std::byte> encode(const WatchdogMessage& message, const JobToken& token) {
  const bool states = holds_states(message.kind);
  const std::size_t count = states ? std::min(message.states.size(), WatchdogMessage::most_states)
                                   : std::min(message.ranks.size(), WatchdogMessage::most_ranks);
  const std::size_t text_bytes = std::min(message.text.size(), WatchdogMessage::most_text);
  const Head head{.magic = magic,
                  .token = token,
                  .from = message.from,
                  .to = message.to,
                  .kind = message.kind,
                  .count = static_cast<std::uint8_t>(count),
                  .text_bytes = static_cast<std::uint16_t>(states ? 0 : text_bytes)};
  std::vector<std::byte> bytes;
  append(bytes, &head, 1);
  if (states) {
    for (std::size_t i = 0; i < count; ++i) {
      const StateOnWire wire = to_wire(message.states[i]);
      append(bytes, &wire, 1);
    }
    return bytes;
  }
  append(bytes, message.ranks.data(), count);
  append(bytes, message.text.data(), text_bytes);
  return bytes;
}

std::optional<WatchdogMessage> decode(std::span<const std::byte> bytes, const JobToken& token,
                                      int ranks) {
  Head head = {};
  if (!take(bytes, &head, 1) || head.magic != magic || head.token != token) return std::nullopt;
  const bool sound = head.from >= 0 && head.from < ranks && head.to >= 0 && head.to < ranks &&
                     head.kind <= MessageKind::give_up &&
                     head.count <= (holds_states(head.kind) ? WatchdogMessage::most_states
                                                            : WatchdogMessage::most_ranks) &&
                     head.text_bytes <= (holds_states(head.kind) ? 0 : WatchdogMessage::most_text);
  if (!sound) return std::nullopt;
  WatchdogMessage message{.kind = head.kind, .from = head.from, .to = head.to};
  const bool listed = holds_states(head.kind)
                          ? take_states(bytes, head.count, ranks, message.states)
                          : take_ranks(bytes, head.count, ranks, message.ranks);
  message.text.resize(head.text_bytes);
  if (!listed || !take(bytes, message.text.data(), message.text.size()) || !bytes.empty()) {
    return std::nullopt;
  }
  return message;
}

}  // namespace dllaunch
