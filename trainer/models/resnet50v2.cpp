// Keras's ResNet50V2. 128x128x3 and 10 classes: 23,539,850 trained parameters.
#include "trainer/models/models.hpp"
#include "trainer/models/resnet_v2.hpp"

namespace dllaunch {

extern const ModelEntry resnet50v2_model;
const ModelEntry resnet50v2_model{
    "resnet50v2", "ResNet-50 with normalisation first, layers named as Keras's",
    [](const ImageShape& image, int classes) {
      return build_resnet_v2("resnet50v2", {3, 4, 6, 3}, image, classes);
    }};

}  // namespace dllaunch
