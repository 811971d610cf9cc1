// A YAML document as a tree with source positions. The only code that uses yaml-cpp.
// Does not know schemas (schema_walk.hpp), nor what any key means.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dllaunch {

/// A position in one of the texts that make up a job.
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
  std::vector<YamlEntry> entries;  // mapping: in file order, duplicates included
};

/// A text under a key, as if the file had it at `mark`.
YamlEntry text_entry(std::string key, std::string text, const Mark& mark);

struct YamlProblem {
  Mark mark;
  std::string message;
};

/// `root` is a null node for an empty document; nullopt if there is a problem.
struct YamlDocument {
  YamlPointer root;
  std::optional<YamlProblem> problem;
};

/// Parses one UTF-8 document of at most 1 MiB, 64 levels and 100,000 values after alias expansion;
/// keys are plain scalars. `first_column`: the column of the text in its first line.
YamlDocument parse_yaml(std::string_view text, int source, int first_column = 1);

/// Lines without newlines; never empty.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace dllaunch
