#include "trainer/compiled_model.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace dllaunch {

Result<CompiledModel> compile_model(const TrainConfig& config, const Graph& graph, int threads) {
  std::optional<Error> last;
  for (const auto& entry : backends()) {
    if (config.backend != "auto" && config.backend != entry.name) continue;
    if (config.device != "auto" && config.device != entry.device) continue;
    auto opened = entry.open();
    if (!opened) {
      last = std::move(opened).error().within(entry.name);
      continue;
    }
    auto executable = (*opened)->compile(
        graph, {.batch = config.batch_size, .precision = config.precision, .threads = threads});
    if (!executable) {
      last = std::move(executable).error().within(entry.name);
      continue;
    }
    return CompiledModel{.backend = fmt::format("{} ({})", entry.name, entry.version()),
                         .opened = *std::move(opened),
                         .executable = *std::move(executable)};
  }
  if (last) return *std::move(last);
  return Error{
      ErrorKind::unavailable,
      fmt::format("this build has no backend {} for device {}", config.backend, config.device),
      "use device cpu"};
}

}  // namespace dllaunch
