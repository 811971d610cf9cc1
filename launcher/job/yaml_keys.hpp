// Reads and sets keys of a job file's tree by their path.
#pragma once

#include <string>
#include <string_view>

#include "launcher/config/yaml_tree.hpp"

namespace dllaunch {

/// The entry at "resources.nodes"; the last one if the key is repeated. Null: no such key, or
/// something on the way is not a block.
const YamlEntry* key_at(const YamlNode& root, std::string_view path);

/// The scalar text at a path; "" if there is none or it is null.
std::string_view text_at(const YamlNode& root, std::string_view path);

/// The value at a path of existing blocks, which no other key shares any more. Null as above.
YamlNode* own_value_at(YamlNode& root, std::string_view path);

/// Sets a key to a plain scalar, and creates missing blocks; `mark` is where a problem with it is
/// reported. Does nothing if something on the way is not a block: that is reported elsewhere.
void set_key(YamlNode& root, std::string_view path, std::string text, const Mark& mark);

}  // namespace dllaunch
