// The CPU lists that a script hands to srun: mask_cpu and map_cpu.
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
    malformed,  // no number of that kind
    unset,      // holds a variable that nothing sets
    unknown,    // holds something that only the running script knows
  };
  Text text = {};
  State state = State::good;
  IdSet cpus = {};
};

struct CpuBind {
  const Launch* launch = nullptr;
  const GivenOption* option = nullptr;  // null: from the variable SLURM_CPU_BIND
  bool map = false;                     // map_cpu: single CPUs
  bool typed = false;                   // "mask_cpu:" or "map_cpu:" is there to be seen
  Text value = {};                      // "mask_cpu:0xfe,0xfe00"
  Text list = {};                       // "0xfe,0xfe00"
  std::vector<BindItem> items = {};     // in local-rank order, 0xff*4 as four
  std::string kind() const { return map ? "map_cpu" : "mask_cpu"; }
  bool known() const;  // every item is good or plainly wrong
  bool good() const;   // every item is good
};

/// Of every srun whose binding is an explicit list or an unknown variable.
std::vector<CpuBind> cpu_binds(const Script& script);

/// Reads "[verbose,]mask_cpu:LIST"; false where the value is something else.
bool read_bind_list(const Text& value, CpuBind& bind);

/// Whether a value looks like a list of CPU masks or CPU numbers meant for srun.
bool looks_like_bind_list(const std::string& name, const Text& value);

}  // namespace dllaunch::lint
