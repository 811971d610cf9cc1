// A JSON value: its tree and its text. Only json_text.cpp includes nlohmann/json, which adds 4 s
// to the compilation of every file that does.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace dllaunch {

/// Thrown for text that is not JSON, a value of the wrong type, or a missing key.
class JsonError : public std::exception {
 public:
  /// "[json.exception.type_error.302] type must be string, but is null"
  JsonError(std::string_view kind, int id, std::string_view what);
  explicit JsonError(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

class JsonPart;
struct JsonMember;
template <bool is_const>
class JsonIterator;

/// The types that Json converts to implicitly. Not char, from which a std::string can be made too.
template <typename T>
constexpr bool is_json_value =
    (std::is_arithmetic_v<T> && !std::is_same_v<T, char>) || std::is_same_v<T, std::string>;
template <typename T>
constexpr bool is_json_value<std::vector<T>> = is_json_value<T>;

/// Names are those of nlohmann's ordered_json; parsing, output and exceptions are equal to it. Keys
/// keep their order; a lookup among more than 32 is by an index.
class Json {
 public:
  using iterator = JsonIterator<false>;
  using const_iterator = JsonIterator<true>;
  using value_type = Json;
  /// How dump() treats invalid UTF-8.
  enum class error_handler_t { strict, replace, ignore };

  Json() noexcept {}
  Json(std::nullptr_t) noexcept {}
  template <typename T>
  requires std::is_arithmetic_v<T> Json(T number)
  noexcept {
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::boolean;
      data_.boolean = number;
    } else if constexpr (std::is_floating_point_v<T>) {
      kind_ = Kind::real;
      data_.real = static_cast<double>(number);
    } else if constexpr (std::is_signed_v<T>) {
      kind_ = Kind::integer;
      data_.integer = number;
    } else {
      kind_ = Kind::natural;
      data_.natural = number;
    }
  }
  Json(const char* text) : Json(std::string(text)) {}
  Json(std::string_view text) : Json(std::string(text)) {}
  Json(std::string text);
  /// {{"key", value}, ...} is an object, any other list an array.
  Json(std::initializer_list<JsonPart> parts);
  /// A container such as std::vector becomes an array, one such as std::map an object.
  template <typename C>
  requires requires(const C& all) {
    typename C::value_type;
    all.begin();
    requires !std::convertible_to<const C&, std::string_view>;
    requires !std::convertible_to<const C&, std::string>;
  }
  Json(const C& all) {
    if constexpr (requires { typename C::mapped_type; }) {
      become_object();
      for (const auto& [key, value] : all) (*this)[key] = Json(value);
    } else {
      become_array();
      for (const auto& value : all) push_back(Json(value));
    }
  }
  static Json array();
  static Json array(std::initializer_list<JsonPart> parts);
  static Json object();
  static Json object(std::initializer_list<JsonPart> parts);

  Json(const Json& other);
  Json(Json&& other) noexcept : data_(other.data_), kind_(other.kind_) { other.kind_ = Kind::null; }
  Json& operator=(Json other) noexcept {
    std::swap(data_, other.data_);
    std::swap(kind_, other.kind_);
    return *this;
  }
  ~Json() {
    if (on_heap()) destroy();
  }

  /// Throws JsonError, which names the place of the error; returns a discarded value if
  /// `allow_exceptions` is false.
  static Json parse(std::string_view text, std::nullptr_t = nullptr, bool allow_exceptions = true);
  /// Never throws. Sets `twice` to the last key that occurs twice in an object; unchanged if none
  /// does.
  static Json parse_noting_repeats(std::string_view text, std::string& twice);
  /// Parses the value at the beginning of the text; `length` is its size in bytes. Throws
  /// JsonError.
  static Json parse_first(std::string_view text, std::size_t& length);
  static bool accept(std::string_view text);
  /// One line, or indented by `indent` >= 0 per level. With `strict`, throws for invalid UTF-8.
  std::string dump(int indent = -1, char indent_char = ' ', bool ensure_ascii = false,
                   error_handler_t handler = error_handler_t::strict) const;

  bool is_null() const noexcept { return kind_ == Kind::null; }
  bool is_boolean() const noexcept { return kind_ == Kind::boolean; }
  bool is_number() const noexcept { return is_number_integer() || kind_ == Kind::real; }
  bool is_number_integer() const noexcept {
    return kind_ == Kind::integer || kind_ == Kind::natural;
  }
  bool is_number_unsigned() const noexcept { return kind_ == Kind::natural; }
  bool is_number_float() const noexcept { return kind_ == Kind::real; }
  bool is_string() const noexcept { return kind_ == Kind::text; }
  bool is_array() const noexcept { return kind_ == Kind::array; }
  bool is_object() const noexcept { return kind_ == Kind::object; }
  bool is_structured() const noexcept { return is_array() || is_object(); }
  bool is_discarded() const noexcept { return kind_ == Kind::discarded; }
  const char* type_name() const noexcept;

  std::size_t size() const noexcept;  // 0 for null, 1 for a scalar
  bool empty() const noexcept { return size() == 0; }
  bool contains(std::string_view key) const;
  std::size_t count(std::string_view key) const { return contains(key) ? 1 : 0; }

  /// Null becomes an object; a missing key is added with null.
  Json& operator[](std::string_view key);
  /// The key must exist.
  const Json& operator[](std::string_view key) const;
  // Beside the conversions to numbers, clang finds the built-in 3["text"] as good a match.
  Json& operator[](const char* key) { return (*this)[std::string_view(key)]; }
  const Json& operator[](const char* key) const { return (*this)[std::string_view(key)]; }
  /// Null becomes an array, filled with null up to `index`.
  Json& operator[](std::size_t index);
  const Json& operator[](std::size_t index) const;
  Json& operator[](int index) { return (*this)[static_cast<std::size_t>(index)]; }
  const Json& operator[](int index) const { return (*this)[static_cast<std::size_t>(index)]; }
  Json& at(std::string_view key);
  const Json& at(std::string_view key) const;
  Json& at(std::size_t index);
  const Json& at(std::size_t index) const;
  Json& at(int index) { return at(static_cast<std::size_t>(index)); }
  const Json& at(int index) const { return at(static_cast<std::size_t>(index)); }
  /// The value at {"key", "key of that value", ...}; nullptr if there is none.
  const Json* at_path(std::initializer_list<std::string_view> keys) const;
  iterator find(std::string_view key);
  const_iterator find(std::string_view key) const;
  Json& front();
  const Json& front() const;
  Json& back();
  const Json& back() const;

  iterator begin() noexcept;
  iterator end() noexcept;
  const_iterator begin() const noexcept;
  const_iterator end() const noexcept;
  /// for (const auto& [key, value] : object.items())
  std::vector<JsonMember>& items();
  const std::vector<JsonMember>& items() const;

  /// Returns `otherwise` if this object lacks the key.
  template <typename T>
  T value(std::string_view key, const T& otherwise) const {
    const Json* found = member_for_value(key);
    return found == nullptr ? otherwise : found->get<T>();
  }
  std::string value(std::string_view key, const char* otherwise) const {
    const Json* found = member_for_value(key);
    return found == nullptr ? std::string(otherwise) : found->get<std::string>();
  }

  /// bool, a number, std::string, Json, or a std::vector, std::array or std::map of them.
  template <typename T>
  T get() const;
  /// Implicit conversion to a number, a string or a std::vector of them.
  template <typename T>
  requires is_json_value<T>
  operator T() const { return get<T>(); }
  std::string& text();
  const std::string& text() const;

  void push_back(Json value);
  template <typename T>
  Json& emplace_back(T&& value) {
    return append(Json(std::forward<T>(value)), "emplace_back", 311);
  }
  /// Keeps an existing value.
  void emplace(std::string_view key, Json value);
  /// Adds every member of `other`, replacing those with the same key.
  void update(const Json& other);
  std::size_t erase(std::string_view key);
  void erase(std::size_t index);
  void clear() noexcept;

  /// Compares numbers by value, and objects including the order of their keys.
  friend bool operator==(const Json& a, const Json& b) noexcept { return a.equals(b); }
  template <typename T>
  requires std::is_arithmetic_v<T>
  friend bool operator==(const Json& a, T b) noexcept { return a.equals(Json(b)); }
  /// Orders null, booleans, numbers and strings; arrays and objects are unordered.
  friend std::partial_ordering operator<=>(const Json& a, const Json& b) noexcept {
    return a.compared_with(b);
  }
  template <typename T>
  requires std::is_arithmetic_v<T>
  friend std::partial_ordering operator<=>(const Json& a, T b) noexcept {
    return a.compared_with(Json(b));
  }
  friend std::ostream& operator<<(std::ostream& out, const Json& value);

 private:
  friend class JsonWriter;
  friend class JsonReader;

  enum class Kind : std::uint8_t {
    null,
    boolean,
    integer,
    natural,  // a non-negative integer
    real,
    discarded,
    text,
    array,
    object
  };
  union Data {
    bool boolean;
    std::int64_t integer;
    std::uint64_t natural = 0;
    double real;
    std::string* text;
    std::vector<Json>* array;
    std::vector<JsonMember>* object;
  };

  bool on_heap() const noexcept { return kind_ >= Kind::text; }
  void destroy() noexcept;
  void take_nested(std::vector<Json>& nested);
  void become_array();
  void become_object();
  bool equals(const Json& other) const noexcept;
  std::partial_ordering compared_with(const Json& other) const noexcept;
  Json& append(Json&& value, const char* operation, int id);
  Json* member(std::string_view key) const noexcept;  // of an object; nullptr if it has none
  const Json* member_for_value(std::string_view key) const;
  [[noreturn]] void refuse_type(const char* wanted) const;
  [[noreturn]] void refuse_use(int id, const char* operation, const char* with = "") const;

  template <typename T>
  T number() const {
    switch (kind_) {
      case Kind::integer:
        return static_cast<T>(data_.integer);
      case Kind::natural:
        return static_cast<T>(data_.natural);
      case Kind::real:
        return static_cast<T>(data_.real);
      default:
        break;
    }
    constexpr bool takes_booleans = !std::is_same_v<T, std::int64_t> &&
                                    !std::is_same_v<T, std::uint64_t> && !std::is_same_v<T, double>;
    if (takes_booleans && is_boolean()) return static_cast<T>(data_.boolean);
    refuse_type("number");
  }

  Data data_;
  Kind kind_ = Kind::null;
};

struct JsonMember {
  std::string key;
  Json value;

