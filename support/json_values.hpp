// Single values as JSON and back, for lists of fields (json_fields.hpp): types, limits, notations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "support/id_set.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

// read_json() returns what is wrong with the value ("is not a string"), or "" and sets it.
std::string read_json(const Json& json, bool& value);
std::string read_json(const Json& json, int& value);
std::string read_json(const Json& json, std::int64_t& value);
std::string read_json(const Json& json, std::uint64_t& value);
std::string read_json(const Json& json, double& value);
std::string read_json(const Json& json, std::string& value);
std::string read_json(const Json& json, Json& value);
std::string read_json(const Json& json, std::int64_t least, std::int64_t most, std::int64_t& value);
/// Reads "0-3,8" and [0, 1, 2, 3, 8].
std::string read_json(const Json& json, IdSet& set);
Json to_json(const IdSet& set);
/// The index of the name.
std::string read_json(const Json& json, std::span<const std::string_view> names, std::size_t& at);

/// read_json() by a function that returns a Result: its error follows the place and a colon.
template <typename T>
std::string accept(Result<T> read, T& value) {
  if (!read) return ": " + read.error().what;
  value = *std::move(read);
  return "";
}

template <typename T>
Json write_fields(const T& value);

/// to_json() if there is one, else by the fields.
template <typename T>
Json json_of(const T& value) {
  if constexpr (requires { to_json(value); }) {
    return to_json(value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? json_of(*value) : Json();
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, Json> ||
                       std::is_convertible_v<const T&, std::string_view>) {
    return value;
  } else if constexpr (requires { value.begin()->second; }) {
    Json object = Json::object();
    for (const auto& [key, item] : value) object[key] = json_of(item);
    return object;
  } else if constexpr (requires { value.begin(); }) {
    Json array = Json::array();
    for (const auto& item : value) array.push_back(json_of(item));
    return array;
  } else {
    return write_fields(value);
  }
}

bool is_empty(const auto& value) {
  if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else {
    return value == std::remove_cvref_t<decltype(value)>();
  }
}

/// Null if it is empty, false or 0.
Json or_null(const auto& value) {
  return is_empty(value) ? Json() : json_of(value);
}

/// An integer from `least` to `most`; see within().
template <typename T>
struct Within {
  T& value;
  std::int64_t least;
  std::int64_t most;

  bool empty() const { return is_empty(value); }
  friend Json to_json(const Within& field) { return json_of(field.value); }
  friend std::string read_json(const Json& json, Within& field) {
    std::int64_t number = 0;
    auto problem = read_json(json, field.least, field.most, number);
    using Number = typename decltype(std::optional(field.value))::value_type;
    if (problem.empty()) field.value = static_cast<Number>(number);
    return problem;
  }
};
template <typename T>
Within<T> within(T& value, std::int64_t least, std::int64_t most) {
  return {value, least, most};
}

/// A value with a notation of its own; `read` takes the text and returns a Result.
template <typename T, typename Write, typename Read>
struct AsText {
  T& value;
  Write write;
  Read read;

  bool empty() const { return is_empty(value); }
  friend Json to_json(const AsText& field) { return field.write(field.value); }
  friend std::string read_json(const Json& json, AsText& field) {
    std::string text;
    if (auto problem = read_json(json, text); !problem.empty()) return problem;
    return accept(field.read(text), field.value);
  }
};
template <typename T, typename Write, typename Read>
AsText<T, Write, Read> as_text(T& value, Write write, Read read) {
  return {value, write, read};
}

/// An enumerator as its name; names are in the order of the enumerators.
template <typename E>
struct AsWord {
  E& value;
  std::span<const std::string_view> names;

  friend Json to_json(const AsWord& field) {
    return field.names[static_cast<std::size_t>(field.value)];
  }
  friend std::string read_json(const Json& json, AsWord& field) {
    auto at = static_cast<std::size_t>(field.value);
    auto problem = read_json(json, field.names, at);
    field.value = static_cast<E>(at);
    return problem;
  }
};
template <typename E>
AsWord<E> as_word(E& value, std::span<const std::string_view> names) {
  return {value, names};
}

/// Written as [0, 1, 2, 3, 8].
struct AsArray {
  IdSet& set;

  friend Json to_json(const AsArray& field) { return field.set.ids(); }
  friend std::string read_json(const Json& json, AsArray& field) {
    return read_json(json, field.set);
  }
};

}  // namespace dllaunch
