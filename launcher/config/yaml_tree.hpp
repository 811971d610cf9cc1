// A YAML document as a tree that knows where each of its words stands. The only door to yaml-cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dllaunch {

/// A place in one of the texts a job is made of.
struct Mark {
  int source = 0;  // 0: the file; i: the i-th --set
  int line = 1;
  int column = 1;  // in characters, not bytes
};

enum class YamlKind { null, scalar, sequence, mapping };

struct YamlNode;
using YamlPointer = std::shared_ptr<YamlNode>;

struct YamlEntry {
  std::string key;
  Mark mark;  // of the key
  YamlPointer value;
};

struct YamlNode {
  YamlKind kind = YamlKind::null;
  Mark mark;
  std::string text;                // scalar
  bool plain = false;              // scalar: neither quoted nor tagged as text
  std::vector<YamlPointer> items;  // sequence
  std::vector<YamlEntry> entries;  // mapping, in file order, duplicates included
};

struct YamlProblem {
  Mark mark;
  std::string message;
};

/// `root` is a null node for an empty document; absent where there is a problem.
struct YamlDocument {
  YamlPointer root;
  std::optional<YamlProblem> problem;
};

/// One document in UTF-8 of at most 1 MiB, 64 levels and 100,000 values after aliases have been
/// put in place; keys are plain words. `first_column` is where the text begins in its first line.
YamlDocument parse_yaml(std::string_view text, int source, int first_column = 1);

/// Lines without their ends; never empty.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace dllaunch
