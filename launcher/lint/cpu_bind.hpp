// The CPU lists that a script passes to srun: mask_cpu and map_cpu.
#pragma once

#include <string>
#include <vector>

#include "launcher/lint/script.hpp"
#include "support/id_set.hpp"

namespace dllaunch::lint {

/// One rank's CPUs.
struct BindItem {
  enum class State {
    good,
    empty,      // no CPU: "", 0x0
    malformed,  // not a number of that kind
    unset,      // contains a variable that is never set
    unknown,    // known only when the script runs
  };
  Text text = {};
  State state = State::good;
  IdSet cpus = {};
};

struct CpuBind {
  const Launch* launch = nullptr;
  const GivenOption* option = nullptr;  // null: from the variable SLURM_CPU_BIND
  bool map = false;                     // map_cpu: single CPUs
  bool typed = false;                   // "mask_cpu:" or "map_cpu:" is visible
  Text value = {};                      // "mask_cpu:0xfe,0xfe00"
  Text list = {};                       // "0xfe,0xfe00"
  std::vector<BindItem> items = {};     // in local-rank order; 0xff*4 as four items
  std::string kind() const { return map ? "map_cpu" : "mask_cpu"; }
  bool known() const;  // every item is valid or certainly wrong
  bool good() const;   // every item is valid
};

/// The bindings of every srun that uses an explicit list or an unknown variable.
std::vector<CpuBind> cpu_binds(const Script& script);

/// Parses "[verbose,]mask_cpu:LIST"; returns false for other values.
bool read_bind_list(const Text& value, CpuBind& bind);

/// Whether a value looks like a list of CPU masks or numbers for srun.
bool looks_like_bind_list(const std::string& name, const Text& value);

}  // namespace dllaunch::lint
