// The steps of the oneDNN backend as text.
#pragma once

#include <sys/utsname.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/trainer/backends/compiled.hpp"

namespace dllaunch {

/// Debian builds oneDNN for Arm without Arm's Compute Library, which has the kernels.
inline bool onednn_has_kernels() {
  utsname machine{};
  return ::uname(&machine) != 0 || std::string(machine.machine) != "aarch64";
}

/// Returns steps such as "conv1 forward: jit:avx512_core".
inline std::vector<std::string> onednn_steps(const Graph& graph, int batch = 4) {
  Compiled compiled(backend_named("onednn"), graph, {.batch = batch, .threads = 1});
  return compiled->steps();
}

/// Returns the names only, without reorders, which depend on the CPU.
inline std::vector<std::string> onednn_work(const Graph& graph) {
  std::vector<std::string> names;
  for (const std::string& step : onednn_steps(graph)) {
    const std::string name = step.substr(0, step.find(':'));
    if (name.find("reorder") == std::string::npos) names.push_back(name);
  }
  return names;
}

}  // namespace dllaunch