  friend bool operator==(const JsonMember& a, const JsonMember& b) = default;
};

/// An element of a braced list: a value, or another list.
class JsonPart {
 public:
  JsonPart() noexcept {}
  JsonPart(const Json& value) : value_(value) {}
  JsonPart(Json&& value) noexcept : value_(std::move(value)) {}
  JsonPart(std::initializer_list<JsonPart> parts) : value_(parts) {}
  template <typename T>
  requires(!std::same_as<std::remove_cvref_t<T>, JsonPart> &&
           !std::same_as<std::remove_cvref_t<T>, Json> && std::is_constructible_v<Json, T>)
      JsonPart(T&& value)
      : value_(std::forward<T>(value)) {}

 private:
  friend class Json;
  bool is_member() const {
    return value_.is_array() && value_.size() == 2 && value_[0].is_string();
  }

  mutable Json value_;  // moved from although initializer lists are const
};

/// Iterates over the elements of an array, the members of an object, or a single scalar.
template <bool is_const>
class JsonIterator {
  using Element = std::conditional_t<is_const, const Json, Json>;
  using Member = std::conditional_t<is_const, const JsonMember, JsonMember>;

 public:
  using value_type = Json;
  using difference_type = std::ptrdiff_t;
  using pointer = Element*;
  using reference = Element&;
  using iterator_category = std::random_access_iterator_tag;

