#include "support/json.hpp"

#include <algorithm>
#include <cassert>

#include "support/json_text.hpp"

namespace dllaunch {
namespace {

JsonMembers& members_in(std::vector<JsonMember>* object) {
  return *static_cast<JsonMembers*>(object);
}

}  // namespace

JsonError::JsonError(std::string_view kind, int id, std::string_view what) {
  what_ = "[json.exception." + std::string(kind) + "." + std::to_string(id) + "] ";
  what_ += what;
}

Json::Json(std::string text) {
  data_.text = new std::string(std::move(text));
  kind_ = Kind::text;
}

Json::Json(std::initializer_list<JsonPart> parts) {
  const bool members =
      std::ranges::all_of(parts, [](const JsonPart& part) { return part.is_member(); });
  *this = members ? object(parts) : array(parts);
}

Json Json::array() {
  Json made;
  made.become_array();
  return made;
}

Json Json::array(std::initializer_list<JsonPart> parts) {
  Json made = array();
  made.data_.array->reserve(parts.size());
  for (const JsonPart& part : parts) made.data_.array->push_back(std::move(part.value_));
  return made;
}

Json Json::object() {
  Json made;
  made.become_object();
  return made;
}

Json Json::object(std::initializer_list<JsonPart> parts) {
  Json made = object();
  made.data_.object->reserve(parts.size());
  for (const JsonPart& part : parts) {
    if (!part.is_member())
      throw JsonError("type_error", 301, "cannot create object from initializer list");
    std::vector<Json>& pair = *part.value_.data_.array;
    made.emplace(pair[0].text(), std::move(pair[1]));
  }
  return made;
}

Json::Json(const Json& other) : data_(other.data_) {
  if (other.is_string()) data_.text = new std::string(*other.data_.text);
  if (other.is_array()) data_.array = new std::vector<Json>(*other.data_.array);
  if (other.is_object()) data_.object = new JsonMembers(members_in(other.data_.object));
  kind_ = other.kind_;
}

/// Moves every array and object inside this one to `nested`.
void Json::take_nested(std::vector<Json>& nested) {
  if (is_array()) {
    for (Json& value : *data_.array)
      if (value.is_structured()) nested.push_back(std::move(value));
  } else if (is_object()) {
    for (JsonMember& member : *data_.object)
      if (member.value.is_structured()) nested.push_back(std::move(member.value));
  }
}

/// Not recursive: untrusted text may be nested deeper than the stack allows.
void Json::destroy() noexcept {
  std::vector<Json> nested;
  take_nested(nested);
  while (!nested.empty()) {
    Json last = std::move(nested.back());
    nested.pop_back();
    last.take_nested(nested);
  }
  if (is_string()) delete data_.text;
  if (is_array()) delete data_.array;
  if (is_object()) delete &members_in(data_.object);
}

void Json::become_array() {
  data_.array = new std::vector<Json>();
  kind_ = Kind::array;
}

void Json::become_object() {
  data_.object = new JsonMembers();
  kind_ = Kind::object;
}

const char* Json::type_name() const noexcept {
  switch (kind_) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "boolean";
    case Kind::text:
      return "string";
    case Kind::array:
      return "array";
    case Kind::object:
      return "object";
    case Kind::discarded:
      return "discarded";
    case Kind::integer:
    case Kind::natural:
    case Kind::real:
      break;
  }
  return "number";
}

void Json::refuse_type(const char* wanted) const {
  throw JsonError("type_error", 302,
                  std::string("type must be ") + wanted + ", but is " + type_name());
}

void Json::refuse_use(int id, const char* operation, const char* with) const {
  throw JsonError("type_error", id,
                  std::string("cannot use ") + operation + with + " with " + type_name());
}

std::size_t Json::size() const noexcept {
  if (is_array()) return data_.array->size();
  if (is_object()) return data_.object->size();
  return is_null() ? 0 : 1;
}

Json* Json::member(std::string_view key) const noexcept {
  JsonMember* found = members_in(data_.object).find(key);
  return found == nullptr ? nullptr : &found->value;
}

const Json* Json::member_for_value(std::string_view key) const {
  if (!is_object()) refuse_use(306, "value()");
  return member(key);
}

bool Json::contains(std::string_view key) const {
  return is_object() && member(key) != nullptr;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) become_object();
  if (!is_object()) refuse_use(305, "operator[]", " with a string argument");
  if (Json* found = member(key)) return *found;
  return members_in(data_.object).add(std::string(key));
}

const Json& Json::operator[](std::string_view key) const {
  if (!is_object()) refuse_use(305, "operator[]", " with a string argument");
  const Json* found = member(key);
  assert(found != nullptr);
  return *found;
}

Json& Json::operator[](std::size_t index) {
  if (is_null()) become_array();
  if (!is_array()) refuse_use(305, "operator[]", " with a numeric argument");
  if (index >= data_.array->size()) data_.array->resize(index + 1);
  return (*data_.array)[index];
}

const Json& Json::operator[](std::size_t index) const {
  if (!is_array()) refuse_use(305, "operator[]", " with a numeric argument");
  assert(index < data_.array->size());
  return (*data_.array)[index];
}

const Json& Json::at(std::string_view key) const {
  if (!is_object()) refuse_use(304, "at()");
  if (const Json* found = member(key)) return *found;
  throw JsonError("out_of_range", 403, "key '" + std::string(key) + "' not found");
}

Json& Json::at(std::string_view key) {
  return const_cast<Json&>(static_cast<const Json&>(*this).at(key));
}

