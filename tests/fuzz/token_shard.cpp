// Files of token ids.
#include "trainer/data/datasets/token_shard.hpp"

#include <algorithm>

#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto layout = token_layout({data, std::min(size, token_header_bytes)}, size);
  if (!layout) {
    must_hold(!layout.error().what.empty(), "it says what is wrong");
    return 0;
  }
  must_hold(layout->begin == 0 || layout->begin == token_header_bytes, "after a header or none");
  must_hold(layout->tokens >= 0, "a number of tokens");
  must_hold(layout->begin + 2 * static_cast<std::uint64_t>(layout->tokens) == size,
            "every byte is of the header or of a token");
  return 0;
}
