#include "launcher/plan/pipeline/split_layers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/plan/pipeline/rank_memory.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {

template <typename Field>
void visit_fields(Field& field, SplitLayer& layer) {
  field("name", layer.name);
  field("columns", layer.columns);
  field("of_rank", layer.of_rank);
}

namespace {

bool is_size(std::int64_t bytes) {
  constexpr std::int64_t most = std::int64_t{1} << 50;  // so that sums fit
  return bytes >= 0 && bytes <= most;
}

bool is_possible(const SplitLayer& layer) {
  return !layer.name.empty() && layer.of_rank >= 1 && layer.of_rank <= layer.columns;
}

}  // namespace

std::optional<SplitPlan> split_of(const LaunchPlan& plan) {
  const auto train = Json::parse(plan.train_json, nullptr, /*allow_exceptions=*/false);
  const Json* layers = train.is_object() ? train.at_path({"runtime", "split_dense"}) : nullptr;
  if (layers == nullptr || !layers->is_array() || layers->empty()) return std::nullopt;
  return SplitPlan{.ranks = plan.ranks(), .memory_bytes = rank_memory(plan)};
}

void read_split(std::string_view text, SplitPlan& split) {
  const auto document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  split.unknown = "the trainer's answer is not understood";
  if (!document.is_object()) return;
  if (const auto why = value_at<std::string>(document, "unknown"); !why.empty()) {
    split.unknown = why;
    return;
  }
  auto layers = value_at<std::vector<SplitLayer>>(document, "layers");
  const auto held = value_at<std::int64_t>(document, "held_bytes", -1);
  const auto whole = value_at<std::int64_t>(document, "whole_bytes", -1);
  const auto activations = value_at<std::int64_t>(document, "activation_bytes", -1);
  if (!is_size(held) || !is_size(whole) || !is_size(activations)) return;
  if (!std::ranges::all_of(layers, is_possible)) return;
  split.layers = std::move(layers);
  split.held_bytes = held;
  split.whole_bytes = whole;
  split.activation_bytes = activations;
  split.unknown.clear();
}

std::vector<std::string> warnings_of(const SplitPlan& split) {
  if (split.ranks == 1) {
    return {"runtime.split_dense: there is one rank, which holds all of every layer"};
  }
  if (!split.memory_bytes || !split.unknown.empty() || split.bytes() <= *split.memory_bytes) {
    return {};
  }
  return {
      fmt::format("each rank needs about {}, and has {}: split more layers, use a smaller "
                  "train.batch_size, more nodes, or fewer ranks per node",
                  bytes_words(split.bytes()), bytes_words(*split.memory_bytes))};
}

std::string render_split(const SplitPlan& split) {
  std::string text = "\n  split dense layers: ";
  if (!split.unknown.empty()) {
    text += "what a rank holds is not known: " + split.unknown + "\n";
  } else {
    std::vector<std::string> layers;
    for (const SplitLayer& layer : split.layers) {
      layers.push_back(
          fmt::format("{} ({} of {} columns)", layer.name, layer.of_rank, layer.columns));
    }
    text += fmt::format(
        "{}\n  each of {} holds about {} of weights, gradients and optimiser state "
        "in place of {}, and {} of activations\n",
        layers.empty() ? "none" : fmt::format("{}", fmt::join(layers, ", ")),
        counted(split.ranks, "rank"), bytes_words(split.held_bytes), bytes_words(split.whole_bytes),
        bytes_words(split.activation_bytes));
  }
  for (const auto& warning : warnings_of(split)) text += "\nwarning: " + warning + "\n";
  return text;
}

Json to_json(const SplitPlan& split) {
  Json document{{"ranks", split.ranks}, {"warnings", warnings_of(split)}};
  if (split.memory_bytes) document["memory_bytes"] = *split.memory_bytes;
  if (!split.unknown.empty()) {
    document["unknown"] = split.unknown;
    return document;
  }
  document["layers"] = json_of(split.layers);
  document["held_bytes"] = split.held_bytes;
  document["whole_bytes"] = split.whole_bytes;
  document["activation_bytes"] = split.activation_bytes;
  return document;
}

}  // namespace dllaunch
