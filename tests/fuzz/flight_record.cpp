// Dumps of PyTorch's flight recorder: a pickle or JSON that a rank left in a file.
#include "launcher/autopsy/flight_record.hpp"
#include "launcher/autopsy/pickle.hpp"
#include "tests/fuzz/must_hold.hpp"

using namespace dllaunch;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = text_of(data, size);
  if (const auto value = read_pickle(bytes))
    must_hold(!value->dump(-1, ' ', false, Json::error_handler_t::replace).empty(),
              "a value can be written");
  auto read = read_flight_record(bytes);
  if (!read) return 0;
  auto groups = *std::move(read);
  must_hold(groups.size() <= 16, "few groups are kept");
  for (RecordedGroup& group : groups) {
    must_hold(group.entered > 0 && group.waits_in <= group.entered, "a wait was entered");
    group.written_s = group.since_s + 10;
  }
  NodeStacks node{.host = "n1"};
  node.processes = {{.rank = 0, .recorded = groups}, {.rank = 1}};
  must_hold(late_by_records({node}).empty(), "a single record names no late rank");
  return 0;
}
