// The node book, which others of a group may write too. Whatever it says, the nodes are judged, it
// is compacted, and what is kept is judged.
#include "launcher/nodes/avoided_nodes.hpp"
#include "launcher/nodes/compact_sightings.hpp"
#include "launcher/nodes/judge_nodes.hpp"
#include "launcher/nodes/render_nodes.hpp"
#include "support/random.hpp"
#include "tests/fuzz/must_hold.hpp"

namespace {

/// Damaged text rarely has the right sum: what stands in its lines is signed too.
std::string signed_lines(std::string_view text) {
  using namespace dllaunch;
  std::string lines;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto body = line.substr(0, line.rfind(",\"sum\""));
    char sum[17] = {};
    std::snprintf(sum, sizeof sum, "%016llx", static_cast<unsigned long long>(stable_hash(body)));
    lines += std::string(body) + ",\"sum\":\"" + sum + "\"}\n";
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  constexpr double now = 1'800'000'000;
  sightings_in(text_of(data, size));
  const auto read = sightings_in(signed_lines(text_of(data, size)));
  for (const auto& one : read.all) {
    const auto again = sightings_in(line_of(one));
    must_hold(again.all.size() == 1 && again.all[0] == one, "what was written is read");
  }
  const auto judged = judge_nodes(read.all, now);
  for (const auto& one : judged) {
    must_hold(one.score >= 0, "nothing speaks for a node");
    must_hold(one.late_share <= 1 && one.speed_share <= 1, "shares are at most 1");
    must_hold(one.grade == NodeGrade::good || !one.why.empty(), "a judgement has its reason");
  }
  must_hold(!render_nodes(judged, now, 3).empty(), "there is a table");
  const auto kept = compact_sightings(read.all, now, 1000);
  std::size_t bytes = 0;
  for (const auto& one : kept) bytes += line_of(one).size();
  must_hold(bytes <= 1000, "a compacted book is bounded");
  const auto avoided = choose_avoided(judged, {"auto"}, "c", {"n1", "n2", "n3"}, 1);
  must_hold(avoided.nodes.size() <= 1, "at most one of three nodes is avoided");
  return 0;
}
