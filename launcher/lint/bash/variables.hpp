// The variables of a shell during the walk, with undo.
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
  Text text = {};  // for an array, its first element
  std::vector<Text> elements = {};
};

using ValuePtr = std::shared_ptr<const Value>;

class Variables {
 public:
  /// Changes since a mark; null: not assigned.
  using Changes = std::map<std::string, ValuePtr>;

  /// Null if the script has not touched the name yet.
  ValuePtr find(const std::string& name) const;
  void set(const std::string& name, ValuePtr value);

  std::size_t mark() const { return journal_.size(); }
  Changes changes_since(std::size_t mark) const;
  void roll_back(std::size_t mark);

  /// Merges alternative branches: values on which all agree stay known, others become unknown.
  void join(const std::vector<Changes>& ways);

 private:
  struct Entry {
    std::string name;
    ValuePtr before;
  };

  std::unordered_map<std::string, ValuePtr> values_;
  std::vector<Entry> journal_;
};

/// A set variable with an unknown value.
ValuePtr unknown_value(const std::string& name, std::size_t source, bool exported);

}  // namespace dllaunch::lint
