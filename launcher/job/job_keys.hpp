// The rows of the table behind job_schema(): one a key of the job file.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace dllaunch {

struct JobKey {
  std::string path;                          // "resources.nodes"; a block stands before its keys
  nlohmann::ordered_json rules;              // JSON Schema keywords that bound it
  nlohmann::ordered_json initial = nullptr;  // the default; of no meaning for a block
  std::string doc;                           // one sentence
  nlohmann::ordered_json example = nullptr;
  bool required = false;
};

/// In the order in which people write them. `train` is not here: it is the trainer's.
const std::vector<JobKey>& job_keys();

}  // namespace dllaunch
