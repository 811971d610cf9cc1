// GPT-2 with 2 layers, 32 wide, 64 tokens, for tests. Everything else is gpt2's.
#include "trainer/models/gpt2.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {

extern const ModelEntry gpt2_tiny_model;
const ModelEntry gpt2_tiny_model{"gpt2-tiny", "GPT-2 with 2 layers, 32 wide, 64 tokens, for tests",
                                 [](const ImageShape& image, int classes) {
                                   const Gpt2Size size{
                                       .layers = 2, .width = 32, .heads = 2, .positions = 64};
                                   return build_gpt2("gpt2-tiny", size, image, classes);
                                 }};

}  // namespace dllaunch
