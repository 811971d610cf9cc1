// The one table of `train:` keys: the parser reads it, and `dltrain --describe` prints it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "trainer/config/config.hpp"

namespace dllaunch {

// numbers, texts: a list; network: a word, or a list of layers
enum class ValueKind { text, texts, word, integer, number, numbers, flag, network };

struct Word {
  std::string name;  // what the user types
  std::string summary;
};

/// The rows of a table of entries with a name and a summary, after `first`.
template <typename Entries>
std::vector<Word> words_of(const Entries& entries, std::vector<Word> first = {}) {
  for (const auto& entry : entries) {
    first.push_back({std::string(entry.name), std::string(entry.summary)});
  }
  return first;
}

/// A key that only some words of another key in its block have.
struct KeyChoice {
  std::string by = {};                   // "name"; empty: there is no choice
  Json initial = {};                     // of each word that has the key: its default there
  std::vector<std::string> needed = {};  // words for which it must be given
};

struct ConfigKey {
  std::string path;  // "optimizer.lr"
  ValueKind kind = ValueKind::text;
  Json initial = nullptr;  // the default
  bool required = false;   // has no default
  bool nullable = false;
  bool launcher = false;  // written by the launcher, no part of `train:`
  bool wide = false;      // an integer that may exceed 2^31-1
  std::optional<int> minimum = {};
  std::optional<int> above = {};  // exclusive minimum
  std::optional<int> below = {};  // exclusive maximum
  std::optional<int> count = {};  // of numbers: exactly so many; absent: at least one
  std::vector<Word> words = {};   // of a word; of a number: what may stand in its place
  KeyChoice choice = {};          // such a key is nullable: null is the default
  std::string description = {};
  Json about_words = {};  // what the launcher's checks know them by
  std::function<void(TrainConfig&, const Json&)> store = {};
};

/// In the order in which people read them.
const std::vector<ConfigKey>& config_keys();

/// What is said of blocks: "optimizer" -> "how weights follow gradients".
std::string block_description(const std::string& block);

}  // namespace dllaunch
