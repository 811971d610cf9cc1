// The one table of `train:` keys: the parser reads it, and `dltrain --describe` prints it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "trainer/config.hpp"

namespace dllaunch {

enum class ValueKind { text, word, integer, number, flag };

struct Word {
  std::string name;  // what the user types
  std::string summary;
};

struct ConfigKey {
  std::string path;  // "optimizer.lr"
  ValueKind kind = ValueKind::text;
  nlohmann::ordered_json initial = nullptr;  // the default
  bool required = false;                     // has no default
  bool nullable = false;
  bool launcher = false;  // written by the launcher, no part of `train:`
  bool wide = false;      // an integer that may exceed 2^31-1
  std::optional<int> minimum = {};
  std::optional<int> above = {};  // exclusive minimum
  std::vector<Word> words = {};   // of a word; of a number: what may stand in its place
  std::string description = {};
  std::function<void(TrainConfig&, const nlohmann::ordered_json&)> store = {};
};

/// In the order in which people read them.
const std::vector<ConfigKey>& config_keys();

/// What is said of blocks: "optimizer" -> "how weights follow gradients".
std::string block_description(const std::string& block);

}  // namespace dllaunch
