// One value against the scalar keywords of a JSON Schema.
#pragma once

#include <optional>
#include <string>

#include "launcher/config/yaml_tree.hpp"
#include "support/json.hpp"

namespace dllaunch {

bool schema_allows(const Json& schema, std::string_view type);

/// The value `node` (a scalar or null) has by `schema`; absent where it does not fit.
std::optional<Json> accept_scalar(const Json& schema, const YamlNode& node);

/// Does POSIX extended `pattern` match somewhere in `text`?
bool matches(const std::string& pattern, const std::string& text);

/// "auto or a whole number of at least 1".
std::string describe(const Json& schema);

/// The words of `schema`, those of its alternatives included.
std::vector<std::string> words_of(const Json& schema);

}  // namespace dllaunch