const Json& Json::at(std::size_t index) const {
  if (!is_array()) refuse_use(304, "at()");
  if (index < data_.array->size()) return (*data_.array)[index];
  throw JsonError("out_of_range", 401, "array index " + std::to_string(index) + " is out of range");
}

Json& Json::at(std::size_t index) {
  return const_cast<Json&>(static_cast<const Json&>(*this).at(index));
}

const Json* Json::at_path(std::initializer_list<std::string_view> keys) const {
  const Json* here = this;
  for (const std::string_view key : keys) {
    if (!here->is_object()) return nullptr;
    here = here->member(key);
    if (here == nullptr) return nullptr;
  }
  return here;
}

Json::iterator Json::begin() noexcept {
  if (is_array()) return iterator(data_.array->data());
  if (is_object()) return iterator(data_.object->data());
  return iterator(this);
}

Json::iterator Json::end() noexcept {
  return begin() + static_cast<std::ptrdiff_t>(size());
}

Json::const_iterator Json::begin() const noexcept {
  return const_cast<Json*>(this)->begin();
}

Json::const_iterator Json::end() const noexcept {
  return const_cast<Json*>(this)->end();
}

Json::iterator Json::find(std::string_view key) {
  if (is_object())
    if (JsonMember* found = members_in(data_.object).find(key)) return iterator(found);
  return end();
}

Json::const_iterator Json::find(std::string_view key) const {
  return const_cast<Json*>(this)->find(key);
}

Json& Json::front() {
  return *begin();
}

const Json& Json::front() const {
  return *begin();
}

Json& Json::back() {
  return *--end();
}

const Json& Json::back() const {
  return *--end();
}

std::vector<JsonMember>& Json::items() {
  if (is_object()) members_in(data_.object).by_key.clear();  // keys may change
  return const_cast<std::vector<JsonMember>&>(static_cast<const Json&>(*this).items());
}

const std::vector<JsonMember>& Json::items() const {
  static const std::vector<JsonMember> none;
  assert(is_object() || empty());
  return is_object() ? *data_.object : none;
}

const std::string& Json::text() const {
  if (!is_string())
    throw JsonError(
        "type_error", 303,
        std::string("incompatible ReferenceType for get_ref, actual type is ") + type_name());
  return *data_.text;
}

std::string& Json::text() {
  return const_cast<std::string&>(static_cast<const Json&>(*this).text());
}

Json& Json::append(Json&& value, const char* operation, int id) {
  if (is_null()) become_array();
  if (!is_array()) refuse_use(id, operation, "()");
  return data_.array->emplace_back(std::move(value));
}

void Json::push_back(Json value) {
  append(std::move(value), "push_back", 308);
}

void Json::emplace(std::string_view key, Json value) {
  if (is_null()) become_object();
  if (!is_object()) refuse_use(311, "emplace()");
  if (member(key) == nullptr) members_in(data_.object).add(std::string(key)) = std::move(value);
}

void Json::update(const Json& other) {
  if (is_null()) become_object();
  if (!is_object()) refuse_use(312, "update()");
  if (!other.is_object()) other.refuse_use(312, "update()");
  for (const auto& [key, value] : *other.data_.object) (*this)[key] = value;
}

std::size_t Json::erase(std::string_view key) {
  if (!is_object()) refuse_use(307, "erase()");
  members_in(data_.object).by_key.clear();
  return std::erase_if(*data_.object, [&](const JsonMember& member) { return member.key == key; });
}

void Json::erase(std::size_t index) {
  if (!is_array()) refuse_use(307, "erase()");
  if (index >= size())
    throw JsonError("out_of_range", 401,
                    "array index " + std::to_string(index) + " is out of range");
  data_.array->erase(data_.array->begin() + static_cast<std::ptrdiff_t>(index));
}

void Json::clear() noexcept {
  if (is_string()) data_.text->clear();
  if (is_array()) data_.array->clear();
  if (is_object()) items().clear();
  if (!on_heap() && !is_null()) data_ = {};
}

std::partial_ordering Json::compared_with(const Json& other) const noexcept {
  if (is_discarded() || other.is_discarded()) return std::partial_ordering::unordered;
  if (is_number() && other.is_number()) {
    if (kind_ == Kind::real || other.kind_ == Kind::real)
      return number<double>() <=> other.number<double>();
    if (is_number_unsigned() && other.is_number_unsigned())
      return data_.natural <=> other.data_.natural;
    return data_.integer <=> other.data_.integer;
  }
  const auto rank = [](const Json& value) {
    if (value.is_null()) return 0;
    if (value.is_boolean()) return 1;
    if (value.is_number()) return 2;
    return value.is_object() ? 3 : value.is_array() ? 4 : 5;
  };
  if (rank(*this) != rank(other)) return rank(*this) <=> rank(other);
  if (is_null()) return std::partial_ordering::equivalent;
  if (is_boolean()) return data_.boolean <=> other.data_.boolean;
  if (is_string()) return *data_.text <=> *other.data_.text;
  return std::partial_ordering::unordered;
}

bool Json::equals(const Json& other) const noexcept {
  if (is_number() && other.is_number()) return std::is_eq(compared_with(other));
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case Kind::null:
      return true;
    case Kind::boolean:
      return data_.boolean == other.data_.boolean;
    case Kind::text:
      return *data_.text == *other.data_.text;
    case Kind::array:
      return *data_.array == *other.data_.array;
    case Kind::object:
      return *data_.object == *other.data_.object;
    case Kind::integer:
    case Kind::natural:
    case Kind::real:
    case Kind::discarded:
      break;
  }
  return false;
}

}  // namespace dllaunch
