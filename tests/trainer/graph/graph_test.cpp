#include "trainer/graph/graph.hpp"
#include "trainer/models/models.hpp"

#include <gtest/gtest.h>

#include "tests/trainer/named_files.hpp"

namespace dllaunch {
namespace {

std::string problem_of(GraphBuilder&& net) {
  auto graph = std::move(net).finish();
  return graph ? "none" : graph.error().what;
}

TEST(Graph, InfersShapesAndNamesParametersLikePyTorch) {
  GraphBuilder net("tiny", {3, 9, 8});
  EXPECT_EQ(net.add("conv1", Conv2d{.channels = 4, .kernel = 3, .stride = 2, .padding = 1}), 1);
  net.add("relu", Relu{});
  net.add("max", MaxPool2d{.kernel = 2, .stride = 1});
  net.add("avg", AvgPool2d{.kernel = 2, .stride = 2});
  net.add("flatten", Flatten{});
  net.add("tanh", Tanh{});
  net.add("fc1", Dense{.units = 5, .bias = false});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph) << graph.error().what;

  std::vector<Shape> shapes;
  for (const Node& node : graph->nodes) shapes.push_back(node.shape);
  EXPECT_EQ(shapes, (std::vector<Shape>{
                        {3, 9, 8}, {4, 5, 4}, {4, 5, 4}, {4, 4, 3}, {4, 2, 1}, {8}, {8}, {5}}));
  EXPECT_EQ(graph->input_shape(), (Shape{3, 9, 8}));
  EXPECT_EQ(graph->classes(), 5);

  ASSERT_EQ(graph->parameters.size(), 3U);
  EXPECT_EQ(graph->parameters[0].name, "conv1.weight");
  EXPECT_EQ(graph->parameters[0].shape, (Shape{4, 3, 3, 3}));
  EXPECT_EQ(graph->parameters[1].name, "conv1.bias");
  EXPECT_EQ(graph->parameters[1].shape, (Shape{4}));
  EXPECT_EQ(graph->parameters[2].name, "fc1.weight");
  EXPECT_EQ(graph->parameters[2].shape, (Shape{5, 8}));
  EXPECT_EQ(graph->nodes[1].parameters, (std::vector<int>{0, 1}));
  EXPECT_EQ(graph->parameter_count(), 4 * 27 + 4 + 40);
}

TEST(Graph, CountsFansAsKerasDoes) {
  GraphBuilder net("fans", {3, 8, 8});
  net.add("conv1", Conv2d{.channels = 16, .kernel = 5});
  net.add("flatten", Flatten{});
  net.add("fc1", Dense{.units = 7});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->parameters[0].fan_in, 3 * 25);
  EXPECT_EQ(graph->parameters[0].fan_out, 16 * 25);
  EXPECT_EQ(graph->parameters[0].initial, Initial::glorot_uniform);
  EXPECT_EQ(graph->parameters[1].initial, Initial::zeros);
  EXPECT_EQ(graph->parameters[2].fan_in, 16 * 16);
  EXPECT_EQ(graph->parameters[2].fan_out, 7);
}

TEST(Graph, SaysWhatIsTooSmall) {
  GraphBuilder pool("cnn", {64, 1, 1});
  pool.add("pool1", MaxPool2d{});
  EXPECT_EQ(problem_of(std::move(pool)),
            "model cnn: pool1 needs at least 2x2 pixels, got [64,1,1]");

  GraphBuilder conv("cnn", {1, 2, 9});
  conv.add("conv1", Conv2d{.channels = 2, .kernel = 5, .padding = 1});
  EXPECT_EQ(problem_of(std::move(conv)), "model cnn: conv1 needs at least 3x3 pixels, got [1,2,9]");
}

