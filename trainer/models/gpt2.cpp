// GPT-2 (Radford et al. 2019) as it is pretrained without dropout. Parameters have the names and
// shapes of Hugging Face's GPT2LMHeadModel, so checkpoints are interchangeable; lm_head.weight is
// transformer.wte.weight. Initial weights: deviation 0.02, of the projections into the residual
// 0.02 / sqrt(2 layers). Vocabulary 50,257: 124,439,808 parameters.
#include "trainer/models/gpt2.hpp"

#include <cmath>
#include <utility>

#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

constexpr double deviation = 0.02;

Dense projection(int units, double of_weights) {
  return {.units = units, .initial = Initial::normal, .input_major = true, .deviation = of_weights};
}

/// Returns the index of the block's output.
int add_block(GraphBuilder& net, const std::string& name, const Gpt2Size& size, int x) {
  const double into_residual = deviation / std::sqrt(2.0 * size.layers);
  net.add(name + ".ln_1", LayerNorm{}, x);
  net.add(name + ".attn.c_attn", projection(3 * size.width, deviation));
  net.add(name + ".attn", Attention{.heads = size.heads, .causal = true});
  const int attended = net.add(name + ".attn.c_proj", projection(size.width, into_residual));
  const int middle = net.add(name + ".attn.add", Add{}, x, attended);
  net.add(name + ".ln_2", LayerNorm{});
  net.add(name + ".mlp.c_fc", projection(4 * size.width, deviation));
  net.add(name + ".mlp.act", Gelu{});
  const int computed = net.add(name + ".mlp.c_proj", projection(size.width, into_residual));
  return net.add(name + ".mlp.add", Add{}, middle, computed);
}

}  // namespace

Result<Graph> build_gpt2(std::string model, const Gpt2Size& size, const ImageShape& image,
                         int vocabulary) {
  if (image.channels != 1 || image.height != 1) {
    return Error{ErrorKind::bad_request, "model " + model + " reads tokens, not images",
                 "use a data set of tokens"};
  }
  GraphBuilder net(std::move(model), {image.width});
  const int words = net.add("transformer.wte", Embedding{vocabulary, size.width, deviation});
  int x = net.add("transformer.wpe", PositionEmbedding{size.positions, deviation});
  for (int layer = 0; layer < size.layers; ++layer) {
    x = add_block(net, "transformer.h." + std::to_string(layer), size, x);
  }
  net.add("transformer.ln_f", LayerNorm{});
  net.add_sharing("lm_head", Dense{.units = vocabulary, .bias = false}, words);
  return std::move(net).finish();
}

extern const ModelEntry gpt2_model;
const ModelEntry gpt2_model{
    "gpt2", "GPT-2 with 12 layers, 768 wide, named as Hugging Face's",
    [](const ImageShape& image, int classes) { return build_gpt2("gpt2", {}, image, classes); }};

}  // namespace dllaunch
