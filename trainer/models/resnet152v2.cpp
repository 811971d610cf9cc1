// Keras's ResNet152V2. 128x128x3 and 10 classes: 58,208,394 trained parameters.
#include "trainer/models/models.hpp"
#include "trainer/models/resnet_v2.hpp"

namespace dllaunch {

extern const ModelEntry resnet152v2_model;
const ModelEntry resnet152v2_model{
    "resnet152v2", "ResNet-152 with normalisation first, layers named as Keras's",
    [](const ImageShape& image, int classes) {
      return build_resnet_v2("resnet152v2", {3, 8, 36, 3}, image, classes);
    }};

}  // namespace dllaunch
