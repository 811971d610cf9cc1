// Any file: topology.yaml, profiles with network:, and what is recognised as something else.
#include "launcher/network/read_network.hpp"
#include "tests/fuzz/network_promises.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto network = read_network(text_of(data, size), "FILE");
  if (network) {
    must_be_a_network(*network);
  } else {
    must_hold(!network.error().what.empty(), "the refusal says what is wrong");
  }
  return 0;
}
