// A vision transformer for tests. Everything but its size is vit's.
#include "trainer/models/models.hpp"
#include "trainer/models/vit.hpp"

namespace dllaunch {

extern const ModelEntry vit_tiny_model;
const ModelEntry vit_tiny_model{
    "vit-tiny", "ViT with 2 layers, 32 wide, patches of 4 pixels, for tests",
    [](const ImageShape& image, int classes) {
      const VitSize size{.layers = 2, .width = 32, .heads = 2, .hidden = 64, .patch = 4};
      return build_vit("vit-tiny", size, image, classes);
    }};

}  // namespace dllaunch
