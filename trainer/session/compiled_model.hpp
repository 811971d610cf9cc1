// A configuration's model, compiled by the named backend or the first suitable one.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "support/result.hpp"
#include "trainer/config/config.hpp"
#include "trainer/split/split_executable.hpp"

namespace dllaunch {

struct CompiledModel {
  std::string backend;      // "reference (1)"
  std::string passed_over;  // why a faster backend was not used; empty: none is faster
  std::string caution;      // this and the next: see BackendEntry
  bool gpu_memory = false;
  std::unique_ptr<Backend> opened;
  std::unique_ptr<Executable> executable;
};

/// Of CompileOptions, what concerns the other ranks and the user.
struct CompileSurroundings {
  SumOverRanks sum_over_ranks = {};
  SharedChoices* choices = nullptr;
  std::function<void(std::string_view)> warn = {};
  std::span<const SplitPart> parts = {};  // of the graph, if layers are split
  SplitRanks split_ranks = {};            // likewise
};

CompileOptions compile_options(const TrainConfig& config, int threads,
                               const CompileSurroundings& surroundings = {});

/// Compiles for batches of config.batch_size images. bad_request names what the backend lacks.
/// unavailable: no such device.
Result<CompiledModel> compile_model(const TrainConfig& config, const Graph& graph, int threads,
                                    const CompileSurroundings& surroundings = {});

}  // namespace dllaunch
