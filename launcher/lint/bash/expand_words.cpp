#include <algorithm>

#include "launcher/lint/bash/shell_runner.hpp"

namespace dllaunch::lint {
namespace {

bool is_blank_or_newline(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

}  // namespace

bool may_be_inherited(std::string_view name) {
  static const std::set<std::string_view> lower = {"http_proxy", "https_proxy", "no_proxy",
                                                   "ftp_proxy", "all_proxy"};
  const bool has_lower = std::ranges::any_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
  return !is_name(name) || !has_lower || lower.contains(name);
}

void ShellRunner::Fields::finish() {
  if (started || (empty_quotes && !empty_list)) words.push_back(std::move(current));
  current = Text();
  started = empty_quotes = empty_list = false;
}

std::vector<Text> ShellRunner::expand(const Word& word) {
  Fields fields;
  for (const Part& part : word.parts) expand_part(part, fields);
  fields.finish();
  return std::move(fields.words);
}

/// Expands without word splitting, as in an assignment.
Text ShellRunner::expand_whole(const std::vector<Part>& parts) {
  Fields fields;
  for (const Part& part : parts) {
    if (part.quoted) {
      expand_part(part, fields);
      continue;
    }
    Part whole = part;
    whole.quoted = true;
    expand_part(whole, fields);
  }
  Text text;
  for (const Text& word : fields.words) {
    if (!text.empty()) text.add(" ", word.source(0));
    text.append(word);
  }
  text.append(fields.current);
  return text;
}

Text ShellRunner::literal(const Part& part) const {
  if (!frame_) return Text(part.text, part.begin);
  // A single byte may come from an escape; longer text is verbatim.
  const bool verbatim = frame_->bytes().compare(part.begin, part.text.size(), part.text) == 0;
  return verbatim ? frame_->part(part.begin, part.text.size())
                  : Text(part.text, frame_->source(part.begin));
}

std::string ShellRunner::source_text(const Part& part) const {
  constexpr std::size_t most = 200;
  const std::string_view text = frame_ ? std::string_view(frame_->bytes()) : script_;
  return std::string(text.substr(part.begin, std::min(part.end - part.begin, most)));
}

void ShellRunner::expand_part(const Part& part, Fields& fields) {
  switch (part.kind) {
    case PartKind::text:
      fields.current.append(literal(part));
      fields.empty_quotes = true;
      fields.started = fields.started || !part.text.empty();
      return;
    case PartKind::variable:
      note_read(part.text, where(part.begin));
      for (const std::string& name : part.names) note_read(name, where(part.begin));
      expand_variable(part, fields);
      return;
    case PartKind::output:
      if (part.body) walk_aside(*part.body);
      add_hole(source_text(part), part, fields);
      return;
    case PartKind::arithmetic:
      for (const std::string& name : part.names) note_read(name, where(part.begin));
      add_hole("", part, fields);
      return;
  }
}

void ShellRunner::add_hole(const std::string& name, const Part& part, Fields& fields) {
  fields.current.add_hole(name, where(part.begin));
  fields.started = true;
}

/// Adds a known value: as one word inside quotes, else split.
void ShellRunner::add_value(const Text& value, bool quoted, Fields& fields) {
  steps_ += value.bytes().size() / 64;
  if (quoted) {
    fields.current.append(value);
    fields.started = true;
    return;
  }
  const std::string& bytes = value.bytes();
  if (bytes.empty()) fields.current.append(value);
  for (std::size_t i = 0; i < bytes.size();) {
    if (is_blank_or_newline(bytes[i])) {
      fields.finish();
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < bytes.size() && !is_blank_or_newline(bytes[end])) ++end;
    const Text piece = value.part(i, end - i);
    fields.current.append(piece);
    fields.started = true;
    i = end;
  }
}

ValuePtr ShellRunner::look_up(const std::string& name) const {
  if (!is_name(name)) return nullptr;
  if (ValuePtr value = variables_.find(name)) return value;
  const bool elsewhere = run_.assigned.contains(name);
  if (per_rank_ || elsewhere || may_be_inherited(name) || run_.sources_files) return nullptr;
  auto nothing = std::make_shared<Value>();
  nothing->set = false;
  return nothing;
}

void ShellRunner::note_read(const std::string& name, std::size_t at) {
  std::vector<std::size_t>& places = run_.read[name];
  constexpr std::size_t most_places = 1000;
  if (places.size() < most_places) places.push_back(at);
}

/// "$@" in a function, "${array[@]}": one word per element.
bool ShellRunner::expand_list(const Part& part, Fields& fields) {
  const std::vector<Text>* elements = nullptr;
  ValuePtr value;
  const bool all = part.index == "@" || part.index == "*";
  if (all) {
    value = look_up(part.text);
    if (value && value->array) elements = &value->elements;
    if (value && !value->set && part.operation.empty()) {
      fields.empty_list = true;
      return true;
    }
  } else if (!arguments_.empty() && (part.text == "@" || part.text == "*")) {
    elements = &arguments_.back();
  }
  if (elements == nullptr || part.operation == "other") return false;
  fields.empty_list = elements->empty();
  steps_ += elements->size();
  const bool joined = part.quoted && (part.index == "*" || part.text == "*");
  for (std::size_t i = 0; i < elements->size(); ++i) {
    if (i > 0 && joined) fields.current.add(" ", where(part.begin));
    if (i > 0 && !joined) fields.finish();
    add_value((*elements)[i], part.quoted, fields);
  }
  return true;
}

void ShellRunner::expand_variable(const Part& part, Fields& fields) {
  if (expand_list(part, fields)) return;
  if (!part.operation.empty()) {
    expand_operation(part, fields);
    return;
  }
  const long place = number_of(part.text);
  if (place > 0 && !arguments_.empty()) {
    const auto& arguments = arguments_.back();
    const auto i = static_cast<std::size_t>(place) - 1;
    if (i < arguments.size()) add_value(arguments[i], part.quoted, fields);
    if (i >= arguments.size()) fields.started = fields.started || part.quoted;
    return;
  }
  const ValuePtr value = look_up(part.text);
  if (!value) {
    add_hole(part.text, part, fields);
    return;
  }
  if (!value->set) {
    fields.current.add_gap(part.text, where(part.begin));
    fields.started = fields.started || part.quoted;
    return;
  }
  if (!part.index.empty()) {
    const long element = number_of(part.index);
    const bool known =
        value->array && element >= 0 && static_cast<std::size_t>(element) < value->elements.size();
    if (!known) return add_hole(part.text, part, fields);
    return add_value(value->elements[static_cast<std::size_t>(element)], part.quoted, fields);
  }
  add_value(value->text, part.quoted, fields);
}

/// ${a:-b} and the like. A name that only the environment could set counts as unset, since the
/// script states the default.
void ShellRunner::expand_operation(const Part& part, Fields& fields) {
  if (part.operation == "other") {
    for (const Part& inner : part.operand) {
      if (inner.kind == PartKind::output && inner.body) walk_aside(*inner.body);
    }
    add_hole(part.text, part, fields);
    return;
  }
  const ValuePtr value = look_up(part.text);
  const bool settled = is_name(part.text) && !variables_.find(part.text) && !per_rank_ &&
                       !run_.sources_files && !part.text.starts_with("SLURM");
  const bool absent = value ? !value->set : settled;
  const bool known = value && value->set && value->text.known();
  const bool colon = part.operation.front() == ':';
  const bool empty = absent || (known && colon && value->text.empty());
  const char sign = part.operation.back();

  const Text operand = expand_whole(part.operand);
  if (sign == '=' && empty && is_name(part.text)) {
    run_.assigned.insert(part.text);
    Value assigned;
    assigned.text = operand;
    store(part.text, std::move(assigned));
  }
  const bool takes_operand = sign == '+' ? known && !empty : empty && (sign == '-' || sign == '=');
  if (takes_operand) return add_value(operand, part.quoted, fields);
  if (sign == '+' && empty) {
    fields.started = fields.started || part.quoted;
    return;
  }
  if (known && sign != '+') return add_value(value->text, part.quoted, fields);
  add_hole(part.text, part, fields);
}

}  // namespace dllaunch::lint
