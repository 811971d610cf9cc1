// Turns the short forms of a job file into the full ones that every other part reads.
#pragma once

#include <vector>

#include "launcher/config/yaml_tree.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// The JSON Schema keyword of a block that may be one word: the key that the word is the value of.
constexpr const char* short_keyword = "x-short";

/// Expands, by `schema`: a word for a block (`optimizer: adam`), a list of NAME=VALUE for
/// `environment` and `environment.variables`, times (`2h`) and memory (`64GB`). Marks stay where
/// the user wrote the text. What is not a short form stays: the schema judges it. Expanding twice
/// changes nothing.
std::vector<YamlProblem> expand_short_forms(const Json& schema, YamlNode& root);

/// Of these the words and lists that stand for a block of keys.
std::vector<YamlProblem> expand_short_blocks(const Json& schema, YamlNode& root);

}  // namespace dllaunch
