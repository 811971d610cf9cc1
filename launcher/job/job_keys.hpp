// The rows of the table behind job_schema(): one a key of the job file.
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"

namespace dllaunch {

struct JobKey {
  std::string path;        // "resources.nodes"; a block stands before its keys
  Json rules;              // JSON Schema keywords that bound it
  Json initial = nullptr;  // the default; of no meaning for a block
  std::string doc;         // one sentence
  Json example = nullptr;
  bool required = false;
};

/// In the order in which people write them. `train` is not here: it is the trainer's.
const std::vector<JobKey>& job_keys();

}  // namespace dllaunch
