// The variables of a shell while its script is walked, with a way back to what they were.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "launcher/lint/bash/text.hpp"

namespace dllaunch::lint {

struct Value {
  bool set = true;  // false: after `unset`
  bool exported = false;
  bool array = false;
  Text text = {};  // of an array: its first element
  std::vector<Text> elements = {};
};

using ValuePtr = std::shared_ptr<const Value>;

class Variables {
 public:
  /// Changes since a mark; null: not assigned.
  using Changes = std::map<std::string, ValuePtr>;

  /// Null where the script has not touched the name so far.
  ValuePtr find(const std::string& name) const;
  void set(const std::string& name, ValuePtr value);

  std::size_t mark() const { return journal_.size(); }
  Changes changes_since(std::size_t mark) const;
  void roll_back(std::size_t mark);

  /// Where a script went one of several ways: what all of them agree on is known, the rest is not.
  void join(const std::vector<Changes>& ways);

 private:
  struct Entry {
    std::string name;
    ValuePtr before;
  };

  std::unordered_map<std::string, ValuePtr> values_;
  std::vector<Entry> journal_;
};

/// A variable that has some value.
ValuePtr unknown_value(const std::string& name, std::size_t source, bool exported);

}  // namespace dllaunch::lint
