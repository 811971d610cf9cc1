// Classifies the centre pixel of small cubes cut out of a hyperspectral image (Lange, Cavallaro,
// Goetz, Erlingsson, Riedel 2018): three convolutions along height, width and bands, two dense
// layers. The input's channels are the spectral bands.
// 9x9 pixels, 220 bands, 58 classes: 7,809,306 parameters.
#include "trainer/graph/graph.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

Result<Graph> build_conv3d(const ImageShape& image, int classes) {
  constexpr std::array<int, 3> kernel{5, 3, 3};  // 5 bands of 3x3 pixels
  GraphBuilder net("conv3d", {1, image.channels, image.height, image.width});
  int number = 0;
  for (const int channels : {48, 32, 32}) {
    const std::string i = std::to_string(++number);
    net.add("conv" + i, Conv3d{.channels = channels, .kernel = kernel});
    net.add("relu" + i, Relu{});
  }
  net.add("flatten", Flatten{});
  net.add("fc1", Dense{.units = 128});
  net.add("relu4", Relu{});
  net.add("fc2", Dense{.units = 128});
  net.add("relu5", Relu{});
  net.add("fc3", Dense{.units = classes});
  return std::move(net).finish();
}

}  // namespace

extern const ModelEntry conv3d_model;
const ModelEntry conv3d_model{.name = "conv3d",
                              .summary =
                                  "hyperspectral cubes: 3 convolutions of 3x3 pixels and 5 "
                                  "bands, 2 dense layers, mean squared error",
                              .build = build_conv3d,
                              .loss = "mean_squared_error"};

}  // namespace dllaunch
