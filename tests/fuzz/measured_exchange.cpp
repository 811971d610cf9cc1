// The output of `dllaunch bench allreduce --json`, which `study --allreduce` reads from a file.
#include "launcher/study/measured_exchange.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto measured =
      read_allreduce(Json::parse(text_of(data, size), nullptr, /*allow_exceptions=*/false));
  if (!measured) return 0;
  must_hold(measured->shape.nodes >= 1 && measured->shape.ranks >= 1, "a rank on each node");
  Study study{.name = "a", .trains = true, .allreduce = *measured};
  for (const int ranks : {1, 2, 8}) {
    StudyRun run{.ranks = ranks, .nodes = ranks / 4 + 1};
    run.value = 100 * ranks;
    run.global_batch = 50;
    run.gradient_bytes = 1'000'000;
    study.runs.push_back(run);
  }
  StudyResult result;
  result.fit.emplace();
  const auto text = exchange_of(study, result);
  const auto is_control = [](char c) { return c >= 0 && c < ' '; };
  must_hold(std::ranges::none_of(text, is_control), "it is one line");
  const auto exchange = measured_exchange(study);
  if (!exchange) return 0;
  for (const int ranks : {2, 64, 1 << 24}) {
    const double time = exchange->time(ranks);
    must_hold(std::isfinite(time) && time >= 0, "an exchange takes a time");
  }
  return 0;
}
