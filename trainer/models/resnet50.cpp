// ResNet-50 (He et al. 2015) in its v1.5 form, with the stride in a block's 3x3 convolution instead
// of its first. Parameters and buffers have torchvision's names, so checkpoints are
// interchangeable. 224x224x3 and 1,000 classes: 25,557,032 parameters.
#include "trainer/models/resnet50.hpp"

#include <utility>

#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

constexpr int expansion = 4;

Conv2d convolution(int channels, int kernel, int stride) {
  return {.channels = channels,
          .kernel = kernel,
          .stride = stride,
          .padding = kernel / 2,
          .bias = false,
          .initial = Initial::he_normal};
}

/// Returns the index of the block's output, which has four times `width` channels.
int add_bottleneck(GraphBuilder& net, const std::string& name, int x, int width, int stride,
                   bool project) {
  // The shortcut comes first: the addition then directly follows the normalisation it fuses with.
  int shortcut = x;
  if (project) {
    net.add(name + ".downsample.0", convolution(expansion * width, 1, stride), x);
    shortcut = net.add(name + ".downsample.1", BatchNorm{});
  }
  net.add(name + ".conv1", convolution(width, 1, 1), x);
  net.add(name + ".bn1", BatchNorm{});
  net.add(name + ".relu1", Relu{});
  net.add(name + ".conv2", convolution(width, 3, stride));
  net.add(name + ".bn2", BatchNorm{});
  net.add(name + ".relu2", Relu{});
  net.add(name + ".conv3", convolution(expansion * width, 1, 1));
  const int branch = net.add(name + ".bn3", BatchNorm{});
  net.add(name + ".add", Add{}, branch, shortcut);
  return net.add(name + ".relu3", Relu{});
}

}  // namespace

Result<Graph> build_resnet50(std::string model, const ImageShape& image, int classes) {
  GraphBuilder net(std::move(model), {image.channels, image.height, image.width});
  net.add("conv1", convolution(64, 7, 2));
  net.add("bn1", BatchNorm{});
  net.add("relu", Relu{});
  int x = net.add("maxpool", MaxPool2d{.kernel = 3, .stride = 2, .padding = 1});
  int layer = 0;
  for (const int blocks : {3, 4, 6, 3}) {
    ++layer;
    for (int block = 0; block < blocks; ++block) {
      const bool first = block == 0;
      const std::string name = "layer" + std::to_string(layer) + "." + std::to_string(block);
      x = add_bottleneck(net, name, x, 32 << layer, first && layer > 1 ? 2 : 1, first);
    }
  }
  net.add("avgpool", GlobalAvgPool{});
  net.add("fc", Dense{.units = classes, .initial = Initial::torch_uniform});
  return std::move(net).finish();
}

extern const ModelEntry resnet50_model;
const ModelEntry resnet50_model{"resnet50", "ResNet-50 v1.5, layers named as torchvision's",
                                [](const ImageShape& image, int classes) {
                                  return build_resnet50("resnet50", image, classes);
                                }};

}  // namespace dllaunch
