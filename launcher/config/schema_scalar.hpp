// Checks one value against the scalar keywords of a JSON Schema.
#pragma once

#include <optional>
#include <string>

#include "launcher/config/yaml_tree.hpp"
#include "support/json.hpp"

namespace dllaunch {

bool schema_allows(const Json& schema, std::string_view type);

/// The value of `node` (a scalar or null) under `schema`; nullopt if it does not fit.
std::optional<Json> accept_scalar(const Json& schema, const YamlNode& node);

/// Of the alternative forms in `schema`, the block or list form if the node is one; else `schema`.
const Json& form_for(const Json& schema, const YamlNode& node);

/// Whether POSIX extended `pattern` matches anywhere in `text`.
bool matches(const std::string& pattern, const std::string& text);

/// "auto or a whole number of at least 1".
std::string describe(const Json& schema);

/// The enum words of `schema`, including those of its alternatives.
std::vector<std::string> words_of(const Json& schema);

}  // namespace dllaunch
