// SLURM_TOPOLOGY_ADDR of all nodes.
#include "launcher/network/topology_address.hpp"
#include "tests/fuzz/network_promises.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  must_be_a_network(
      network_of_addresses(parse_topology_addresses(text_of(data, size)), "SLURM_TOPOLOGY_ADDR"));
  return 0;
}
