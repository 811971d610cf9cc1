// Headers of .npy files.
#include "trainer/data/datasets/npy_header.hpp"

#include <string_view>

#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto header = parse_npy_header({data, size});
  if (!header) {
    must_hold(!header.error().what.empty(), "it says what is wrong");
    return 0;
  }
  must_hold(std::string_view("buif").find(header->kind) != std::string_view::npos, "a known kind");
  must_hold(header->item_bytes >= 1 && header->item_bytes <= 8, "of a known size");
  must_hold(header->data_begin <= size && header->data_begin <= npy_header_bytes_max,
            "the data begins behind the header");
  return 0;
}
