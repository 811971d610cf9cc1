#include "launcher/config/yaml_tree.hpp"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

#include "launcher/base/split.hpp"
#include "launcher/base/utf8.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20;
constexpr std::size_t most_levels = 64;
constexpr std::size_t most_nodes = 100'000;
/// yaml-cpp keeps all of a line's brackets, as each may begin a key.
constexpr std::size_t most_brackets = 20'000;

/// Thrown to leave the parser from a callback.
struct Refusal {
  YAML::Mark mark;
  std::string message;
};

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::function<Mark(const YAML::Mark&)> place) : place_(std::move(place)) {}

  YamlPointer root() const { return root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0)
      throw Refusal{mark, "a second YAML document begins here; the file must be a single one"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, anchor, make(mark, YamlKind::null));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Refusal{mark, "this alias is inside its own anchor"};
    // Its children are shared: an alias costs only its list of them.
    count(mark, 1 + found->second->items.size() + found->second->entries.size());
    auto copy = std::make_shared<YamlNode>(*found->second);
    copy->mark = place_(mark);
    add(mark, 0, std::move(copy));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto node = make(mark, YamlKind::scalar);
    node->text = value;
    node->plain = tag == "?";
    if (!node->plain && tag != "!" && tag != "tag:yaml.org,2002:str") refuse_tag(mark, tag, value);
    add(mark, anchor, std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    if (tag != "?" && tag != "!" && tag != "tag:yaml.org,2002:seq") refuse_tag(mark, tag);
    open(mark, anchor, make(mark, YamlKind::sequence));
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    if (tag != "?" && tag != "!" && tag != "tag:yaml.org,2002:map") refuse_tag(mark, tag);
    open(mark, anchor, make(mark, YamlKind::mapping));
  }
  void OnMapEnd() override { close(); }

 private:
  struct Level {
    YamlPointer node;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    YamlPointer key;  // key of the next value
  };

  [[noreturn]] static void refuse_tag(const YAML::Mark& mark, const std::string& tag,
                                      const std::string& value = "") {
    // Removing an item, as in resources.sbatch_extra or train.freeze, looks like a tag.
    const bool alone = tag.starts_with('!') && tag.size() < 80 && value.empty();
    const auto hint = alone ? fmt::format("; for text write \"{}\"", tag) : "";
    throw Refusal{mark, fmt::format("the tag {} is not supported{}", in_quotes(tag), hint)};
  }

  void count(const YAML::Mark& mark, std::size_t nodes) {
    nodes_ += nodes;
    if (nodes_ > most_nodes) {
      throw Refusal{mark, fmt::format("more than {} values, aliases included", most_nodes)};
    }
  }

  YamlPointer make(const YAML::Mark& mark, YamlKind kind) {
    count(mark, 1);
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->mark = place_(mark);
    return node;
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, YamlPointer node) {
    if (levels_.size() == most_levels) {
      throw Refusal{mark, fmt::format("nested deeper than {} levels", most_levels)};
    }
    levels_.push_back({std::move(node), mark, anchor, nullptr});
  }

  void close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    add(level.mark, level.anchor, std::move(level.node));
  }

  /// Adds a finished node at the parser's position.
  void add(const YAML::Mark& mark, YAML::anchor_t anchor, YamlPointer node) {
    if (anchor != 0) anchors_[anchor] = node;
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node->kind == YamlKind::sequence) {
      level.node->items.push_back(std::move(node));
    } else if (level.key != nullptr) {
      level.node->entries.push_back({level.key->text, level.key->mark, std::move(node)});
      level.key = nullptr;
    } else {
      if (node->kind != YamlKind::scalar)
        throw Refusal{mark, "a key must be a word, not a list or a block"};
      level.key = std::move(node);
    }
  }

  std::function<Mark(const YAML::Mark&)> place_;
  YamlPointer root_ = std::make_shared<YamlNode>();
  std::vector<Level> levels_;
  std::map<YAML::anchor_t, YamlPointer> anchors_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

/// Converts yaml-cpp's positions: 0-based, in bytes, and past the end for missing text.
class Places {
 public:
  Places(std::string_view text, int source, int first_column)
      : lines_(lines_of(text)), source_(source), first_column_(first_column) {}

