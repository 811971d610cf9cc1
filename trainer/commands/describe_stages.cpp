#include "trainer/commands/describe_stages.hpp"

#include <fmt/core.h>

#include <utility>

#include "support/json.hpp"
#include "support/parse_number.hpp"
#include "trainer/config/config.hpp"
#include "trainer/data/datasets/dataset.hpp"
#include "trainer/pipeline/segment_costs.hpp"
#include "trainer/pipeline/settle_cut.hpp"
#include "trainer/split/split_network.hpp"
#include "trainer/training/build_model.hpp"
#include "trainer/training/open_pipeline.hpp"
#include "trainer/training/open_split.hpp"

namespace dllaunch {
namespace {

/// The data's shape from its files, or of tokens from the configuration alone.
Result<DataShape> shape_of_data(const TrainConfig& config) {
  auto opened = find_dataset(config.dataset)->open(config.data);
  if (opened) return data_shape(**opened, config);
  if (config.dataset != "tokens") return std::move(opened).error();
  constexpr int usual_sequence = 1024;
  constexpr int usual_vocabulary = 50257;
  return DataShape{.image = {1, 1, config.data.sequence.value_or(usual_sequence)},
                   .classes = config.data.classes.value_or(usual_vocabulary)};
}

Json to_json(const StageOutline& stage, double all_seconds) {
  return {{"first", stage.first},
          {"last", stage.last},
          {"parameters", stage.parameters},
          {"held_bytes", stage.cost.held_bytes},
          {"activation_bytes", stage.cost.activation_bytes},
          {"in_flight", stage.cost.in_flight},
          {"share", stage.cost.seconds / all_seconds}};
}

Json to_json(const Cut& cut) {
  double seconds = 0;
  for (const StageOutline& stage : cut.stages) seconds += stage.cost.seconds;
  Json stages = Json::array();
  for (const StageOutline& stage : cut.stages) stages.push_back(to_json(stage, seconds));
  return {{"stages", std::move(stages)}, {"micro_batches", cut.micro_batches}, {"idle", cut.idle}};
}

/// The largest rank's share of a network with split layers.
Result<Json> describe_split(const TrainConfig& config, const Graph& graph, int ranks) {
  TrainingSizes sizes = cut_options(config, ranks).sizes;
  Json document{{"whole_bytes", estimate_segment(graph, sizes).held_bytes}};
  std::vector<SplitPart> parts{{.graph = graph}};
  if (splits(config, ranks)) {
    auto split = split_network(graph, config.runtime.split_dense, /*rank=*/0, ranks);
    if (!split) return std::move(split).error();
    parts = *std::move(split);
  }
  Json layers = Json::array();
  std::int64_t held = 0;
  std::int64_t activations = 0;
  for (const SplitPart& part : parts) {
    sizes.batch = config.batch_size * (part.is_split() ? ranks : 1);
    const SegmentCost cost = estimate_segment(part.graph, sizes);
    held += cost.held_bytes;
    activations += cost.activation_bytes;
    if (!part.is_split()) continue;
    layers.push_back({{"name", part.graph.nodes[1].name},
                      {"columns", part.rows->all},
                      {"of_rank", part.graph.nodes[1].shape.back()}});
  }
  const auto type = config.precision == Precision::fp64 ? DType::f64 : DType::f32;
  activations += exchange_bytes(parts, config.batch_size, ranks, type);
  document["layers"] = std::move(layers);
  document["held_bytes"] = held;
  document["activation_bytes"] = activations;
  return document;
}

std::string text_of(const Json& document) {
  return document.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<StagesQuestion> parse_stages_question(const std::vector<std::string>& words) {
  const auto refuse = [](const std::string& what) {
    return Error{ErrorKind::bad_request, "--describe-stages: " + what, "dltrain --help"};
  };
  if (words.size() < 2 || words.size() > 3) {
    return refuse("expected TRAIN_JSON RANKS [MEMORY_BYTES]");
  }
  StagesQuestion question{.config = words[0]};
  const auto ranks = parse_number<int>(words[1]);
  if (!ranks || *ranks < 1) return refuse(fmt::format("'{}' is no number of ranks", words[1]));
  question.ranks = *ranks;
  if (words.size() < 3) return question;
  question.memory_bytes = parse_number<std::int64_t>(words[2]);
  if (!question.memory_bytes || *question.memory_bytes < 1) {
    return refuse(fmt::format("'{}' is no number of bytes", words[2]));
  }
  return question;
}

Result<std::string> describe_stages(const StagesQuestion& question) {
  auto config = parse_config(question.config);
  if (!config) return std::move(config).error();
  const PipelineConfig& pipeline = config->runtime.pipeline;
  const int replicas = std::max(1, question.ranks / pipeline.stages);
  const auto data = shape_of_data(*config);
  if (!data) return Json({{"unknown", data.error().what}}).dump() + "\n";
  auto graph = build_model(*config, *data);
  if (!graph) return std::move(graph).error();
  if (!config->runtime.split_dense.empty()) {
    auto split = describe_split(*config, *graph, question.ranks);
    return split ? Result<std::string>(text_of(*split)) : std::move(split).error();
  }
  CutOptions options = cut_options(*config, replicas);
  options.memory_bytes = question.memory_bytes;
  auto cut = estimate_cut(*graph, options);
  std::string too_large;
  if (!cut && options.memory_bytes) {
    options.memory_bytes.reset();
    auto without_limit = estimate_cut(*graph, options);
    if (without_limit) too_large = cut.error().what + "; " + cut.error().hint;
    cut = std::move(without_limit);
  }
  if (!cut) return std::move(cut).error();
  auto fits = check_stages(*config, cut_graph(*graph, cut->after));
  if (!fits) return std::move(fits).error();
  Json document = to_json(*cut);
  if (!too_large.empty()) document["too_large"] = too_large;
  return text_of(document);
}

}  // namespace dllaunch
