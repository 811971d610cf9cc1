// A CSV file of outages, which anybody may have exported, and the rates that are fitted from it.
#include <cmath>

#include "launcher/failures/failure_rates.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto seen = parse_outages(text_of(data, size), "o.csv");
  if (!seen) {
    must_hold(seen.error().what.starts_with("o.csv:"), "a mistake has a line");
    return 0;
  }
  const NodeOutage* before = nullptr;
  for (const auto& outage : seen->all) {
    must_hold(!outage.node.empty(), "a node has a name");
    must_hold(outage.failed_s >= seen->from_s && outage.failed_s < seen->until_s, "in the period");
    must_hold(outage.repaired_s >= outage.failed_s, "repairs follow failures");
    must_hold(outage.repaired_s <= seen->until_s, "in the period, too");
    const bool same = before != nullptr && before->node == outage.node;
    must_hold(!same || before->repaired_s < outage.failed_s, "outages of a node are apart");
    before = &outage;
  }
  if (seen->nodes > 100'000) return 0;  // slow, and no other code
  const auto rates = fit_failure_rates(*seen, "");
  if (!rates) return 0;
  must_hold(rates->node_mtbf_s > 0 && std::isfinite(rates->node_mtbf_s), "nodes live for a while");
  must_hold(rates->repair_s >= 0 && std::isfinite(rates->repair_s), "repairs take their time");
  must_hold(rates->uneven_times >= 0 && rates->uneven_nodes >= 0, "variation is not negative");
  for (const int nodes : {1, 7, 300}) {
    const auto hits = hit_rates(*rates, nodes);
    must_hold(hits.per_s > 0 && std::isfinite(hits.per_s), "a job is hit");
    double sum = 0;
    for (const double share : hits.shares) sum += share;
    must_hold(std::abs(sum - 1) < 1e-6, "by groups of some size");
  }
  return 0;
}
