#include "launcher/job/job_overrides.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "launcher/base/utf8.hpp"

namespace dllaunch {
namespace {

struct Step {
  std::string key;
  Mark mark;
};

std::vector<Step> steps_of(const std::string& path, int source) {
  std::vector<Step> steps;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const int column = characters_in(path.substr(0, begin)) + 1;
    steps.push_back({path.substr(begin, end - begin), {source, 1, column}});
    begin = end + 1;
  }
  return steps;
}

/// The entry for `step`, created if missing. Repeated keys are reported later; the override
/// replaces the first.
YamlEntry& entry_of(YamlNode& block, const Step& step) {
  const auto found = std::ranges::find(block.entries, step.key, &YamlEntry::key);
  if (found != block.entries.end()) return *found;
  auto nothing = std::make_shared<YamlNode>();
  nothing->mark = step.mark;
  block.entries.push_back({step.key, step.mark, std::move(nothing)});
  return block.entries.back();
}

/// The block of a component, by its name; null: there is none.
YamlNode* component_of(YamlNode& list, const std::string& name) {
  for (YamlPointer& item : list.items) {
    const auto is_it = [&name](const YamlEntry& entry) {
      return entry.key == "name" && entry.value->text == name;
    };
    if (std::ranges::none_of(item->entries, is_it)) continue;
    item = std::make_shared<YamlNode>(*item);
    return item.get();
  }
  return nullptr;
}

}  // namespace

std::optional<YamlProblem> apply_override(YamlNode& root, const std::string& text, int source) {
  const std::size_t equals = text.find('=');
  const auto steps = steps_of(text.substr(0, equals), source);
  const bool empty_step =
      std::ranges::any_of(steps, [](const Step& step) { return step.key.empty(); });
  if (equals == std::string::npos || empty_step || text.find('\n') < equals) {
    return YamlProblem{{source, 1, 1}, "an override must be KEY.PATH=VALUE"};
  }
  const std::string head = text.substr(0, equals + 1);
  auto value =
      parse_yaml(std::string_view(text).substr(equals + 1), source, characters_in(head) + 1);
  if (value.problem) return std::move(value.problem);

  YamlNode* block = &root;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == 1 && steps[0].key == "components" && block->kind == YamlKind::sequence) {
      if (i + 1 == steps.size())
        return YamlProblem{steps[i].mark,
                           "--set components.NAME.KEY: the key of the component is missing"};
      YamlNode* component = component_of(*block, steps[i].key);
      if (component == nullptr)
        return YamlProblem{steps[i].mark, "--set components.NAME.KEY: no component has this name"};
      block = component;
      continue;
    }
    if (block->kind == YamlKind::null) block->kind = YamlKind::mapping;
    if (block->kind != YamlKind::mapping) {
      return YamlProblem{steps[i].mark, fmt::format("{} is not a block of keys in the job file",
                                                    in_quotes(head.substr(0, head.size() - 1)))};
    }
    YamlEntry& entry = entry_of(*block, steps[i]);
    if (i + 1 == steps.size()) {
      entry.value = std::move(value.root);
      break;
    }
    entry.value = std::make_shared<YamlNode>(*entry.value);
    block = entry.value.get();
  }
  return std::nullopt;
}

}  // namespace dllaunch