TEST(Graph, KeepsTheFirstProblem) {
  GraphBuilder net("net", {8});
  net.add("conv1", Conv2d{.channels = 2, .kernel = 3});
  net.add("fc1", Dense{.units = 0});
  EXPECT_EQ(problem_of(std::move(net)),
            "model net: conv1 needs an image [channels,height,width], got [8]");
}

TEST(Graph, RefusesWhatHasNoMeaning) {
  const auto refused = [](Shape input, Operation op) {
    GraphBuilder net("m", std::move(input));
    net.add("node", op);
    return problem_of(std::move(net));
  };
  EXPECT_EQ(refused({1, 4, 4}, Dense{.units = 2}),
            "model m: node needs a vector, got [1,4,4]: flatten it first");
  EXPECT_EQ(refused({4}, Dense{.units = 0}), "model m: node needs at least 1 unit, got 0");
  EXPECT_EQ(refused({1, 4, 4}, Conv2d{.channels = 0, .kernel = 3}),
            "model m: node cannot be a convolution of 0 channels, kernel 3, stride 1, padding 0");
  EXPECT_EQ(refused({1, 4, 4}, Conv2d{.channels = 1, .kernel = 2, .padding = 2}),
            "model m: node pads 2 pixels, so a kernel of 2 can lie entirely in the padding");
  EXPECT_EQ(refused({1, 4, 4}, AvgPool2d{.kernel = 0, .stride = 1}),
            "model m: node cannot pool with kernel 0, stride 1, padding 0");
  EXPECT_EQ(refused({4}, Input{}), "model m: node is an input in the middle of the graph");
  EXPECT_EQ(refused({1, 0, 4}, Relu{}), "model m: cannot read images of [1,0,4]");
  EXPECT_EQ(refused({1, 4, 4}, Relu{}),
            "model m: node ends the graph with [1,4,4], not with a vector of logits");
  EXPECT_EQ(refused({1, 4, 4}, Embedding{.vocabulary = 2, .width = 2}),
            "model m: node needs a vector of tokens, got [1,4,4]");
  EXPECT_EQ(refused({4}, Embedding{.vocabulary = 0, .width = 2}),
            "model m: node cannot have 0 rows of 2");
  EXPECT_EQ(refused({4}, PositionEmbedding{}),
            "model m: node needs a sequence [tokens,width], got [4]");
  EXPECT_EQ(refused({4, 2}, PositionEmbedding{.positions = 3}),
            "model m: node has 3 positions, got 4 tokens");
  EXPECT_EQ(refused({4, 2}, LayerNorm{.eps = 0}), "model m: node cannot normalise with eps 0");
  EXPECT_EQ(refused({4, 12}, Attention{.heads = 0}), "model m: node needs at least 1 head, got 0");
  EXPECT_EQ(refused({4, 12}, Attention{.heads = 3}),
            "model m: node cannot split 12 into query, key and value of 3 heads");
}

TEST(Graph, InfersShapesOfVolumes) {
  GraphBuilder net("deep", {2, 9, 8, 7});
  net.add("conv1", Conv3d{.channels = 4, .kernel = {5, 3, 1}, .stride = {2, 1, 3}});
  net.add("pool", MaxPool3d{.kernel = {1, 2, 2}, .stride = {1, 2, 1}});
  net.add("bn", BatchNorm{});
  net.add("drop", Dropout{.rate = 0.25});
  net.add("mean", GlobalAvgPool{});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph) << graph.error().what;
  std::vector<Shape> shapes;
  for (const Node& node : graph->nodes) shapes.push_back(node.shape);
  EXPECT_EQ(shapes,
            (std::vector<Shape>{
                {2, 9, 8, 7}, {4, 3, 6, 3}, {4, 3, 3, 2}, {4, 3, 3, 2}, {4, 3, 3, 2}, {4}}));
  EXPECT_EQ(graph->parameters[0].shape, (Shape{4, 2, 5, 3, 1}));
  EXPECT_EQ(graph->parameters[0].fan_in, 2 * 15);
  EXPECT_EQ(graph->parameters[1].shape, (Shape{4}));
}

