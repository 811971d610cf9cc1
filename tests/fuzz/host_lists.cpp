// "n[1-3,07],gpu-a[01-16]-ib".
#include "launcher/slurm/host_list.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto hosts = expand_hosts(text_of(data, size));
  if (!hosts) {
    must_hold(!hosts.error().what.empty(), "the refusal says what is wrong");
    return 0;
  }
  must_hold(hosts->size() <= max_hosts, "no more hosts than any cluster has");
  const auto again = expand_hosts(compress_hosts(*hosts));
  must_hold(again && *again == *hosts, "expand, compress, expand gives the same hosts");
  return 0;
}