  JsonIterator() = default;
  explicit JsonIterator(Element* element) : element_(element) {}
  explicit JsonIterator(Member* member) : member_(member) {}
  JsonIterator(const JsonIterator<!is_const>& other) requires is_const : element_(other.element_),
                                                                         member_(other.member_) {}

  reference operator*() const { return member_ != nullptr ? member_->value : *element_; }
  pointer operator->() const { return &**this; }
  reference operator[](difference_type n) const { return *(*this + n); }
  const std::string& key() const { return member_->key; }
  reference value() const { return **this; }

  JsonIterator& operator+=(difference_type n) {
    if (member_ != nullptr)
      member_ += n;
    else
      element_ += n;
    return *this;
  }
  JsonIterator& operator-=(difference_type n) { return *this += -n; }
  JsonIterator& operator++() { return *this += 1; }
  JsonIterator& operator--() { return *this += -1; }
  JsonIterator operator++(int) {
    const JsonIterator before = *this;
    ++*this;
    return before;
  }
  JsonIterator operator--(int) {
    const JsonIterator before = *this;
    --*this;
    return before;
  }
  friend JsonIterator operator+(JsonIterator at, difference_type n) { return at += n; }
  friend JsonIterator operator+(difference_type n, JsonIterator at) { return at += n; }
  friend JsonIterator operator-(JsonIterator at, difference_type n) { return at -= n; }
  friend difference_type operator-(const JsonIterator& a, const JsonIterator& b) {
    return a.member_ != nullptr ? a.member_ - b.member_ : a.element_ - b.element_;
  }
  friend bool operator==(const JsonIterator& a, const JsonIterator& b) = default;
  friend auto operator<=>(const JsonIterator& a, const JsonIterator& b) = default;

 private:
  friend class JsonIterator<!is_const>;
  Element* element_ = nullptr;
  Member* member_ = nullptr;
};

template <typename T>
T Json::get() const {
  if constexpr (std::is_same_v<T, Json>) {
    return *this;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!is_boolean()) refuse_type("boolean");
    return data_.boolean;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return number<T>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!is_string()) refuse_type("string");
    return *data_.text;
  } else if constexpr (requires { typename T::mapped_type; }) {
    if (!is_object()) refuse_type("object");
    T all;
    for (const auto& [key, value] : items())
      all.emplace(key, value.template get<typename T::mapped_type>());
    return all;
  } else {
    if (!is_array()) refuse_type("array");
    T all = {};
    if constexpr (requires { std::tuple_size<T>::value; }) {
      for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = at(i).template get<typename T::value_type>();
    } else {
      for (const Json& value : *data_.array)
        all.insert(all.end(), value.template get<typename T::value_type>());
    }
    return all;
  }
}

}  // namespace dllaunch
