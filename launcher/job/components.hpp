// `components:` of a job file: one tree becomes a tree for the whole job and one for each part.
#pragma once

#include <string>
#include <vector>

#include "launcher/config/yaml_tree.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct JobPart {
  std::string name;
  bool ends_job = false;
  YamlNode root;  // an ordinary job's: the part's keys over the top-level ones
};

struct JobParts {
  YamlNode whole;  // the keys of the whole job only
  std::vector<JobPart> parts = {};
  std::vector<YamlProblem> problems = {};
};

/// Whether the tree has the key with a value.
bool has_components(const YamlNode& root);

/// Splits a tree that has the key. Of two blocks with one name the part's keys win one by one;
/// `run` replaces `train`, a list replaces a list. Reports parts that are no blocks or have bad
/// names, and keys that do not combine. Marks stay where the user wrote the text.
JobParts split_components(const YamlNode& root);

/// The schema of one part, out of that of the whole file.
Json component_schema(const Json& job_schema);

/// The variable's name in DLLAUNCH_COMPONENT_NAME_HOSTS: "data-loader" is DATA_LOADER.
std::string variable_word(std::string name);

}  // namespace dllaunch