TEST(Graph, RefusesVolumesThatDoNotFit) {
  const auto refused = [](Shape input, Operation op) {
    GraphBuilder net("m", std::move(input));
    net.add("node", op);
    return problem_of(std::move(net));
  };
  EXPECT_EQ(refused({1, 9, 9}, Conv3d{.channels = 1}),
            "model m: node needs a volume [channels,depth,height,width], got [1,9,9]");
  EXPECT_EQ(refused({1, 4, 9, 9}, Conv3d{.channels = 1, .kernel = {5, 3, 3}}),
            "model m: node needs at least 5x3x3 elements (depth, height, width), got [1,4,9,9]");
  EXPECT_EQ(refused({1, 4, 9, 9}, Conv3d{.channels = 1, .padding = {1, 0, 0}}),
            "model m: node cannot be a convolution of 1 channels, kernel 1x1x1, stride 1x1x1, "
            "padding 1x0x0");
  EXPECT_EQ(refused({1, 4, 9, 1}, MaxPool3d{}),
            "model m: node needs at least 2x2x2 elements (depth, height, width), got [1,4,9,1]");
  EXPECT_EQ(refused({1, 4, 4, 4}, MaxPool3d{.stride = {0, 1, 1}}),
            "model m: node cannot pool with kernel 2x2x2, stride 0x1x1");
  EXPECT_EQ(refused({4}, Dropout{.rate = 1}),
            "model m: node has a dropout rate of 1, which is not in [0, 1)");
  EXPECT_EQ(refused({1, 4, 4, 4}, Conv2d{.channels = 1, .kernel = 1}),
            "model m: node needs an image [channels,height,width], got [1,4,4,4]");
}

TEST(Graph, RefusesTwoNodesOfOneName) {
  GraphBuilder net("m", {4});
  net.add("fc1", Dense{.units = 3});
  net.add("fc1", Dense{.units = 2});
  EXPECT_EQ(problem_of(std::move(net)), "model m: two nodes are called fc1");
}

TEST(Graph, RefusesANodeThatNobodyReads) {
  GraphBuilder net("m", {4});
  const int shared = net.add("fc1", Dense{.units = 3});
  net.add("lost", Relu{});
  net.add("fc2", Dense{.units = 2}, shared);
  EXPECT_EQ(problem_of(std::move(net)), "model m: lost is read by no other node");
}

TEST(Graph, BranchesAndJoins) {
  GraphBuilder net("m", {2, 6, 6});
  const int first = net.add("conv1", Conv2d{.channels = 4, .kernel = 3, .padding = 1});
  net.add("bn1", BatchNorm{});
  const int branch = net.add("relu1", Relu{});
  EXPECT_EQ(net.add("add", Add{}, branch, first), 4);
  net.add("pool", GlobalAvgPool{});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph) << graph.error().what;
  EXPECT_EQ(graph->nodes[4].inputs, (std::vector<int>{3, 1}));
  EXPECT_EQ(graph->nodes[4].shape, (Shape{4, 6, 6}));
  EXPECT_EQ(graph->nodes[5].shape, (Shape{4}));
  EXPECT_EQ(graph->parameter_count(), 4 * 18 + 4 + 8);
}

TEST(Graph, ABatchNormalisationHasParametersAndBuffers) {
  GraphBuilder net("m", {7});
  net.add("bn", BatchNorm{.weight = Initial::zeros});
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph) << graph.error().what;
  ASSERT_EQ(graph->parameters.size(), 2u);
  EXPECT_EQ(graph->parameters[0].name, "bn.weight");
  EXPECT_EQ(graph->parameters[0].initial, Initial::zeros);
  EXPECT_EQ(graph->parameters[1].name, "bn.bias");
  ASSERT_EQ(graph->buffers.size(), 3u);
  EXPECT_EQ(graph->nodes[1].buffers, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(graph->buffers[0].name, "bn.running_mean");
  EXPECT_EQ(graph->buffers[1].initial, 1);
  EXPECT_EQ(graph->buffers[2].type, DType::i64);
  EXPECT_EQ(graph->buffers[2].shape, Shape{});
}

