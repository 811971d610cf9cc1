// The table of `train:` keys: the parser reads it, `dltrain --describe` prints it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "trainer/config/config.hpp"

namespace dllaunch {

// texts, numbers: a list; network: a word, or a list of layers
enum class ValueKind { text, texts, word, integer, number, numbers, flag, network };

struct Word {
  std::string name;  // the name in a job file
  std::string summary;
};

/// Returns the entries of a table as words (name, summary), after `first`.
template <typename Entries>
std::vector<Word> words_of(const Entries& entries, std::vector<Word> first = {}) {
  for (const auto& entry : entries) {
    first.push_back({std::string(entry.name), std::string(entry.summary)});
  }
  return first;
}

/// For a key that exists only for some words of another key in its block.
struct KeyChoice {
  std::string by = {};                   // "name"; empty: unconditional
  Json initial = {};                     // for each word that has the key, its default
  std::vector<std::string> needed = {};  // words that require the key
};

struct ConfigKey {
  std::string path;  // "optimizer.lr"
  ValueKind kind = ValueKind::text;
  Json initial = nullptr;  // default value
  bool required = false;   // no default
  bool nullable = false;
  bool launcher = false;  // written by the launcher, not part of `train:`
  bool wide = false;      // integer that may exceed 2^31-1
  std::optional<int> minimum = {};
  std::optional<int> above = {};  // exclusive minimum
  std::optional<int> below = {};  // exclusive maximum
  std::optional<int> count = {};  // length of numbers; absent: at least one
  std::vector<Word> words = {};   // the choices of a word; alternatives to a number
  KeyChoice choice = {};          // a key with a choice is nullable, and null is its default
  std::string description = {};
  Json about_words = {};  // passed to the launcher's checks
  std::function<void(TrainConfig&, const Json&)> store = {};
};

/// In the order of the documentation.
const std::vector<ConfigKey>& config_keys();

/// Returns the description of a block, such as "optimizer".
std::string block_description(const std::string& block);

}  // namespace dllaunch
