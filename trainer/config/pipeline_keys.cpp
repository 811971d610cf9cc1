#include "trainer/config/pipeline_keys.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace dllaunch {

std::vector<ConfigKey> pipeline_keys() {
  return {
      {.path = "runtime.pipeline.stages",
       .kind = ValueKind::integer,
       .initial = 1,
       .launcher = true,
       .minimum = 1,
       .description = "parts of the network, each on ranks of its own; 1: every rank has all of it",
       .store = [](auto& c, auto& v) { c.runtime.pipeline.stages = v; }},
      {.path = "runtime.pipeline.cut",
       .kind = ValueKind::texts,
       .nullable = true,
       .launcher = true,
       .description = "the last layer of each stage but the last; null: chosen by measuring",
       .store =
           [](auto& c, auto& v) {
             c.runtime.pipeline.cut = v.is_null() ? std::vector<std::string>()
                                                  : v.template get<std::vector<std::string>>();
           }},
  };
}

std::vector<std::string> check_pipeline(const TrainConfig& config) {
  const PipelineConfig& pipeline = config.runtime.pipeline;
  std::vector<std::string> problems;
  if (pipeline.stages == 1 && !pipeline.cut.empty()) {
    return {fmt::format("runtime.pipeline.cut needs runtime.pipeline.stages: {}",
                        pipeline.cut.size() + 1)};
  }
  if (!pipeline.cut.empty() && static_cast<int>(pipeline.cut.size()) != pipeline.stages - 1) {
    problems.push_back(fmt::format(
        "runtime.pipeline.cut names the last layer of each stage but the last: {} for {} stages, "
        "not {}; leave it out, and the trainer chooses by measuring",
        pipeline.stages - 1, pipeline.stages, pipeline.cut.size()));
  }
  if (pipeline.stages == 1) return problems;
  const auto refuse = [&](bool given, const char* key, const char* why) {
    if (given) problems.push_back(fmt::format("runtime.pipeline with {}: {}", key, why));
  };
  refuse(config.find.batch_size, "batch_size auto",
         "its trials run the whole network on one rank; set batch_size to a number");
  refuse(config.find.lr, "optimizer.lr auto",
         "its trials run the whole network on one rank; set optimizer.lr to a number");
  refuse(config.runtime.gradient_lag > 0, "runtime.gradient_lag",
         "a late gradient would meet the weights of another step's micro-batches; set it to 0");
  const std::string& allreduce = config.runtime.allreduce;
  refuse(allreduce != "auto" && allreduce != "hierarchical", "runtime.allreduce",
         "the ranks of one stage sum through hierarchical, or nccl where auto takes it; set it to "
         "auto");
  return problems;
}

}  // namespace dllaunch