TEST(Graph, RefusesInputsThatDoNotFit) {
  const auto refused = [](Operation op, std::vector<int> inputs) {
    GraphBuilder net("m", {2, 4, 4});
    net.add("conv", Conv2d{.channels = 3, .kernel = 1});
    if (inputs.size() == 1) net.add("node", op, inputs[0]);
    if (inputs.size() == 2) net.add("node", op, inputs[0], inputs[1]);
    return problem_of(std::move(net));
  };
  EXPECT_EQ(refused(Add{}, {1, 0}), "model m: node cannot add [2,4,4] to [3,4,4]");
  EXPECT_EQ(refused(Add{}, {1}), "model m: node adds two inputs");
  EXPECT_EQ(refused(Relu{}, {1, 0}), "model m: node reads one input");
  EXPECT_EQ(refused(BatchNorm{.eps = 0}, {1}),
            "model m: node cannot normalise with eps 0, momentum 0.1");
  EXPECT_EQ(refused(ZeroPad2d{.pixels = 0}, {1}), "model m: node cannot pad 0 pixels");
  EXPECT_EQ(refused(MaxPool2d{.kernel = 3, .stride = 1, .padding = 2}, {1}),
            "model m: node cannot pool with kernel 3, stride 1, padding 2");
}

TEST(Graph, ANodeMayShareTheParametersOfAnother) {
  GraphBuilder net("m", {4});
  const int words = net.add("words", Embedding{.vocabulary = 7, .width = 3});
  net.add_sharing("head", Dense{.units = 7, .bias = false}, words);
  const auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  ASSERT_EQ(graph->parameters.size(), 1U);
  EXPECT_EQ(graph->parameters[0].name, "words.weight");
  EXPECT_EQ(graph->nodes[2].parameters, graph->nodes[1].parameters);
  EXPECT_TRUE(graph->nodes[2].shares);
  EXPECT_FALSE(graph->nodes[1].shares);
  EXPECT_EQ(graph->classes(), 7);
  EXPECT_EQ(graph->labels(), 4);
}

TEST(Graph, SharesOnlyParametersOfTheSameShapes) {
  for (const Dense& head : {Dense{.units = 6, .bias = false}, Dense{.units = 7}}) {
    GraphBuilder net("m", {4});
    const int words = net.add("words", Embedding{.vocabulary = 7, .width = 3});
    net.add_sharing("head", head, words);
    const auto graph = std::move(net).finish();
    ASSERT_FALSE(graph);
    EXPECT_EQ(graph.error().what, "model m: head cannot share the parameters of words");
  }
}

TEST(Models, AreListedByTheBuild) {
  const auto listed = names_of(models());
  EXPECT_EQ(listed.size(), models().size()) << "two of one name";
  EXPECT_EQ(listed,
            named_in("trainer/models", R"re(ModelEntry \w+_model\s*\{\s*(\.name = )?"([^"]+)")re"));
}

TEST(Models, AllBuildForLargeImagesAndMostForFashionMnist) {
  for (const ModelEntry& model : models()) {
    EXPECT_FALSE(model.summary.empty()) << model.name;
    if (model.name.starts_with("gpt2")) continue;  // reads tokens
    EXPECT_TRUE(model.build({13, 128, 128}, 10)) << model.name;
    const bool needs_more =
        model.name == "alexnet_bn" || model.name == "conv3d" || model.name == "vit";
    EXPECT_EQ(static_cast<bool>(model.build({1, 28, 28}, 10)), !needs_more) << model.name;
  }
}

}  // namespace
}  // namespace dllaunch
