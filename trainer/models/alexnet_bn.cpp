// AlexNet (Krizhevsky et al. 2012) with batch normalisation instead of response normalisation,
// as in work on large batches (You et al. 2017), and with ungrouped convolutions.
// 227x227x3 and 1,000 classes: 62,379,720 parameters.
#include "trainer/graph/graph.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

/// Adds convolution `i` of five with its normalisation and ReLU.
void add_convolution(GraphBuilder& net, int i, Conv2d convolution) {
  convolution.bias = false;  // redundant before normalisation
  convolution.initial = Initial::he_normal;
  const std::string number = std::to_string(i);
  net.add("conv" + number, convolution);
  net.add("bn" + number, BatchNorm{});
  net.add("relu" + number, Relu{});
}

Result<Graph> build_alexnet_bn(const ImageShape& image, int classes) {
  constexpr MaxPool2d pool{.kernel = 3, .stride = 2};
  GraphBuilder net("alexnet_bn", {image.channels, image.height, image.width});
  add_convolution(net, 1, {.channels = 96, .kernel = 11, .stride = 4});
  net.add("pool1", pool);
  add_convolution(net, 2, {.channels = 256, .kernel = 5, .padding = 2});
  net.add("pool2", pool);
  add_convolution(net, 3, {.channels = 384, .kernel = 3, .padding = 1});
  add_convolution(net, 4, {.channels = 384, .kernel = 3, .padding = 1});
  add_convolution(net, 5, {.channels = 256, .kernel = 3, .padding = 1});
  net.add("pool5", pool);
  net.add("flatten", Flatten{});
  net.add("fc6", Dense{.units = 4096});
  net.add("relu6", Relu{});
  net.add("drop6", Dropout{.rate = 0.5});
  net.add("fc7", Dense{.units = 4096});
  net.add("relu7", Relu{});
  net.add("drop7", Dropout{.rate = 0.5});
  net.add("fc8", Dense{.units = classes});
  return std::move(net).finish();
}

}  // namespace

extern const ModelEntry alexnet_bn_model;
const ModelEntry alexnet_bn_model{
    "alexnet_bn", "AlexNet with batch normalisation: 5 convolutions, 3 dense layers, dropout",
    build_alexnet_bn};

}  // namespace dllaunch
