#include "launcher/init/framework_of.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "launcher/base/split.hpp"

namespace dllaunch {
namespace {

struct Module {
  std::string_view name;
  std::string_view framework;
};

/// The more telling ones first: a Horovod program imports torch too.
constexpr std::array<Module, 11> modules = {{
    {"horovod", "horovod"},
    {"deepspeed", "deepspeed"},
    {"lightning", "pytorch"},
    {"pytorch_lightning", "pytorch"},
    {"accelerate", "pytorch"},
    {"torch", "pytorch"},
    {"transformers", "pytorch"},
    {"jax", "jax"},
    {"tensorflow", "tensorflow"},
    {"keras", "tensorflow"},
    {"mpi4py", "mpi"},
}};

/// "torch" of "import torch.nn as nn" and "from torch import nn".
std::string_view imported(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  for (const std::string_view word : {"import ", "from "}) {
    if (!line.starts_with(word)) continue;
    line.remove_prefix(word.size());
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line.substr(0, line.find_first_of(" .,;#\t\r"));
  }
  return {};
}

}  // namespace

std::string framework_of_program(std::string_view text) {
  const auto lines = split_lines(text);
  for (const auto& [name, framework] : modules)
    for (const auto line : lines)
      if (imported(line) == name) return std::string(framework);
  return "none";
}

}  // namespace dllaunch
