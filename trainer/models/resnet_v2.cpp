#include "trainer/models/resnet_v2.hpp"

#include <utility>

namespace dllaunch {
namespace {

constexpr int widening = 4;
constexpr BatchNorm batch_norm{.eps = 1.001e-5, .momentum = 0.01};

int add_norm_and_relu(GraphBuilder& net, const std::string& name, int x) {
  net.add(name + "_bn", batch_norm, x);
  return net.add(name + "_relu", Relu{});
}

/// Returns the index of the block's output, which has four times `width` channels.
int add_block(GraphBuilder& net, const std::string& name, int x, int width, int stride,
              bool project) {
  const int active = add_norm_and_relu(net, name + "_preact", x);
  int shortcut = x;
  if (project) {
    shortcut = net.add(name + "_0_conv",
                       Conv2d{.channels = widening * width, .kernel = 1, .stride = stride}, active);
  } else if (stride > 1) {
    shortcut = net.add(name + "_0_pool", MaxPool2d{.kernel = 1, .stride = stride}, x);
  }
  int y = net.add(name + "_1_conv", Conv2d{.channels = width, .kernel = 1, .bias = false}, active);
  y = add_norm_and_relu(net, name + "_1", y);
  y = net.add(name + "_2_conv",
              Conv2d{.channels = width, .kernel = 3, .stride = stride, .padding = 1, .bias = false},
              y);
  y = add_norm_and_relu(net, name + "_2", y);
  y = net.add(name + "_3_conv", Conv2d{.channels = widening * width, .kernel = 1}, y);
  return net.add(name + "_out", Add{}, shortcut, y);
}

}  // namespace

Result<Graph> build_resnet_v2(std::string model, const std::array<int, 4>& blocks,
                              const ImageShape& image, int classes) {
  GraphBuilder net(std::move(model), {image.channels, image.height, image.width});
  net.add("conv1_conv", Conv2d{.channels = 64, .kernel = 7, .stride = 2, .padding = 3});
  net.add("pool1_pad", ZeroPad2d{.pixels = 1});
  int x = net.add("pool1_pool", MaxPool2d{.kernel = 3, .stride = 2});
  for (int stage = 0; stage < 4; ++stage) {
    const int count = blocks[static_cast<std::size_t>(stage)];
    for (int block = 1; block <= count; ++block) {
      const std::string name =
          "conv" + std::to_string(stage + 2) + "_block" + std::to_string(block);
      const bool strides = block == count && stage < 3;
      x = add_block(net, name, x, 64 << stage, strides ? 2 : 1, block == 1);
    }
  }
  add_norm_and_relu(net, "post", x);
  net.add("avg_pool", GlobalAvgPool{});
  net.add("predictions", Dense{.units = classes});
  return std::move(net).finish();
}

}  // namespace dllaunch
