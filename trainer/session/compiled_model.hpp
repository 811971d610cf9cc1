// A model of the configuration, compiled by the backend it names or the first that can.
#pragma once

#include <memory>
#include <string>

#include "support/result.hpp"
#include "trainer/config/config.hpp"

namespace dllaunch {

struct CompiledModel {
  std::string backend;      // "reference (1)"
  std::string passed_over;  // why a faster backend does not compute it; empty: there is none
  std::string caution;      // this and the next: as BackendEntry has it
  bool gpu_memory = false;
  std::unique_ptr<Backend> opened;
  std::unique_ptr<Executable> executable;
};

/// For batches of config.batch_size images. bad_request: what the backend lacks, by name.
/// unavailable: no such device here.
Result<CompiledModel> compile_model(const TrainConfig& config, const Graph& graph, int threads,
                                    const SumOverRanks& sum_over_ranks = {});

}  // namespace dllaunch
