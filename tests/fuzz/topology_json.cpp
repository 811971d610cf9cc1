// Output of `topo --json`, possibly edited.

#include "support/json.hpp"
#include "tests/fuzz/must_hold.hpp"
#include "topology/discovery/topology_format.hpp"
#include "topology/placement/placement.hpp"
#include "topology/render/render_topology.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto document = Json::parse(text_of(data, size), nullptr,
                                    /*allow_exceptions=*/false);
  if (document.is_discarded()) return 0;
  const auto topology = topology_from_json(document);
  if (!topology) {
    must_hold(!topology.error().what.empty(), "the refusal says what is wrong");
    return 0;
  }
  const auto written = to_json(*topology);
  const auto again = topology_from_json(written);
  must_hold(static_cast<bool>(again), "what was written is read");
  must_hold(to_json(*again) == written, "and means the same");
  if (topology->cores.size() > 512 || topology->gpus.size() > 64 || topology->numa.size() > 64)
    return 0;
  must_hold(!render_topology(*topology, 80, false).empty(), "it can be shown");
  const auto placed = place_ranks(*topology, {});
  if (!placed) return 0;
  for (const auto& rank : placed->ranks) {
    must_hold(!rank.cpus.empty(), "no mask is empty");
    must_hold(topology->allowed_cpus.contains(rank.cpus), "no CPU lies outside the allowed set");
  }
  return 0;
}
