// CPU and NUMA lists: "0-3,8".
#include "support/id_set.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto set = parse_id_list(text_of(data, size));
  if (!set) {
    must_hold(set.error().kind == ErrorKind::bad_request, "a refused list is a bad request");
    must_hold(!set.error().what.empty(), "the refusal says what is wrong");
    return 0;
  }
  must_hold(set->last() <= IdSet::max_id, "no id is above the highest");
  const auto printed = to_list(*set);
  const auto again = parse_id_list(printed);
  must_hold(again && *again == *set, "parse, print, parse gives the same set");
  must_hold(to_list(*again) == printed, "a printed list is printed alike");
  const auto by_mask = parse_mask(to_mask(*set));
  must_hold(by_mask && *by_mask == *set, "the mask of a list is the same set");
  return 0;
}
