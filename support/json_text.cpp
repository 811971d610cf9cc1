// JSON as text: parsed by nlohmann/json, and written as it writes it.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <ostream>
#include <sstream>

#include "support/json.hpp"
#include "support/json_text.hpp"

namespace dllaunch {

/// Copying, comparing and writing a value recurse. dllaunch writes nothing so deep.
constexpr std::size_t deepest = 64;
/// A value takes up to 150 bytes of memory. A larger text may have one for every 16 of its bytes,
/// which is denser than any program's output.
constexpr std::size_t always_allowed_values = 500'000;
constexpr std::size_t bytes_for_a_value = 16;

/// Builds the tree while nlohmann parses the text.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text)
      : most_values_(std::max(always_allowed_values, text.size() / bytes_for_a_value)) {}

  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  bool null() { return add({}); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(number_integer_t value) { return add(value); }
  bool number_unsigned(number_unsigned_t value) { return add(value); }
  bool number_float(number_float_t value, const string_t&) { return add(value); }
  bool string(string_t& value) { return add(std::move(value)); }
  bool binary(binary_t&) { return false; }  // cannot occur in text

  bool start_object(std::size_t) { return open(Json::object()); }
  bool key(string_t& name) {
    JsonMembers& object = innermost();
    // Beyond a few, end_object() finds repeats.
    JsonMember* found = object.size() > JsonMembers::few ? nullptr : object.find(name);
    if (found != nullptr)
      twice_ = name;
    else
      found = &object.emplace_back(JsonMember{std::move(name), {}});
    next_ = &found->value;
    return true;
  }
  bool end_object() {
    JsonMembers& object = innermost();
    if (object.size() > JsonMembers::few)
      if (auto twice = object.index()) twice_ = std::move(twice);
    return close();
  }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_array() { return close(); }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& problem) {
    problem_ = problem.what();
    return false;
  }

  static Json discarded() {
    Json made;
    made.kind_ = Json::Kind::discarded;
    return made;
  }
  Json take_root() { return std::move(root_); }
  const std::string& problem() const { return problem_; }
  const std::string& limit() const { return limit_; }
  const std::optional<std::string>& twice() const { return twice_; }

 private:
  /// nullptr: one too many.
  Json* place(Json&& value) {
    if (++values_ > most_values_) {
      refuse("more than " + std::to_string(most_values_) + " values");
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) return &open_.back()->data_.array->emplace_back(std::move(value));
    *next_ = std::move(value);
    return next_;
  }
  bool add(Json value) { return place(std::move(value)) != nullptr; }
  // Open containers do not move: only the innermost grows.
  bool open(Json&& value) {
    if (open_.size() == deepest)
      return refuse("nested deeper than " + std::to_string(deepest) + " levels");
    open_.push_back(place(std::move(value)));
    return open_.back() != nullptr;
  }
  bool refuse(std::string what) {
    problem_ = JsonError("other_error", 501, what).what();
    limit_ = std::move(what);
    return false;
  }
  JsonMembers& innermost() { return static_cast<JsonMembers&>(*open_.back()->data_.object); }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::size_t most_values_;
  std::size_t values_ = 0;
  Json root_;
  std::vector<Json*> open_;
  Json* next_ = nullptr;  // where the value of the last key goes
  std::string problem_;
  std::string limit_;
  std::optional<std::string> twice_;
};

/// Appends to a string what nlohmann's serializer would write.
class JsonWriter {
 public:
  JsonWriter(int indent, char indent_char, bool ensure_ascii, Json::error_handler_t handler)
      : step_(indent < 0 ? 0 : static_cast<std::size_t>(indent)),
        indent_char_(indent_char),
        is_pretty_(indent >= 0),
        ensure_ascii_(ensure_ascii),
        handler_(nlohmanns(handler)) {}

  void write(const Json& value, std::size_t indent = 0) {
    switch (value.kind_) {
      case Json::Kind::null:
        out_ += "null";
        return;
      case Json::Kind::boolean:
        out_ += value.data_.boolean ? "true" : "false";
        return;
      case Json::Kind::integer:
        return write_whole(value.data_.integer);
      case Json::Kind::natural:
        return write_whole(value.data_.natural);
      case Json::Kind::real:
        return write_real(value.data_.real);
      case Json::Kind::discarded:
        out_ += "<discarded>";
        return;
      case Json::Kind::text:
        return write_text(*value.data_.text);
      case Json::Kind::array:
        return write_all(*value.data_.array, '[', ']', indent,
                         [&](const Json& one) { write(one, indent + step_); });
      case Json::Kind::object:
        return write_all(*value.data_.object, '{', '}', indent, [&](const JsonMember& one) {
          write_text(one.key);
          out_ += is_pretty_ ? ": " : ":";
          write(one.value, indent + step_);
        });
    }
  }

