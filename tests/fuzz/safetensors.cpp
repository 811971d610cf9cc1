// Files of tensors, as PyTorch writes them.
#include "trainer/tensors/safetensors.hpp"

#include "tests/fuzz/must_hold.hpp"
#include "trainer/tensors/tensor_values.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto file = parse_safetensors(std::as_bytes(std::span(data, size)));
  if (!file) {
    must_hold(!file.error().what.empty(), "it says what is wrong");
    must_hold(file.error().what.size() < 1000, "in a line that fits");
    return 0;
  }
  std::size_t bytes = 0;
  const std::string* before = nullptr;
  for (const Tensor& tensor : file->tensors) {
    const auto elements = static_cast<std::size_t>(elements_of(tensor.shape));
    must_hold(tensor.data.size() == elements * bytes_of(tensor.type), "a shape and its bytes");
    must_hold(values_of(tensor).size() == elements, "every number can be read");
    must_hold(before == nullptr || *before < tensor.name, "sorted, each name once");
    before = &tensor.name;
    bytes += tensor.data.size();
  }
  must_hold(bytes <= size, "no byte is there twice");
  return 0;
}
