// The table behind job_schema(): one row per key of the job file.
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"

namespace dllaunch {

struct JobKey {
  std::string path;        // "resources.nodes"; a block precedes its keys
  Json rules;              // JSON Schema keywords for its value
  Json initial = nullptr;  // the default; unused for a block
  std::string doc;         // one sentence
  Json example = nullptr;
  bool from_file = false;  // its default is the file's name
};

/// In the order people write them. `train` is missing: the trainer defines it.
const std::vector<JobKey>& job_keys();

}  // namespace dllaunch
