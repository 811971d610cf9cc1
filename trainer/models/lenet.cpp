// LeNet-5 (LeCun et al. 1998) in its usual modern form: tanh and average pooling as in the paper,
// full connections between feature maps, and a dense layer of logits at the end.
// 28x28x1 and 10 classes: 61,706 parameters.
#include "trainer/graph/graph.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

Result<Graph> build_lenet(const ImageShape& image, int classes) {
  GraphBuilder net("lenet", {image.channels, image.height, image.width});
  net.add("conv1", Conv2d{.channels = 6, .kernel = 5, .padding = 2});
  net.add("tanh1", Tanh{});
  net.add("pool1", AvgPool2d{.kernel = 2, .stride = 2});
  net.add("conv2", Conv2d{.channels = 16, .kernel = 5});
  net.add("tanh2", Tanh{});
  net.add("pool2", AvgPool2d{.kernel = 2, .stride = 2});
  net.add("flatten", Flatten{});
  net.add("fc1", Dense{.units = 120});
  net.add("tanh3", Tanh{});
  net.add("fc2", Dense{.units = 84});
  net.add("tanh4", Tanh{});
  net.add("fc3", Dense{.units = classes});
  return std::move(net).finish();
}

}  // namespace

extern const ModelEntry lenet_model;
const ModelEntry lenet_model{"lenet", "LeNet-5: 2 convolutions, 3 dense layers, tanh", build_lenet};

}  // namespace dllaunch
