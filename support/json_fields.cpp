#include "support/json_fields.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace dllaunch {
namespace {

std::string text_of(const JsonPlace& place) {
  std::string text = place.outer == nullptr ? "" : text_of(*place.outer);
  if (place.index >= 0) return text + fmt::format("[{}]", place.index);
  if (!text.empty() && !place.key.empty()) text += '.';
  return text.append(place.key);
}

}  // namespace

std::string read_json(const Json& json, bool& value) {
  if (!json.is_boolean()) return "is not true or false";
  value = json.get<bool>();
  return "";
}

std::string read_json(const Json& json, std::int64_t least, std::int64_t most,
                      std::int64_t& value) {
  if (!json.is_number_integer()) return "is not a whole number";
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool huge = json.is_number_unsigned() && json.get<std::uint64_t>() > largest;
  const auto number = json.get<std::int64_t>();
  if (huge || number < least || number > most)
    return fmt::format("is not in {} to {}", least, most);
  value = number;
  return "";
}

std::string read_json(const Json& json, int& value) {
  std::int64_t number = value;
  auto problem =
      read_json(json, std::numeric_limits<int>::min(), std::numeric_limits<int>::max(), number);
  value = static_cast<int>(number);
  return problem;
}

std::string read_json(const Json& json, std::int64_t& value) {
  return read_json(json, std::numeric_limits<std::int64_t>::min(),
                   std::numeric_limits<std::int64_t>::max(), value);
}

std::string read_json(const Json& json, std::uint64_t& value) {
  const bool negative =
      !json.is_number_unsigned() && json.is_number_integer() && json.get<std::int64_t>() < 0;
  if (!json.is_number_integer() || negative) return "is not a whole number from 0";
  value = json.get<std::uint64_t>();
  return "";
}

std::string read_json(const Json& json, double& value) {
  if (!json.is_number()) return "is not a number";
  value = json.get<double>();
  return "";
}

std::string read_json(const Json& json, std::string& value) {
  if (!json.is_string()) return "is not a string";
  value = json.text();
  return "";
}

std::string read_json(const Json& json, Json& value) {
  value = json;
  return "";
}

std::string read_json(const Json& json, std::span<const std::string_view> names, std::size_t& at) {
  const auto known =
      json.is_string() ? std::find(names.begin(), names.end(), json.text()) : names.end();
  if (known == names.end()) {
    std::string list;
    for (const auto name : names) list.append(list.empty() ? "" : ", ").append(name);
    return "is not one of " + list;
  }
  at = static_cast<std::size_t>(known - names.begin());
  return "";
}

Json to_json(const IdSet& set) {
  return to_list(set);
}

std::string read_json(const Json& json, IdSet& set) {
  if (json.is_string()) {
    auto parsed = parse_id_list(json.text());
    if (!parsed) return parsed.error().what;
    set = *std::move(parsed);
    return "";
  }
  if (!json.is_array()) return "is not a list";
  set = {};
  for (const Json& item : json) {
    std::int64_t id = 0;
    if (!read_json(item, 0, IdSet::max_id, id).empty())
      return "has an item that is not a CPU or NUMA number";
    set.insert(static_cast<int>(id));
  }
  return "";
}

const Json* FieldReader::find(std::string_view key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool FieldReader::fits(std::string_view problem, const JsonPlace& place) {
  if (problem.empty()) return true;
  if (problem_ == nullptr || !problem_->empty()) return false;
  *problem_ = text_of(place);
  // A message of its own follows a colon.
  if (!problem.starts_with(':') && !problem_->empty()) *problem_ += ' ';
  *problem_ += problem_->empty() && problem.starts_with(": ") ? problem.substr(2) : problem;
  return false;
}

}  // namespace dllaunch
