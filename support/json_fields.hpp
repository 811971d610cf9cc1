// One list of a struct's fields, for writing it as JSON and for reading it back:
//
//   template <typename Field>
//   void visit_fields(Field& field, Folder& folder) {
//     field.required("path", folder.path);
//     field("bytes", folder.bytes);
//   }
//
// It is found by argument-dependent lookup, so not in an unnamed namespace. What only one direction
// needs stands in `if constexpr (Field::reads)`. Readers skip unknown keys; null means absent, and
// an absent field keeps its value.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "support/json_values.hpp"

namespace dllaunch {

class FieldWriter {
 public:
  static constexpr bool reads = false;

  void operator()(std::string_view key, const auto& value) {
    object_.items().push_back({std::string(key), json_of(value)});
  }
  void required(std::string_view key, const auto& value) { (*this)(key, value); }
  void or_null(std::string_view key, const auto& value) { (*this)(key, dllaunch::or_null(value)); }
  /// Omitted if it is empty, false or 0.
  void unless_empty(std::string_view key, const auto& value) {
    if (!is_empty(value)) (*this)(key, value);
  }
  /// For people and other programs; not read back.
  void only_written(std::string_view key, const auto& value) { (*this)(key, value); }

  Json take() && { return std::move(object_); }

 private:
  Json object_ = Json::object();
};

template <typename T>
Json write_fields(const T& value) {
  FieldWriter writer;
  visit_fields(writer, const_cast<T&>(value));  // a writer changes nothing
  return std::move(writer).take();
}

/// Where a value stands: "gpus[0].pci".
struct JsonPlace {
  const JsonPlace* outer = nullptr;
  std::string_view key = {};
  std::ptrdiff_t index = -1;
};

class FieldReader {
 public:
  static constexpr bool reads = true;

  /// `problem` receives the first error, with its place. nullptr: values that do not fit are
  /// skipped as if they were absent.
  FieldReader(const Json& object, std::string* problem, const JsonPlace* place = nullptr)
      : object_(object), problem_(problem), place_(place) {}

  void operator()(std::string_view key, auto&& value) {
    if (const Json* found = find(key)) take(*found, value, {place_, key});
  }
  void required(std::string_view key, auto&& value) {
    if (!has(key)) refuse(key, "is missing");
    (*this)(key, value);
  }
  void unless_empty(std::string_view key, auto&& value) { (*this)(key, value); }
  void or_null(std::string_view key, auto&& value) { (*this)(key, value); }
  void only_written(std::string_view, const auto&) {}

  bool has(std::string_view key) const { return find(key) != nullptr; }
  void refuse(std::string_view key, std::string_view why) { fits(why, {place_, key}); }

 private:
  const Json* find(std::string_view key) const;
  /// Keeps the first problem.
  bool fits(std::string_view problem, const JsonPlace& place);

  template <typename T>
  bool take(const Json& json, T& value, const JsonPlace& place) {
    if constexpr (requires { read_json(json, value); }) {
      return fits(read_json(json, value), place);
    } else if constexpr (requires { value.has_value(); }) {
      if (take(json, value.emplace(), place)) return true;
      value.reset();
      return false;
    } else if constexpr (
        requires { value.emplace_back(); } && !requires { value.begin()->second; }) {
      if (!json.is_array()) return fits("is not an array", place);
      std::ptrdiff_t index = 0;
      for (const Json& item : json)
        if (!take(item, value.emplace_back(), {&place, "", index++})) value.pop_back();
    } else if (!json.is_object()) {
      return fits("is not an object", place);
    } else if constexpr (requires { value.begin()->second; }) {
      for (const auto& [key, item] : json.items()) {
        std::remove_cvref_t<decltype(value.begin()->second)> one{};
        if (take(item, one, {&place, key}))
          value.insert(value.end(), typename T::value_type(key, std::move(one)));
      }
    } else {
      FieldReader fields(json, problem_, &place);
      visit_fields(fields, value);
    }
    return true;
  }

  const Json& object_;
  std::string* problem_;
  const JsonPlace* place_;
};

/// Returns the first problem, with its place; empty: none.
std::string read_fields(const Json& document, auto& value) {
  if (!document.is_object()) return "the document is not an object";
  std::string problem;
  FieldReader reader(document, &problem);
  visit_fields(reader, value);
  return problem;
}

/// Keeps what fits; the rest has the values of T().
template <typename T>
T read_what_fits(const Json& document) {
  T value{};
  FieldReader reader(document, nullptr);
  visit_fields(reader, value);
  return value;
}

/// The member; `otherwise` if it is absent or does not fit.
template <typename T>
T value_at(const Json& object, std::string_view key, T otherwise = {}) {
  FieldReader(object, nullptr)(key, otherwise);
  return otherwise;
}

}  // namespace dllaunch
