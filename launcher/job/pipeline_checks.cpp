#include "launcher/job/pipeline_checks.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "launcher/config/yaml_scalar.hpp"
#include "launcher/job/yaml_keys.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

/// A key with this value makes no sense with stages, or with split layers.
struct Excluded {
  std::string_view key;
  std::string_view value;
  std::string_view why;
};

constexpr std::string_view whole_network =
    "its trials run the whole network on one rank; write a number";
constexpr std::string_view other_sums =
    "the ranks of one stage sum through hierarchical, or nccl where auto takes it; leave it out";
constexpr std::array<Excluded, 8> excluded = {{
    {"train.batch_size", "auto", whole_network},
    {"train.optimizer.lr", "auto", whole_network},
    {"runtime.gradient_lag", "1",
     "a late gradient would meet the weights of another step's micro-batches; leave it out"},
    {"runtime.allreduce", "solo", other_sums},
    {"runtime.allreduce", "mpi", other_sums},
    {"runtime.allreduce", "nccl", other_sums},
    {"runtime.allreduce", "ring", other_sums},
    {"runtime.allreduce", "parameter-server", other_sums},
}};

constexpr std::string_view not_on_gpus =
    "GPUs do not compute split layers yet; use resources.device: cpu";
constexpr std::array<Excluded, 8> not_with_split = {{
    {"train.optimizer.shard", "true",
     "a split layer's optimiser state is divided among the ranks already; leave it out"},
    {"train.precision", "fp16", "ranks do not share a loss scale; bf16 needs none"},
    {"train.batch_size", "auto", "its trials run the whole network on one rank; write a number"},
    {"train.optimizer.lr", "auto", "its trials do not run in step; write a number"},
    {"runtime.gradient_lag", "1",
     "only gradients that are summed over ranks can be late; leave it out"},
    {"runtime.allreduce", "nccl", "it sums between GPUs; leave it out"},
    {"resources.device", "cuda", not_on_gpus},
    {"resources.device", "hip", not_on_gpus},
}};

/// nullopt: absent, or a value that the schema refuses.
std::optional<double> number_at(const YamlNode& root, std::string_view path) {
  const YamlEntry* entry = key_at(root, path);
  if (entry == nullptr || entry->value->kind != YamlKind::scalar) return std::nullopt;
  const Json value = scalar_value(*entry->value);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

void refuse(const YamlNode& root, std::span<const Excluded> all, std::string_view by,
            std::vector<YamlProblem>& problems) {
  for (const auto& [key, value, why] : all) {
    if (text_at(root, key) != value) continue;
    problems.push_back({key_at(root, key)->value->mark,
                        fmt::format("{}: {} does not go with {}: {}", key, value, by, why)});
  }
}

void check_cut(const YamlNode& root, double stages, std::vector<YamlProblem>& problems) {
  const YamlEntry* cut = key_at(root, "runtime.pipeline.cut");
  if (cut == nullptr || cut->value->kind != YamlKind::sequence) return;
  const auto names = static_cast<double>(cut->value->items.size());
  if (names == 0 || names == stages - 1) return;
  if (stages == 1) {
    problems.push_back({cut->mark, fmt::format("runtime.pipeline.cut needs runtime.pipeline.stages:"
                                               " {:.0f}",
                                               names + 1)});
    return;
  }
  problems.push_back(
      {cut->value->mark,
       fmt::format("runtime.pipeline.cut names the last layer of each stage but the last: {:.0f} "
                   "for {:.0f} stages, not {:.0f}; leave it out, and the trainer chooses by "
                   "measuring",
                   stages - 1, stages, names)});
}

}  // namespace

std::vector<YamlProblem> check_pipeline(const YamlNode& root) {
  std::vector<YamlProblem> problems;
  const YamlEntry* block = key_at(root, "runtime.pipeline");
  if (block == nullptr || block->value->kind != YamlKind::mapping) return problems;
  const double stages = number_at(root, "runtime.pipeline.stages").value_or(1);
  check_cut(root, stages, problems);
  if (!(stages > 1)) return problems;
  const YamlEntry* run = key_at(root, "run");
  if (run != nullptr && run->value->kind != YamlKind::null) {
    problems.push_back(
        {block->mark, "runtime.pipeline is for 'train:'; a command cuts its own network"});
    return problems;
  }
  refuse(root, excluded, "runtime.pipeline", problems);
  const double fewest = number_at(root, "recovery.min_nodes").value_or(0);
  if (fewest > 0) {
    problems.push_back(
        {key_at(root, "recovery.min_nodes")->value->mark,
         fmt::format("fewer nodes (resources.nodes: {:.0f}-..., recovery.min_nodes) do not go with "
                     "runtime.pipeline: without the ranks of one stage there is no network; ask "
                     "for recovery.spare_nodes instead",
                     fewest)});
  }
  return problems;
}

std::vector<YamlProblem> check_split(const YamlNode& root) {
  std::vector<YamlProblem> problems;
  const YamlEntry* layers = key_at(root, "runtime.split_dense");
  if (layers == nullptr || layers->value->kind != YamlKind::sequence) return problems;
  if (layers->value->items.empty()) return problems;
  const YamlEntry* run = key_at(root, "run");
  if (run != nullptr && run->value->kind != YamlKind::null) {
    return {{layers->mark, "runtime.split_dense is for 'train:'; a command splits its own layers"}};
  }
  const std::string_view stages = text_at(root, "runtime.pipeline.stages");
  if (!stages.empty() && stages != "1") {
    problems.push_back({layers->mark,
                        "runtime.split_dense does not go with runtime.pipeline: ranks of other "
                        "stages do not have the layer; use one of the two"});
  }
  refuse(root, not_with_split, "runtime.split_dense", problems);
  return problems;
}

}  // namespace dllaunch
