// RUN/provenance.json: damaged, torn, of a newer version. What can be read is compared, and written
// again.
#include <string>

#include "launcher/compare/compare_page.hpp"
#include "launcher/compare/compare_text.hpp"
#include "launcher/provenance/provenance.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto all = provenance_in(text_of(data, size));
  if (!all) return 0;
  must_hold(all->submissions.size() <= Provenance::most_submissions, "the list is bounded");
  const auto again = provenance_in(provenance_text(*all));
  must_hold(static_cast<bool>(again), "what is written is read");
  must_hold(provenance_text(*again) == provenance_text(*all), "as it was");
  if (all->submissions.empty()) return 0;
  ComparedRun known{.label = "a"};
  known.origin = all->submissions.back();
  const auto compared = compare_runs({known, {.label = "a"}}, {}, {});
  must_hold(!render_comparison(compared).empty(), "it is shown");
  const auto page = html_page(compare_page(compared));
  must_hold(page.find("<script") == std::string::npos, "its text is no markup");
  return 0;
}
