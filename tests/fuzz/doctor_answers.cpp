// What srun brings back from the nodes that doctor asks.
#include "launcher/doctor/bench.hpp"
#include "launcher/doctor/gather.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto text = text_of(data, size);
  Report all;
  for (const auto& [host, document] : read_answers(text)) {
    must_hold(!host.empty(), "an answer names its host");
    auto report = report_from_json(document);
    if (!report) {
      must_hold(!report.error().what.empty(), "the refusal says what is wrong");
      continue;
    }
    const auto again = report_from_json(to_json(*report));
    must_hold(again && to_json(*again) == to_json(*report), "what was written is read");
    merge(all, *std::move(report));
  }
  must_hold(!render_report(all, 80, true).empty(), "there is a verdict");
  return 0;
}
