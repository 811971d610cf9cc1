// IDX files, plain and packed.
#include "trainer/data/datasets/idx.hpp"

#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  for (const int dimensions : {1, 3}) {
    const auto array = read_idx({data, size}, dimensions);
    if (!array) {
      must_hold(!array.error().what.empty(), "it says what is wrong");
      continue;
    }
    must_hold(array->extents.size() == static_cast<std::size_t>(dimensions), "dimensions as asked");
    std::uint64_t elements = 1;
    for (const std::uint32_t extent : array->extents) elements *= extent;
    must_hold(array->values.size() == elements, "as many values as the extents say");
  }
  return 0;
}
