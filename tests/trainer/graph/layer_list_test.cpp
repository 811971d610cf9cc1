#include "trainer/graph/layer_list.hpp"
#include "tests/support/tier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr ImageShape image{.channels = 2, .height = 12, .width = 10};

const char* const residual = R"({"layers": [
  {"kind": "conv2d", "channels": 8, "kernel": 3, "padding": 1, "bias": false},
  "batch_norm",
  {"kind": "relu", "name": "trunk"},
  {"kind": "conv2d", "channels": 8, "kernel": 3, "padding": 1},
  {"kind": "add", "of": ["conv2d2", "trunk"]},
  {"kind": "max_pool2d", "kernel": 3, "stride": null},
  {"kind": "dropout", "rate": 0.2},
  "flatten",
  {"kind": "dense", "units": "classes"}]})";

std::string built(const std::string& model, int outputs = 4) {
  const Json json = Json::parse(model);
  EXPECT_THAT(check_layer_list(json), ElementsAre()) << model;
  auto graph = build_layer_list(json, image, outputs);
  if (graph) return "";
  return graph.error().what + (graph.error().hint.empty() ? "" : " | " + graph.error().hint);
}

std::vector<std::string> problems(const std::string& layers) {
  return check_layer_list(Json::parse(R"({"layers": [)" + layers + "]}"));
}

TEST(LayerList, BecomesAGraph) {
  const Json json = Json::parse(residual);
  EXPECT_THAT(check_layer_list(json), ElementsAre());
  const auto graph = build_layer_list(json, image, 4);
  ASSERT_TRUE(graph) << graph.error().what;
  std::vector<std::pair<std::string, Shape>> nodes;
  for (const Node& node : graph->nodes) nodes.emplace_back(node.name, node.shape);
  EXPECT_THAT(
      nodes,
      ElementsAre(std::pair("input", Shape{2, 12, 10}), std::pair("conv2d1", Shape{8, 12, 10}),
                  std::pair("batch_norm1", Shape{8, 12, 10}), std::pair("trunk", Shape{8, 12, 10}),
                  std::pair("conv2d2", Shape{8, 12, 10}), std::pair("add1", Shape{8, 12, 10}),
                  std::pair("max_pool2d1", Shape{8, 4, 3}), std::pair("dropout1", Shape{8, 4, 3}),
                  std::pair("flatten1", Shape{96}), std::pair("dense1", Shape{4})));
  EXPECT_EQ(graph->nodes[5].inputs, (std::vector<int>{4, 3}));
  EXPECT_EQ(graph->parameters[0].name, "conv2d1.weight");
  EXPECT_EQ(graph->parameter_count(), 8 * 18 + 16 + 8 * 72 + 8 + 96 * 4 + 4);
}

TEST(LayerList, TakesVolumes) {
  EXPECT_EQ(built(R"({"input": "volume", "layers": [
      {"kind": "conv3d", "channels": 3, "kernel": [2, 3, 3], "padding": [0, 1, 1]},
      {"kind": "max_pool3d", "kernel": [1, 2, 2]}, "global_avg_pool",
      {"kind": "dense", "units": 4}]})"),
            "");
}

TEST(LayerList, TakesTokens) {
  EXPECT_EQ(built(R"({"input": "tokens", "layers": [
      {"kind": "embedding", "vocabulary": 4, "width": 8}, "position_embedding",
      {"kind": "layer_norm", "name": "norm"}, {"kind": "dense", "units": 24},
      {"kind": "attention", "heads": 2, "causal": true}, {"kind": "dense", "units": 8},
      {"kind": "add", "of": ["dense2", "norm"]}, "gelu", {"kind": "dense", "units": "classes"}]})"),
            "");
}

TEST(LayerList, EveryKindBuildsAsTheSchemaSays) {
  const Json schema = layer_list_schema();
  const Json& block = schema["properties"]["layers"]["items"]["anyOf"][1]["properties"];
  for (const std::string kind : block["kind"]["enum"]) {
    Json layer = {{"kind", kind}};
    if (kind == "add") layer["of"] = Json::array({"input", "input"});
    for (const auto& [name, option] : block.items()) {
      if (!option.contains("x-by")) continue;
      const Json& by = option["x-by"];
      if (!by["defaults"].contains(kind)) continue;
      const bool needed =
          std::find(by["needed"].begin(), by["needed"].end(), Json(kind)) != by["needed"].end();
      layer[name] = needed ? Json(1) : by["defaults"][kind];
    }
    const bool volume = kind.ends_with("3d");
    const bool tokens = kind == "embedding" || kind == "attention" || kind == "class_token" ||
                        kind == "first_token" || kind == "position_embedding" ||
                        kind == "layer_norm";
    Json layers = Json::array();
    if (kind == "dense") layers.push_back("flatten");
    if (tokens && kind != "embedding") {
      layers.push_back({{"kind", "embedding"}, {"vocabulary", 4}, {"width", 6}, {"name", "words"}});
    }
    layers.push_back(layer);
    Json model = {{"input", volume ? "volume" : tokens ? "tokens" : "image"}, {"layers", layers}};
    if (kind == "max_pool3d") model["layers"][0]["kernel"] = Json::array({1, 2, 2});
    if (kind != "dense" && kind != "flatten" && kind != "global_avg_pool") {
      model["layers"].push_back("flatten");
    }
    model["layers"].push_back({{"kind", "dense"}, {"units", "classes"}});
    EXPECT_EQ(built(model.dump()), "") << kind;
  }
}

