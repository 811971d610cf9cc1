// What ibnetdiscover prints.
#include "launcher/network/ibnetdiscover.hpp"
#include "tests/fuzz/network_promises.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  must_be_a_network(read_ibnetdiscover(text_of(data, size), "FILE"));
  return 0;
}
