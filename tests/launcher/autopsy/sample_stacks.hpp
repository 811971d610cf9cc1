// Stacks of ranks, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/autopsy/stacks.hpp"

namespace dllaunch {

inline StackFrame python_frame(std::string function, std::string file, int line = 1) {
  return {.function = std::move(function),
          .file = std::move(file),
          .line = line,
          .language = Language::python};
}

inline StackFrame native_frame(std::string function, std::string file = "libx.so") {
  return {.function = std::move(function), .file = std::move(file)};
}

/// A rank's program, on host n0 (even ranks) or n1.
inline ProcessStacks program_of(int rank, Stack python, Stack native = {}) {
  ProcessStacks program{.rank = rank,
                        .host = rank % 2 == 0 ? "n0" : "n1",
                        .pid = 1000 + rank,
                        .command = "python3 train.py"};
  program.threads.push_back({.id = 1000 + rank, .state = "S", .frames = std::move(native)});
  if (!python.empty()) program.python.push_back(std::move(python));
  return program;
}

inline ProcessStacks worker_of_rank(int rank, Stack python) {
  ProcessStacks worker = program_of(rank, std::move(python));
  worker.parent = worker.pid;
  worker.pid += 5000;
  return worker;
}

inline Stack in_all_reduce() {
  return {python_frame("<module>", "train.py", 9), python_frame("step", "train.py", 4),
          python_frame("all_reduce", "distributed_c10d.py", 1322)};
}

inline Stack in_code() {
  return {python_frame("<module>", "train.py", 9), python_frame("step", "train.py", 4),
          python_frame("slow", "train.py", 2)};
}

inline std::vector<NodeStacks> on_two_nodes(std::vector<ProcessStacks> processes) {
  std::vector<NodeStacks> nodes = {{.host = "n1"}, {.host = "n0"}};
  for (ProcessStacks& process : processes) {
    nodes[process.host == "n1" ? 0 : 1].processes.push_back(std::move(process));
  }
  return nodes;
}

}  // namespace dllaunch