  Mark operator()(const YAML::Mark& mark) const {
    if (mark.is_null()) return at(0, 0);
    return at(static_cast<std::size_t>(mark.line), static_cast<std::size_t>(mark.column));
  }

  Mark at(std::size_t line, std::size_t byte) const {
    if (line >= lines_.size()) {
      line = lines_.size() - 1;
      byte = lines_[line].size();
    }
    byte = std::min(byte, lines_[line].size());
    if (line != line_ || byte < byte_) {
      line_ = line;
      byte_ = 0;
      column_ = 0;
    }
    column_ += characters_in(lines_[line].substr(byte_, byte - byte_));
    byte_ = byte;
    return {source_, static_cast<int>(line) + 1, column_ + (line == 0 ? first_column_ : 1)};
  }

 private:
  std::vector<std::string_view> lines_;
  int source_;
  int first_column_;
  // The mark before, from which the next one counts on: a file may be one long line.
  mutable std::size_t line_ = 0;
  mutable std::size_t byte_ = 0;
  mutable int column_ = 0;
};

/// Rejects text that YAML forbids and yaml-cpp would accept or silently replace.
std::optional<YamlProblem> check_text(std::string_view text, const Places& places) {
  if (text.size() > most_bytes) {
    return YamlProblem{places.at(0, 0), fmt::format("larger than {} MiB", most_bytes >> 20)};
  }
  std::size_t line = 0;
  std::size_t line_begin = 0;
  std::size_t brackets = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t length = utf8_length(text.substr(at));
    const bool control =
        (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
    if (length == 0) return YamlProblem{places.at(line, at - line_begin), "not UTF-8"};
    if (control) {
      return YamlProblem{places.at(line, at - line_begin),
                         fmt::format("control character U+{:04X}", byte)};
    }
    if (byte == '[' || byte == '{') ++brackets;
    if (brackets > most_brackets) {
      return YamlProblem{places.at(line, at - line_begin),
                         fmt::format("more than {} brackets in one line", most_brackets)};
    }
    at += length;
    if (byte == '\n') {
      ++line;
      line_begin = at;
      brackets = 0;
    }
  }
  return std::nullopt;
}

/// Rewords yaml-cpp's messages about map values, which usually mean wrong indentation.
YamlProblem explain(const std::string& message, Mark mark, std::string_view text) {
  const auto line = lines_of(text)[static_cast<std::size_t>(mark.line) - 1];
  const std::size_t tab = line.substr(0, line.find_first_not_of(" \t")).find('\t');
  if (tab == std::string_view::npos) {
    // yaml-cpp 0.8 adds the name, at which `mark` points anyway.
    const std::string undefined = "the referenced anchor is not defined";
    if (!message.starts_with(undefined)) return {mark, "YAML: " + message};
    return {mark, "YAML: " + undefined + "; text that begins with * needs quotes"};
  }
  mark.column = static_cast<int>(tab) + 1;
  return {mark, "YAML: tabs cannot be used to indent; use spaces"};
}

}  // namespace

YamlEntry text_entry(std::string key, std::string text, const Mark& mark) {
  auto value = std::make_shared<YamlNode>();
  value->kind = YamlKind::scalar;
  value->mark = mark;
  value->text = std::move(text);
  return {std::move(key), mark, std::move(value)};
}

YamlDocument parse_yaml(std::string_view text, int source, int first_column) {
  const Places places(text, source, first_column);
  if (auto problem = check_text(text, places)) return {nullptr, std::move(problem)};

  TreeBuilder builder(places);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refusal& refusal) {
    return {nullptr, YamlProblem{places(refusal.mark), refusal.message}};
  } catch (const YAML::Exception& error) {
    return {nullptr, explain(error.msg, places(error.mark), text)};
  }
  return {builder.root(), std::nullopt};
}

std::vector<std::string_view> lines_of(std::string_view text) {
  auto lines = list_of_lines(text);
  for (auto& line : lines)
    if (line.ends_with('\r')) line.remove_suffix(1);
  if (lines.empty()) lines.emplace_back();
  return lines;
}

}  // namespace dllaunch
