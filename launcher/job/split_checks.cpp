#include "launcher/job/split_checks.hpp"

#include <array>
#include <string_view>

#include <fmt/core.h>

#include "launcher/job/yaml_keys.hpp"

namespace dllaunch {
namespace {

/// A key with this value makes no sense with split layers.
struct NotWithSplit {
  std::string_view key;
  std::string_view value;
  std::string_view why;
};

constexpr std::string_view no_parts_on_gpus =
    "GPUs do not compute parts of a network yet; use resources.device: cpu";
constexpr std::array<NotWithSplit, 8> not_with_split = {{
    {"train.optimizer.shard", "true",
     "a split layer's optimiser state is divided among the ranks already; leave it out"},
    {"train.precision", "fp16", "ranks do not share a loss scale; bf16 needs none"},
    {"train.batch_size", "auto", "its trials run the whole network on one rank; write a number"},
    {"train.optimizer.lr", "auto", "its trials do not run in step; write a number"},
    {"runtime.gradient_lag", "1",
     "only gradients that are summed over ranks can be late; leave it out"},
    {"runtime.allreduce", "nccl", "it sums between GPUs; leave it out"},
    {"resources.device", "cuda", no_parts_on_gpus},
    {"resources.device", "hip", no_parts_on_gpus},
}};

}  // namespace

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
  for (const auto& [key, value, why] : not_with_split) {
    if (text_at(root, key) != value) continue;
    problems.push_back(
        {key_at(root, key)->value->mark,
         fmt::format("{}: {} does not go with runtime.split_dense: {}", key, value, why)});
  }
  return problems;
}

}  // namespace dllaunch
