#include "trainer/config/split_keys.hpp"

#include <fmt/core.h>

namespace dllaunch {

std::vector<ConfigKey> split_keys() {
  return {
      {.path = "runtime.split_dense",
       .kind = ValueKind::texts,
       .initial = Json::array(),
       .launcher = true,
       .description = "dense layers of which each rank holds only some columns, and computes them "
                      "for the images of all ranks",
       .store =
           [](auto& c, auto& v) {
             c.runtime.split_dense = v.template get<std::vector<std::string>>();
           }},
  };
}

std::vector<std::string> check_split(const TrainConfig& config) {
  std::vector<std::string> problems;
  if (config.runtime.split_dense.empty()) return problems;
  const auto refuse = [&](bool given, const char* key, const char* why) {
    if (given) problems.push_back(fmt::format("runtime.split_dense with {}: {}", key, why));
  };
  refuse(config.runtime.pipeline.stages > 1, "runtime.pipeline",
         "ranks of other stages do not have the layer; use one of the two");
  refuse(config.shard, "optimizer.shard",
         "a split layer's optimiser state is divided among the ranks already; leave it out");
  refuse(config.device == "cuda" || config.device == "hip", "device",
         "GPUs do not compute split layers yet; use resources.device: cpu");
  refuse(config.precision == Precision::fp16, "precision fp16",
         "ranks do not share a loss scale; use bf16, which needs none");
  refuse(config.find.batch_size, "batch_size auto",
         "its trials run the whole network on one rank; set batch_size to a number");
  refuse(config.find.lr, "optimizer.lr auto",
         "its trials do not run in step; set optimizer.lr to a number");
  refuse(config.runtime.gradient_lag > 0, "runtime.gradient_lag",
         "only gradients that are summed over ranks can be late; set it to 0");
  refuse(config.runtime.allreduce == "nccl", "runtime.allreduce nccl",
         "it sums between GPUs; set it to auto");
  return problems;
}

}  // namespace dllaunch
