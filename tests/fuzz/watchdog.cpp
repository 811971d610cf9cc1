// What watchdogs read: datagrams that anybody may send, and texts of /proc.
#include <algorithm>
#include <span>

#include "runtime/communicators/mpi/segment_names.hpp"
#include "runtime/watchdog/kernel_view.hpp"
#include "runtime/watchdog/message.hpp"
#include "tests/fuzz/must_hold.hpp"

namespace dllaunch {
namespace {

constexpr int ranks = 64;

bool is_rank(int rank) {
  return rank >= 0 && rank < ranks;
}

void read_message(std::span<const std::byte> bytes) {
  const JobToken token = {};
  const auto message = decode(bytes, token, ranks);
  if (!message) return;
  must_hold(is_rank(message->from) && is_rank(message->to), "senders are ranks");
  must_hold(std::ranges::all_of(message->ranks, is_rank), "who is asked for is a rank");
  for (const RankState& state : message->states) {
    must_hold(is_rank(state.rank), "states are of ranks");
    must_hold(!to_string(state.phase).empty() && !to_string(state.kind).empty(), "known words");
    must_hold(state.waiting_age_ns >= 0 && state.phase_age_ns >= 0, "ages");
  }
  const auto again = encode(*message, token);
  must_hold(again.size() == bytes.size(), "it is as long as it came");
  must_hold(decode(again, token, ranks).has_value(), "it can be sent on");
  judge(message->states, 1);
}

}  // namespace
}  // namespace dllaunch

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  read_message(std::as_bytes(std::span(data, size)));
  const auto text = text_of(data, size);
  must_hold(!describe(read_kernel_view(text, text, text)).empty(), "a state has a word");
  for (const auto& path : mapped_segments(text)) must_hold(path[0] == '/', "a path");
  return 0;
}
