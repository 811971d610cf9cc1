// The options of optimisers by key: a key must store its own option and no other.
#pragma once

#include <array>
#include <map>
#include <string>

#include "support/json.hpp"
#include "trainer/config/optimizer_keys.hpp"

namespace dllaunch {

inline std::map<std::string, Json> option_fields(const OptimizerOptions& options) {
  const std::string block = "optimizer.";
  std::map<std::string, Json> fields;
  for (const ConfigKey& key : optimizer_keys()) {
    if (key.choice.by.empty()) continue;
    const std::string name = key.path.substr(block.size());
    fields[name] = option_value(options, name);
  }
  return fields;
}

/// Returns options that are all different, valid and nowhere the default; flags are `flags`.
inline OptimizerOptions distinct_options(bool flags) {
  TrainConfig config;
  double number = 0.1;
  for (const ConfigKey& key : optimizer_keys()) {
    if (key.choice.by.empty()) continue;
    number += 0.01;
    Json value = number;
    if (key.kind == ValueKind::flag) value = flags;
    if (key.kind == ValueKind::numbers) value = std::array{number, number + 0.005};
    key.store(config, value);
  }
  return config.optimizer_options;
}

}  // namespace dllaunch
