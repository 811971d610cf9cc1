// What a batch script does for a plan without dllaunch: `dllaunch script --plain`. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"

namespace dllaunch {

struct PlainScript {
  /// What follows #SBATCH, and why; lines with the same reason follow each other.
  struct Directive {
    std::string argument = {};
    std::string why = {};
  };
  std::vector<Directive> directives = {};
  std::vector<std::string> ranks = {};     // a table of the ranks of a node
  std::vector<std::string> options = {};   // srun's, each with its reason
  std::vector<std::string> before = {};    // lines of bash, once per job
  std::vector<std::string> of_rank = {};   // lines of bash, by each rank
  std::vector<std::string> given_up = {};  // what `dllaunch script` does beyond this
  bool own_folder = false;                 // the run's directory is needed
  std::string start = {};                  // srun and what it starts
};

/// Its text, from templates/plain.sbatch.mustache.
std::string render_plain(const LaunchPlan& plan, const PlainScript& script);

/// bad_request: copies to nodes (`stage:`). unavailable: srun cannot start these ranks.
Result<PlainScript> plain_script(const LaunchPlan& plan);

}  // namespace dllaunch
