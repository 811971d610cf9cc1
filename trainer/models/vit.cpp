// ViT-B/16 (Dosovitskiy et al. 2020). Parameters have the names and shapes of torchvision's
// vit_b_16, so checkpoints are interchangeable. Initial weights are nearly torchvision's: the last
// layer is zero, dense layers are Glorot's. 224x224x3 and 1,000 classes: 86,567,656 parameters.
#include "trainer/models/vit.hpp"

#include <utility>

#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

constexpr LayerNorm norm{.eps = 1e-6};

/// Returns the index of the block's output.
int add_block(GraphBuilder& net, const std::string& name, const VitSize& size, int x) {
  const std::string attention = name + ".self_attention";
  net.add(name + ".ln_1", norm, x);
  const int joint = net.add(attention + ".in_proj", Dense{.units = 3 * size.width});
  net.name_parameters(joint, {attention + ".in_proj_weight", attention + ".in_proj_bias"});
  net.add(attention, Attention{.heads = size.heads});
  const int attended = net.add(attention + ".out_proj", Dense{.units = size.width});
  const int middle = net.add(name + ".self_attention.add", Add{}, x, attended);
  net.add(name + ".ln_2", norm);
  net.add(name + ".mlp.0", Dense{.units = size.hidden});
  net.add(name + ".mlp.1", Gelu{.exact = true});
  const int computed = net.add(name + ".mlp.3", Dense{.units = size.width});
  return net.add(name + ".mlp.add", Add{}, middle, computed);
}

}  // namespace

Result<Graph> build_vit(std::string model, const VitSize& size, const ImageShape& image,
                        int classes) {
  if (image.height % size.patch != 0 || image.width % size.patch != 0) {
    const std::string pixels = std::to_string(size.patch);
    return Error{ErrorKind::bad_request,
                 "model " + model + " cuts images into squares of " + pixels + " pixels, got " +
                     std::to_string(image.height) + "x" + std::to_string(image.width),
                 "choose an image_size that is a multiple of " + pixels};
  }
  GraphBuilder net(std::move(model), {image.channels, image.height, image.width});
  net.add("conv_proj", Conv2d{.channels = size.width,
                              .kernel = size.patch,
                              .stride = size.patch,
                              .initial = Initial::torch_uniform});
  net.add("patches", ToSequence{});
  net.name_parameters(net.add("class_token", ClassToken{}), {"class_token"});
  int x = net.add("encoder.pos", PositionEmbedding{.batched = true});
  net.name_parameters(x, {"encoder.pos_embedding"});
  for (int layer = 0; layer < size.layers; ++layer) {
    x = add_block(net, "encoder.layers.encoder_layer_" + std::to_string(layer), size, x);
  }
  net.add("encoder.ln", norm);
  net.add("first", FirstToken{});
  net.add("heads.head", Dense{.units = classes, .initial = Initial::zeros});
  return std::move(net).finish();
}

extern const ModelEntry vit_model;
const ModelEntry vit_model{
    "vit", "ViT-B/16, layers named as torchvision's",
    [](const ImageShape& image, int classes) { return build_vit("vit", {}, image, classes); }};

}  // namespace dllaunch
