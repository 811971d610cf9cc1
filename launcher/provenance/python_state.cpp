#include "launcher/provenance/python_state.hpp"

#include <fmt/core.h>

#include <array>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/base/split.hpp"
#include "launcher/launch/local.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/plan/plan.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

// The working directory, which -c puts first, may hold a json.py. Of two packages of one name, the
// first on the path is imported.
constexpr const char* question = R"(import sys
sys.path[:1] = [p for p in sys.path[:1] if p]
import json, platform
packages = {}
try:
    from importlib import metadata
    for one in metadata.distributions():
        packages.setdefault(str(one.metadata["Name"]), str(one.version))
except ImportError:
    pass
print(json.dumps({"version": platform.python_version(), "packages": packages}))
)";

/// An interpreter, "python3.11", and not a program of the user's, "python_train.sh", which asking
/// would start.
bool is_python(std::string_view word) {
  const auto program = word.substr(word.rfind('/') + 1);
  return program.starts_with("python") &&
         program.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

/// "python3" of `cd code && python3 train.py`.
std::string python_in(std::string_view script) {
  for (const auto line : split_lines(script))
    for (const auto word : split_at(line, ' '))
      if (is_python(word) && word.find_first_of("\"'`$;|&(){}<>=") == std::string_view::npos)
        return std::string(word);
  return "";
}

/// Those of the job file that choose a Python; others would show in a list of processes.
bool chooses_python(std::string_view name) {
  return name == "PATH" || name == "LD_LIBRARY_PATH" || name.starts_with("PYTHON") ||
         name.starts_with("VIRTUAL_ENV") || name.starts_with("CONDA_");
}

}  // namespace

std::string python_of(const Job& job) {
  const auto& command = job.run_command;
  if (command.empty()) return "";
  const auto text = shell_text_at(command);
  auto python = text < command.size()   ? python_in(command[text])
                : is_python(command[0]) ? command[0]
                                        : std::string();
  if (python.empty() && job.framework != "none") python = "python3";
  return python;
}

PythonState python_state_in(const std::string& answer) {
  constexpr std::size_t most_packages = 5000;
  // What an environment's start-up files print stands before it.
  const auto document = json_object_in(last_line(answer));
  PythonState state{.version = value_at<std::string>(document, "version"),
                    .packages = value_at<std::map<std::string, std::string>>(document, "packages")};
  if (state.version.empty()) state.why = "its answer cannot be read";
  while (state.packages.size() > most_packages)
    state.packages.erase(std::prev(state.packages.end()));
  return state;
}

PythonState ask_python(System& system, const std::string& program, const LaunchPlan& plan) {
  constexpr std::chrono::seconds limit(5);
  if (plan.container)
    return {.program = program, .why = "it is in the container " + plan.container->image};
  std::vector<std::string> argv;
  for (const auto& [name, value] : plan.environment)
    if (chooses_python(name)) argv.push_back(fmt::format("{}={}", name, value));
  if (!argv.empty()) argv.insert(argv.begin(), "env");
  // setup: may do anything, and is for the nodes of the job.
  const auto command = prepared_command(plan, "", {program, "-c", question});
  argv.insert(argv.end(), command.begin(), command.end());
  const auto answer = system.run(argv, limit);
  PythonState state;
  if (!answer) {
    state.why = answer.error().what;
  } else if (answer->exit_code != 0) {
    state.why = answer->err.empty() ? fmt::format("{} exited with {}", program, answer->exit_code)
                                    : std::string(last_line(answer->err));
  } else {
    state = python_state_in(answer->out);
  }
  state.program = program;
  return state;
}

}  // namespace dllaunch
