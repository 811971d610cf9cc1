// Masks as Slurm, the kernel and people write them.
#include "support/id_set.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto set = parse_mask(text_of(data, size));
  if (!set) {
    must_hold(set.error().kind == ErrorKind::bad_request, "a refused mask is a bad request");
    must_hold(set.error().what.find("mask") != std::string::npos, "the refusal says mask");
    return 0;
  }
  const auto printed = to_mask(*set);
  must_hold(printed.starts_with("0x"), "a mask is printed with 0x");
  must_hold(printed.size() == 3 || printed[2] != '0', "a mask is printed without leading zeros");
  const auto again = parse_mask(printed);
  must_hold(again && *again == *set, "parse, print, parse gives the same set");
  const auto by_list = parse_id_list(to_list(*set));
  must_hold(by_list && *by_list == *set, "the list of a mask is the same set");
  return 0;
}
