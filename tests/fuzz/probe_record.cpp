// A record of `dllaunch probe`: from the cache, or out of a job's output.

#include "launcher/cluster/probed_node.hpp"
#include "launcher/probe/probe_job.hpp"
#include "support/json.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto text = text_of(data, size);
  const auto capture = find_capture(text);
  must_hold(capture || !capture.error().what.empty(), "the refusal says what is wrong");

  const auto document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return 0;
  const auto node = probed_node_from_json(document);
  if (!node) {
    must_hold(!node.error().what.empty(), "the refusal says what is wrong");
    return 0;
  }
  must_hold(node->time >= 0, "a time is no time before 1970");
  for (const char c : node->host) must_hold(c < 0 || c >= ' ', "a name can be shown");
  const auto written = to_json(*node);
  const auto again = probed_node_from_json(written);
  must_hold(static_cast<bool>(again), "what was written is read");
  must_hold(to_json(*again) == written, "and means the same");
  // In a job's output it is found again.
  const auto found = find_capture("noise\n" + render_capture({.node = *node, .xml = "<x/>"}));
  must_hold(static_cast<bool>(found), "a capture is found");
  must_hold(!node_type_id(found->node.type).empty() && !shape_words(node->type).empty(),
            "it can be named");
  return 0;
}