  std::string take() { return std::move(out_); }

 private:
  static nlohmann::json::error_handler_t nlohmanns(Json::error_handler_t handler) {
    using Theirs = nlohmann::json::error_handler_t;
    if (handler == Json::error_handler_t::replace) return Theirs::replace;
    return handler == Json::error_handler_t::ignore ? Theirs::ignore : Theirs::strict;
  }

  template <typename All, typename Write>
  void write_all(const All& all, char begin, char end, std::size_t indent, Write write_one) {
    out_ += begin;
    bool is_first = true;
    for (const auto& one : all) {
      if (!is_first) out_ += ',';
      is_first = false;
      if (is_pretty_) out_.append(1, '\n').append(indent + step_, indent_char_);
      write_one(one);
    }
    if (is_pretty_ && !all.empty()) out_.append(1, '\n').append(indent, indent_char_);
    out_ += end;
  }

  template <typename Whole>
  void write_whole(Whole value) {
    std::array<char, 24> digits;
    out_.append(digits.data(),
                std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  }

  /// Uses nlohmann's algorithm: its digits are not always the fewest, unlike those of
  /// std::to_chars.
  void write_real(double value) {
    if (!std::isfinite(value)) {
      out_ += "null";
      return;
    }
    std::array<char, 64> digits;
    out_.append(digits.data(),
                nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), value));
  }

  void write_text(const std::string& text) {
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < ' ' || byte >= 0x7F || c == '"' || c == '\\') return write_escaped(text);
    }
    out_.append(1, '"').append(text).append(1, '"');
  }

  /// nlohmann knows what to escape, and where UTF-8 is valid.
  void write_escaped(const std::string& text) {
    if (!serializer_)
      serializer_.emplace(nlohmann::detail::output_adapter<char>(out_), ' ', handler_);
    try {
      serializer_->dump(nlohmann::json(text), false, ensure_ascii_, 0);
    } catch (const nlohmann::json::exception& problem) {
      throw JsonError(problem.what());
    }
  }

  std::string out_;
  std::size_t step_;
  char indent_char_;
  bool is_pretty_;
  bool ensure_ascii_;
  nlohmann::json::error_handler_t handler_;
  std::optional<nlohmann::detail::serializer<nlohmann::json>> serializer_;  // of out_
};

Json Json::parse(std::string_view text, std::nullptr_t, bool allow_exceptions) {
  JsonReader reader(text);
  if (nlohmann::json::sax_parse(text, &reader)) return reader.take_root();
  if (allow_exceptions) throw JsonError(reader.problem());
  return JsonReader::discarded();
}

Json Json::parse_noting_repeats(std::string_view text, std::string& twice) {
  JsonReader reader(text);
  const bool good = nlohmann::json::sax_parse(text, &reader);
  if (reader.twice()) twice = *reader.twice();
  return good ? reader.take_root() : JsonReader::discarded();
}

std::string exceeded_json_limit(std::string_view text) {
  JsonReader reader(text);
  nlohmann::json::sax_parse(text, &reader);
  return reader.limit();
}

Json Json::parse_first(std::string_view text, std::size_t& length) {
  std::istringstream stream{std::string(text)};
  JsonReader reader(text);
  constexpr auto format = nlohmann::json::input_format_t::json;
  if (!nlohmann::json::sax_parse(stream, &reader, format, /*strict=*/false))
    throw JsonError(reader.problem());
  // -1 if a number ends with the text.
  const auto behind = static_cast<std::streamoff>(stream.tellg());
  length = behind < 0 ? text.size() : static_cast<std::size_t>(behind);
  return reader.take_root();
}

bool Json::accept(std::string_view text) {
  return nlohmann::json::accept(text);
}

std::string Json::dump(int indent, char indent_char, bool ensure_ascii,
                       error_handler_t handler) const {
  JsonWriter writer(indent, indent_char, ensure_ascii, handler);
  writer.write(*this);
  return writer.take();
}

std::ostream& operator<<(std::ostream& out, const Json& value) {
  return out << value.dump();
}

}  // namespace dllaunch
