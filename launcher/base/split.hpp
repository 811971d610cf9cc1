// Splits text.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>
#include <vector>

namespace dllaunch {

/// The lines of a text, which must outlive them, without their newlines; no empty line after the
/// last newline. They are found one by one: ten million of them take no memory.
class Lines {
 public:
  class Iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(std::string_view rest)
        : rest_(rest), line_(rest.substr(0, rest.find('\n'))) {}

    std::string_view operator*() const { return line_; }
    Iterator& operator++() {
      const bool more = line_.size() < rest_.size();
      return *this = Iterator(rest_.substr(line_.size() + (more ? 1 : 0)));
    }
    Iterator operator++(int) {
      const auto before = *this;
      ++*this;
      return before;
    }
    /// Of two in the same text.
    bool operator==(const Iterator& other) const { return rest_.size() == other.rest_.size(); }

   private:
    std::string_view rest_;
    std::string_view line_;
  };

  explicit Lines(std::string_view text) : text_(text) {}

  Iterator begin() const { return Iterator(text_); }
  Iterator end() const { return Iterator(text_.substr(text_.size())); }

 private:
  std::string_view text_;
};

inline Lines split_lines(std::string_view text) {
  return Lines(text);
}

/// The same as a list, of texts with few.
std::vector<std::string_view> list_of_lines(std::string_view text);

/// The last line; empty if there is none.
std::string_view last_line(std::string_view text);

/// The parts between separators: one more than there are separators.
std::vector<std::string_view> split_at(std::string_view text, char separator);

}  // namespace dllaunch
