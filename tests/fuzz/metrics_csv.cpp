// metrics.csv of an earlier run, which anybody may have edited.
#include <charconv>
#include <string>

#include "tests/fuzz/must_hold.hpp"
#include "trainer/reports/csv.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  constexpr std::string_view header = "epoch,loss,accuracy";
  const std::string_view text = text_of(data, size);
  for (const std::int64_t epoch : {1, 3, 1000}) {
    const auto kept = rows_before(text, header, epoch);
    must_hold(kept.has_value() || !text.empty(), "an empty file is ours");
    if (!kept) continue;
    must_hold(kept->starts_with(std::string(header) + "\n"), "the header stays");
    must_hold(kept->ends_with('\n'), "a row can be added");
    must_hold(kept->size() <= std::max(text.size(), header.size() + 1), "nothing is made up");
    must_hold(rows_before(*kept, header, epoch) == kept, "what was kept is kept again");
    for (std::size_t at = header.size() + 1; at < kept->size(); at = kept->find('\n', at) + 1) {
      std::int64_t number = 0;
      const char* begin = kept->data() + at;
      const auto [end, problem] = std::from_chars(begin, kept->data() + kept->size(), number);
      must_hold(problem == std::errc() && *end == ',', "a row begins with its epoch");
      must_hold(number < epoch, "a row is of an earlier epoch");
    }
    const std::string more = *kept + "999,0.5,1\n";
    must_hold(
        rows_before(more, header, 1000) == rows_before(*kept, header, 1000).value() + "999,0.5,1\n",
        "a row that is added is found");
  }
  return 0;
}
