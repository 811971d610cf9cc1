#include "launcher/plan/pipeline/rank_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "launcher/base/table.hpp"
#include "launcher/plan/pipeline/rank_memory.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {

template <typename Field>
void visit_fields(Field& field, RankStage& stage) {
  field("first", stage.first);
  field("last", stage.last);
  field("parameters", stage.parameters);
  field("held_bytes", stage.held_bytes);
  field("activation_bytes", stage.activation_bytes);
  field("in_flight", stage.in_flight);
  field("share", stage.share);
}

namespace {

/// The micro-batches of a rank's step.
int micro_batches_of(const Json& train, int replicas) {
  const auto images = value_at<std::optional<std::int64_t>>(train, "global_batch");
  const auto accumulate = std::max(1, value_at<int>(train, "accumulate", 1));
  const auto batch = value_at<std::int64_t>(train, "batch_size", 1);
  if (!images || *images < 1 || batch < 1) return accumulate;
  const double most =
      std::ceil(static_cast<double>(*images) / static_cast<double>(batch) / replicas);
  return static_cast<int>(std::min(most, 1e9));
}

std::string percent(double part) {
  return fmt::format("{:.0f} %", 100 * part);
}

std::string ranks_of(const PipelinePlan& pipeline, int stage) {
  const int first = stage * pipeline.replicas();
  const int last = first + pipeline.replicas() - 1;
  return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

/// Of a step, with stages that take equally long.
double even_idle(int stages, int micro_batches) {
  return static_cast<double>(stages - 1) / static_cast<double>(micro_batches + stages - 1);
}

bool is_plausible(const RankStage& stage) {
  constexpr std::int64_t most = std::int64_t{1} << 50;  // so that sums fit
  const auto fits = [](std::int64_t bytes) { return bytes >= 0 && bytes <= most; };
  return !stage.first.empty() && !stage.last.empty() && fits(stage.parameters) &&
         fits(stage.held_bytes) && fits(stage.activation_bytes) && stage.in_flight >= 1 &&
         stage.in_flight <= 4096 && stage.share >= 0 && stage.share <= 1;
}

}  // namespace

Result<std::optional<PipelinePlan>> pipeline_of(const LaunchPlan& plan) {
  const auto train = Json::parse(plan.train_json, nullptr, /*allow_exceptions=*/false);
  const Json* block = train.is_object() ? train.at_path({"runtime", "pipeline"}) : nullptr;
  if (block == nullptr || !block->is_object()) return std::optional<PipelinePlan>();
  PipelinePlan pipeline{.stages = value_at<int>(*block, "stages", 1), .ranks = plan.ranks()};
  if (pipeline.stages < 2) return std::optional<PipelinePlan>();
  if (pipeline.ranks % pipeline.stages != 0) {
    const int more = (pipeline.ranks / pipeline.stages + 1) * pipeline.stages;
    return Error{ErrorKind::bad_request,
                 fmt::format("{} cannot be divided into {} stages of a pipeline",
                             counted(pipeline.ranks, "rank"), pipeline.stages),
                 fmt::format("use so many nodes and ranks per node that there are {}, or another "
                             "runtime.pipeline.stages",
                             pipeline.ranks < pipeline.stages
                                 ? std::to_string(more)
                                 : fmt::format("{} or {}", more - pipeline.stages, more))};
  }
  pipeline.given = !value_at<std::vector<std::string>>(*block, "cut").empty();
  pipeline.memory_bytes = rank_memory(plan);
  pipeline.micro_batches = micro_batches_of(train, pipeline.replicas());
  pipeline.idle = even_idle(pipeline.stages, pipeline.micro_batches);
  return std::optional(std::move(pipeline));
}

void read_stages(std::string_view text, PipelinePlan& pipeline) {
  const auto document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  pipeline.unknown = "the trainer's answer is not understood";
  if (!document.is_object()) return;
  if (const auto why = value_at<std::string>(document, "unknown"); !why.empty()) {
    pipeline.unknown = why;
    return;
  }
  auto stages = value_at<std::vector<RankStage>>(document, "stages");
  if (std::ssize(stages) != pipeline.stages || !std::ranges::all_of(stages, is_plausible)) return;
  pipeline.holds = std::move(stages);
  pipeline.unknown.clear();
  pipeline.idle = std::clamp(value_at<double>(document, "idle", pipeline.idle), 0.0, 1.0);
  pipeline.too_large = value_at<std::string>(document, "too_large");
}

std::vector<std::string> warnings_of(const PipelinePlan& pipeline) {
  std::vector<std::string> warnings;
  if (pipeline.micro_batches < 2 * pipeline.stages) {
    warnings.push_back(fmt::format(
        "{} and {} a step: ranks wait {} of it for other stages; train.accumulate: {} with a "
        "smaller train.batch_size makes that {}",
        counted(pipeline.stages, "stage"), counted(pipeline.micro_batches, "micro-batch"),
        percent(even_idle(pipeline.stages, pipeline.micro_batches)), 4 * pipeline.stages,
        percent(even_idle(pipeline.stages, 4 * pipeline.stages))));
  }
  if (!pipeline.too_large.empty()) warnings.push_back(pipeline.too_large);
  if (!pipeline.memory_bytes || !pipeline.too_large.empty()) return warnings;
  for (int stage = 0; stage < std::ssize(pipeline.holds); ++stage) {
    const RankStage& held = pipeline.holds[static_cast<std::size_t>(stage)];
    if (held.bytes() <= *pipeline.memory_bytes) continue;
    warnings.push_back(
        fmt::format("stage {} needs about {} on each of its ranks, which have {}: use more "
                    "runtime.pipeline.stages, a smaller train.batch_size, or fewer ranks per node",
                    stage + 1, bytes_words(held.bytes()), bytes_words(*pipeline.memory_bytes)));
  }
  return warnings;
}

std::string render_stages(const PipelinePlan& pipeline) {
  std::vector<TableRow> rows = {
      {"stage", "ranks", "layers", "parameters", "weights", "activations", "together", "work"}};
  for (int stage = 0; stage < std::ssize(pipeline.holds); ++stage) {
    const RankStage& held = pipeline.holds[static_cast<std::size_t>(stage)];
    rows.push_back({std::to_string(stage + 1), ranks_of(pipeline, stage),
                    held.first + " to " + held.last,
                    fmt::format("{:.2f} M", static_cast<double>(held.parameters) * 1e-6),
                    bytes_words(held.held_bytes),
                    fmt::format("{} x {}", held.in_flight, bytes_words(held.activation_bytes)),
                    bytes_words(held.bytes()), percent(held.share)});
  }
  std::string text = fmt::format(
      "\n  pipeline: {}, {}, {} a step; ", counted(pipeline.stages, "stage"),
      counted(pipeline.replicas(), "replica"), counted(pipeline.micro_batches, "micro-batch"));
  if (pipeline.holds.empty()) {
    text += "what a rank holds is not known: " + pipeline.unknown + "\n";
    for (int stage = 0; stage < pipeline.stages; ++stage)
      text += fmt::format("    stage {}: {} {}\n", stage + 1,
                          pipeline.replicas() == 1 ? "rank" : "ranks", ranks_of(pipeline, stage));
  } else {
    text += fmt::format("estimated, {}; ranks wait {} of a step\n\n",
                        pipeline.given ? "with the cut as given" : "the trainer cuts by measuring",
                        percent(pipeline.idle));
    text += table_text(rows, "  ");
    text += "  weights: with gradients and optimiser state; activations: micro-batches in flight\n";
  }
  for (const auto& warning : warnings_of(pipeline)) text += "\nwarning: " + warning;
  return text.back() == '\n' ? text : text + "\n";
}

Json to_json(const PipelinePlan& pipeline) {
  Json document{{"stages", pipeline.stages},
                {"replicas", pipeline.replicas()},
                {"micro_batches", pipeline.micro_batches},
                {"idle", pipeline.idle},
                {"warnings", warnings_of(pipeline)}};
  if (!pipeline.unknown.empty()) document["unknown"] = pipeline.unknown;
  if (pipeline.memory_bytes) document["memory_bytes"] = *pipeline.memory_bytes;
  if (!pipeline.holds.empty()) document["holds"] = json_of(pipeline.holds);
  return document;
}

}  // namespace dllaunch
