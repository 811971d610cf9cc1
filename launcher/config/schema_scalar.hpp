// One value against the scalar keywords of a JSON Schema.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "launcher/config/yaml_tree.hpp"

namespace dllaunch {

bool schema_allows(const nlohmann::ordered_json& schema, std::string_view type);

/// The value `node` (a scalar or null) has by `schema`; absent where it does not fit.
std::optional<nlohmann::ordered_json> accept_scalar(const nlohmann::ordered_json& schema,
                                                    const YamlNode& node);

/// Does POSIX extended `pattern` match somewhere in `text`?
bool matches(const std::string& pattern, const std::string& text);

/// "auto or a whole number of at least 1".
std::string describe(const nlohmann::ordered_json& schema);

/// The words of `schema`, those of its alternatives included.
std::vector<std::string> words_of(const nlohmann::ordered_json& schema);

}  // namespace dllaunch
