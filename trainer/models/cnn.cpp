// Keras's MNIST example (mnist_cnn.py) without its dropout.
// 28x28x1 and 10 classes: 1,199,882 parameters.
#include "trainer/graph/graph.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

Result<Graph> build_cnn(const ImageShape& image, int classes) {
  GraphBuilder net("cnn", {image.channels, image.height, image.width});
  net.add("conv1", Conv2d{.channels = 32, .kernel = 3});
  net.add("relu1", Relu{});
  net.add("conv2", Conv2d{.channels = 64, .kernel = 3});
  net.add("relu2", Relu{});
  net.add("pool", MaxPool2d{.kernel = 2, .stride = 2});
  net.add("flatten", Flatten{});
  net.add("fc1", Dense{.units = 128});
  net.add("relu3", Relu{});
  net.add("fc2", Dense{.units = classes});
  return std::move(net).finish();
}

}  // namespace

extern const ModelEntry cnn_model;
const ModelEntry cnn_model{"cnn", "Keras's MNIST example: 2 convolutions, 2 dense layers, ReLU",
                           build_cnn};

}  // namespace dllaunch
