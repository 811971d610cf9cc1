// GPT-2 with 6 layers, 384 wide, 256 tokens. Everything else is gpt2's.
#include "trainer/models/gpt2.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {

extern const ModelEntry gpt2_mini_model;
const ModelEntry gpt2_mini_model{"gpt2-mini", "GPT-2 with 6 layers, 384 wide, 256 tokens",
                                 [](const ImageShape& image, int classes) {
                                   const Gpt2Size size{
                                       .layers = 6, .width = 384, .heads = 6, .positions = 256};
                                   return build_gpt2("gpt2-mini", size, image, classes);
                                 }};

}  // namespace dllaunch
