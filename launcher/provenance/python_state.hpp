// The Python of a run and its packages.
#pragma once

#include <map>
#include <string>

#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

struct LaunchPlan;

struct PythonState {
  std::string program = {};                          // as asked: "python3", "/opt/v/bin/python"
  std::string version = {};                          // "3.11.2"; empty: unknown
  std::map<std::string, std::string> packages = {};  // name -> version
  std::string why = {};                              // why it is unknown

  bool operator==(const PythonState&) const = default;
};

/// The Python that the job's command starts; of a framework's other command "python3". Empty: none.
/// Pure.
std::string python_of(const Job& job);

/// What the program prints that ask_python() has it run.
PythonState python_state_in(const std::string& answer);

/// Asks it on this machine, within the plan's modules and activated environment, for at most 5 s.
/// Does not look into a container.
PythonState ask_python(System& system, const std::string& program, const LaunchPlan& plan);

}  // namespace dllaunch
