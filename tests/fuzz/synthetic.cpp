// "packages:2 numa:4 cores:8 gpus:4".
#include "topology/node/synthetic.hpp"
#include "tests/fuzz/must_hold.hpp"
#include "topology/placement/placement.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto topology = synthetic_topology(text_of(data, size));
  if (!topology) {
    must_hold(topology.error().kind == ErrorKind::bad_request, "a refusal is a bad request");
    must_hold(!topology.error().what.empty(), "the refusal says what is wrong");
    return 0;
  }
  const auto cpus = topology->cpus();
  must_hold(!cpus.empty() && cpus.last() <= IdSet::max_id, "an accepted machine has CPUs");
  must_hold(topology->allowed_cpus == cpus, "all of them allowed");
  // Placement has tests of its own; here only that no accepted machine breaks it.
  if (topology->cores.size() > 512 || topology->gpus.size() > 64 || topology->numa.size() > 64)
    return 0;
  const auto placed = place_ranks(*topology, {});
  must_hold(static_cast<bool>(placed), "every whole machine can be placed on");
  for (const auto& rank : placed->ranks) {
    must_hold(!rank.cpus.empty(), "no mask is empty");
    must_hold(cpus.contains(rank.cpus), "no CPU lies outside the machine");
  }
  return 0;
}
