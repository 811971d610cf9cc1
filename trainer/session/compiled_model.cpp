#include "trainer/session/compiled_model.hpp"

#include <optional>
#include <utility>

#include <fmt/core.h>

#include "trainer/backends/table/backends.hpp"

namespace dllaunch {

CompileOptions compile_options(const TrainConfig& config, int threads,
                               const CompileSurroundings& surroundings) {
  return {.batch = config.batch_size,
          .precision = config.precision,
          .threads = threads,
          .convolution = config.convolution,
          .sum_over_ranks = surroundings.sum_over_ranks,
          .choices = surroundings.choices,
          .warn = surroundings.warn};
}

Result<CompiledModel> compile_model(const TrainConfig& config, const Graph& graph, int threads,
                                    const CompileSurroundings& surroundings) {
  std::optional<Error> first;  // of the fastest backend; slower ones may lack the same
  for (const auto& entry : backends()) {
    if (config.backend != "auto" && config.backend != entry.name) continue;
    if (config.device != "auto" && config.device != entry.device) continue;
    const bool asked = config.backend != "auto" || config.device != "auto";
    if (!asked && entry.expected != nullptr && !entry.expected()) continue;
    auto opened = entry.open();
    if (!opened) {
      first = first.value_or(std::move(opened).error().within(entry.name));
      continue;
    }
    const CompileOptions options = compile_options(config, threads, surroundings);
    auto executable =
        surroundings.parts.empty()
            ? (*opened)->compile(graph, options)
            : compile_split(**opened, graph, surroundings.parts, options, surroundings.split_ranks);
    // Beside GPUs that the job waited for, a CPU would be a surprise.
    if (!executable && !surroundings.parts.empty() && (*opened)->free_memory()) {
      return std::move(executable).error().within(entry.name);
    }
    if (!executable) {
      first = first.value_or(std::move(executable).error().within(entry.name));
      continue;
    }
    return CompiledModel{.backend = fmt::format("{} ({})", entry.name, entry.version()),
                         .passed_over = first ? first->what : "",
                         .caution = std::string(entry.caution),
                         .gpu_memory = entry.gpu_memory,
                         .opened = *std::move(opened),
                         .executable = *std::move(executable)};
  }
  if (first) return *std::move(first);
  return Error{
      ErrorKind::unavailable,
      fmt::format("this build has no backend {} for device {}", config.backend, config.device),
      "use device cpu"};
}

}  // namespace dllaunch
