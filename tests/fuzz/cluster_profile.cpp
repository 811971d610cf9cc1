// Cluster profiles: a profile that can be planned with, or every problem at a place in the file.
#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/cluster/profile_facts.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto text = text_of(data, size);
  const auto parsed = parse_cluster_profile(text, "cluster.yaml");
  must_hold(parsed.profile.has_value() == parsed.problems.empty(), "a profile, or its problems");
  for (const auto& problem : parsed.problems) {
    must_hold(problem.line >= 1 && problem.column >= 1, "a problem has a place");
    must_hold(!problem.message.empty(), "a problem has a message");
  }
  must_hold(render(parsed.problems, false).find('\x1b') == std::string::npos,
            "nothing of the file moves the cursor");
  if (!parsed.profile) return 0;
  for (const auto& node : parsed.profile->nodes) {
    const auto& topology = node.topology;
    must_hold(!topology.allowed_cpus.empty(), "a node has CPUs for jobs");
    must_hold(topology.present_cpus.contains(topology.allowed_cpus), "which are its own");
    for (const auto& gpu : topology.gpus)
      must_hold(topology.present_cpus.contains(gpu.cpus), "a GPU's CPUs are on its node");
  }
  for (const auto& partition : parsed.profile->partitions)
    if (partition.nodes > 100'000) return 0;  // one name a node: slow, and nothing new
  const auto facts = facts_from_profile(std::make_shared<const ClusterProfile>(*parsed.profile));
  must_hold(static_cast<bool>(facts) == !parsed.profile->partitions.empty(),
            "partitions are all that facts need");
  return 0;
}
