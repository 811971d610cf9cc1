// Multi-label ResNet-50 for multispectral satellite images, after BigEarthNet with Sentinel-2's 12
// bands (Sedona et al. 2019). 12 bands, 43 classes: 23,624,363 parameters.
#include "trainer/models/models.hpp"
#include "trainer/models/resnet50.hpp"

namespace dllaunch {

extern const ModelEntry resnet50_multispectral_model;
const ModelEntry resnet50_multispectral_model{
    .name = "resnet50-multispectral",
    .summary = "resnet50 for multi-label images with any number of bands (sigmoid)",
    .build = [](const ImageShape& image,
                int classes) { return build_resnet50("resnet50-multispectral", image, classes); },
    .loss = "sigmoid_cross_entropy"};

}  // namespace dllaunch
