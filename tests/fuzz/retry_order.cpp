// RUN/.retry/N: nothing in it makes a supervisor write a file that it should not.
#include "launcher/supervise/hold/retry_order.hpp"

#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto order = parse_order(text_of(data, size));
  if (!order) return 0;
  for (const auto& [name, text] : order->files) {
    const bool known = name == "job.yaml" || name == "plan.json" || name == "train.json";
    must_hold(known, "an order writes files of a run");
  }
  return 0;
}