TEST(LayerList, NamesWhatIsWrongWithTheList) {
  EXPECT_THAT(problems(R"("conv")"), ElementsAre(HasSubstr("model.layers[0]: no kind 'conv' (")));
  EXPECT_THAT(problems(R"("relu", {"kind": "conv2d", "channels": 0, "stride": [1, 1, 1]})"),
              ElementsAre("model.layers[1]: channels of conv2d must be a whole number from 1 to "
                          "1048576, not 0",
                          "model.layers[1]: stride of conv2d must be a whole number from 1 to "
                          "4096, not [1,1,1]",
                          "model.layers[1]: conv2d needs kernel"));
  EXPECT_THAT(problems(R"({"kind": "relu", "rate": 0.5})"),
              ElementsAre("model.layers[0]: relu has no key 'rate'"));
  EXPECT_THAT(problems(R"({"kind": "dropout", "rate": 1})"),
              ElementsAre(HasSubstr("rate of dropout must be a number from 0 to 0.999999")));
  EXPECT_THAT(problems(R"({"kind": "relu", "name": "a"}, {"kind": "add", "of": "a"})"),
              ElementsAre("model.layers[1]: add needs of: [NAME, NAME]"));
  EXPECT_THAT(problems(R"({"kind": "relu", "name": "a"}, {"kind": "relu", "of": ["a", "input"]})"),
              ElementsAre("model.layers[1]: relu reads one layer"));
  EXPECT_THAT(problems(R"({"kind": "relu", "name": "relu2"}, "relu")"),
              ElementsAre("model.layers[1]: another layer is called relu2: give this one a name"));
  EXPECT_THAT(problems(R"("add", {"kind": "add", "of": ["x", "input"]})"),
              ElementsAre("model.layers[0]: add needs of: [NAME, NAME]",
                          "model.layers[1]: of: no layer \"x\" before it"));
  EXPECT_THAT(
      problems(R"({"kind": "relu", "name": "a b"}, {"kind": "tanh", "name": "input"}, 7)"),
      ElementsAre(HasSubstr("[0]: name must be letters"), HasSubstr("[1]: there is a input"),
                  "model.layers[2]: must be a kind, or a block with one"));
  for (const char* none : {"{}", "[]", "7", R"({"layers": []})", R"({"layers": {}})"}) {
    EXPECT_THAT(check_layer_list(Json::parse(none)),
                ElementsAre("model must be a name or {layers: [...]}"));
  }
  EXPECT_THAT(check_layer_list(Json::parse(R"({"layers": ["relu"], "input": 3, "depth": 2})")),
              ElementsAre("model.input must be image, volume or tokens",
                          "unknown key 'model.depth' (input, layers)"));
}

TEST(LayerList, NamesTheLayerThatDoesNotFitItsInput) {
  EXPECT_EQ(built(R"({"layers": ["relu", {"kind": "dense", "units": 4}]})"),
            "model layers: dense1 needs a vector, got [2,12,10]: flatten it first");
  EXPECT_EQ(built(R"({"layers": [{"kind": "conv2d", "channels": 1, "kernel": 11}]})"),
            "model layers: conv2d1 needs at least 11x11 pixels, got [2,12,10]");
  EXPECT_EQ(built(R"({"layers": ["flatten", {"kind": "dense", "units": 10}]})"),
            "model layers: the last layer, dense1, has 10 outputs, but the data set needs 4 | end "
            "with {kind: dense, units: classes}");
  EXPECT_EQ(built(R"({"layers": [{"kind": "max_pool2d", "name": "p"},
                                 {"kind": "add", "of": ["p", "input"]}]})"),
            "model layers: add1 cannot add [2,12,10] to [2,6,5]");
}

/// Checks that every graph that builds also runs.
void run_if_small(const Graph& graph) {
  std::int64_t elements = graph.parameter_count();
  for (const Node& node : graph.nodes) elements += elements_of(node.shape);
  if (elements > 100'000) return;
  const Images images(graph, 2);
  Compiled compiled(backend_named("reference"), graph, {.batch = 2});
  compiled.set_weights(random_weights(graph));
  compiled->forward(images.batch(), Phase::train);
  compiled->backward(1, false, [](int) {});
}

TEST(LayerList, SurvivesDamage) {
  const std::uint64_t rounds = full_tier() ? 100'000 : 3'000;
  int whole = 0;
  for (std::uint64_t seed = 0; seed < rounds; ++seed) {
    const Json json = Json::parse(mutated(residual, seed), nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) continue;
    const auto found = check_layer_list(json);
    for (const std::string& problem : found) EXPECT_FALSE(problem.empty());
    if (!found.empty()) continue;
    const auto graph = build_layer_list(json, image, 4);
    if (!graph) {
      EXPECT_THAT(graph.error().what, HasSubstr("model layers: "));
      continue;
    }
    ++whole;
    run_if_small(*graph);
  }
  EXPECT_GT(whole, 5);
}

TEST(LayerList, TrainsAndResumesAsModelsDo) {
  auto parsed = parse_config(R"({"model": )" + std::string(residual) + "}");
  ASSERT_TRUE(parsed) << parsed.error().what;
  for (const BackendEntry& backend : usable_backends()) {
    SCOPED_TRACE(backend.name);
    auto config = small_config(std::string(backend.name));
    config.model = parsed->model;
    config.layers = parsed->layers;
    config.data.image_size = 8;
    const ScratchFolder folder;
    auto whole = train_alone(config, folder / "whole");
    ASSERT_TRUE(whole) << whole.error().what;
    EXPECT_LT(whole->losses.back(), whole->losses.front());
    ASSERT_TRUE(train_alone(config, folder / "parts", /*stop_after=*/3));
    ASSERT_TRUE(train_alone(config, folder / "parts"));
    EXPECT_EQ(weights_at(folder / "parts", "step-00000014"),
              weights_at(folder / "whole", "step-00000014"));
  }
}

}  // namespace
}  // namespace dllaunch
