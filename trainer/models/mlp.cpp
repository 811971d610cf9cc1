// Keras's MNIST example of a multilayer perceptron (mnist_mlp.py).
// 28x28x1 and 10 classes: 669,706 parameters.
#include "trainer/graph/graph.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

Result<Graph> build_mlp(const ImageShape& image, int classes) {
  GraphBuilder net("mlp", {image.channels, image.height, image.width});
  net.add("flatten", Flatten{});
  net.add("fc1", Dense{.units = 512});
  net.add("relu1", Relu{});
  net.add("drop1", Dropout{.rate = 0.2});
  net.add("fc2", Dense{.units = 512});
  net.add("relu2", Relu{});
  net.add("drop2", Dropout{.rate = 0.2});
  net.add("fc3", Dense{.units = classes});
  return std::move(net).finish();
}

}  // namespace

extern const ModelEntry mlp_model;
const ModelEntry mlp_model{"mlp", "Keras's multilayer perceptron: 512, 512, ReLU, dropout",
                           build_mlp};

}  // namespace dllaunch
