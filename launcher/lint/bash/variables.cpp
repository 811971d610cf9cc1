#include "launcher/lint/bash/variables.hpp"

#include <set>

namespace dllaunch::lint {
namespace {

bool same(const ValuePtr& a, const ValuePtr& b) {
  if (a == b) return true;
  if (!a || !b) return false;
  if (a->set != b->set || a->exported != b->exported || a->array != b->array) return false;
  if (!a->text.known() || a->text.bytes() != b->text.bytes()) return false;
  if (a->elements.size() != b->elements.size()) return false;
  for (std::size_t i = 0; i < a->elements.size(); ++i) {
    if (!a->elements[i].known() || a->elements[i].bytes() != b->elements[i].bytes()) return false;
  }
  return true;
}

}  // namespace

ValuePtr Variables::find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : found->second;
}

void Variables::set(const std::string& name, ValuePtr value) {
  ValuePtr& slot = values_[name];
  journal_.push_back({name, slot});
  slot = std::move(value);
}

Variables::Changes Variables::changes_since(std::size_t mark) const {
  Changes changes;
  for (std::size_t i = mark; i < journal_.size(); ++i) {
    changes[journal_[i].name] = find(journal_[i].name);
  }
  return changes;
}

void Variables::roll_back(std::size_t mark) {
  while (journal_.size() > mark) {
    values_[journal_.back().name] = std::move(journal_.back().before);
    journal_.pop_back();
  }
}

void Variables::join(const std::vector<Changes>& ways) {
  std::set<std::string> names;
  for (const Changes& changes : ways) {
    for (const auto& [name, value] : changes) names.insert(name);
  }
  for (const std::string& name : names) {
    const ValuePtr before = find(name);
    ValuePtr joined;
    bool agree = true;
    bool exported = false;
    std::size_t source = 0;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const auto found = ways[i].find(name);
      const ValuePtr& value = found == ways[i].end() ? before : found->second;
      if (value) exported = exported || value->exported;
      if (value && source == 0) source = value->text.source(0);
      if (i == 0) joined = value;
      agree = agree && same(joined, value);
    }
    set(name, agree ? joined : unknown_value(name, source, exported));
  }
}

ValuePtr unknown_value(const std::string& name, std::size_t source, bool exported) {
  auto value = std::make_shared<Value>();
  value->exported = exported;
  value->text.add_hole(name, source);
  return value;
}

}  // namespace dllaunch::lint
