#include "launcher/slurm/host_list.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

namespace dllaunch {
namespace {

constexpr std::size_t max_digits = 18;  // fits 64 bits with room to increment
constexpr std::size_t longest_name = 255;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::uint64_t to_number(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= max_digits && std::ranges::all_of(text, is_digit);
}

std::string padded(std::uint64_t value, std::size_t width) {
  return fmt::format("{:0{}}", value, width);
}

/// Parses a list from left to right; positions in messages are 1-based.
class Expansion {
 public:
  explicit Expansion(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> run() {
    skip_blanks();
    while (at_ < text_.size()) {
      if (auto problem = one_name()) return *problem;
      skip_blanks();
      if (at_ == text_.size()) break;
      if (text_[at_] != ',') return error("a comma belongs between two names");
      ++at_;
      skip_blanks();
      if (at_ == text_.size()) return error("a name is missing after the comma");
    }
    return std::move(hosts_);
  }

 private:
  /// Parses a name with its brackets; expands every bracket.
  std::optional<Error> one_name() {
    std::vector<std::string> names{""};
    const auto start = at_;
    while (at_ < text_.size() && text_[at_] != ',' && !is_blank(text_[at_])) {
      if (text_[at_] == ']') return error("a bracket closes that was not opened");
      if (names.front().size() >= longest_name)
        return error(fmt::format("a name longer than {} characters", longest_name));
      if (text_[at_] != '[') {
        for (auto& name : names) name += text_[at_];
        ++at_;
        continue;
      }
      auto choices = bracket(max_hosts / names.size());
      if (!choices) return std::move(choices).error();
      names = multiplied(names, *choices);
    }
    if (at_ == start) return error("a name is missing");
    if (hosts_.size() + names.size() > max_hosts) return too_many();
    std::move(names.begin(), names.end(), std::back_inserter(hosts_));
    return std::nullopt;
  }

  static std::vector<std::string> multiplied(const std::vector<std::string>& names,
                                             const std::vector<std::string>& choices) {
    std::vector<std::string> all;
    all.reserve(names.size() * choices.size());
    for (const auto& name : names)
      for (const auto& choice : choices) all.push_back(name + choice);
    return all;
  }

  /// Parses "[1-3,07]", from the opening to after the closing bracket.
  Result<std::vector<std::string>> bracket(std::size_t limit) {
    const auto close = text_.find(']', at_);
    if (close == std::string_view::npos) return error("this bracket is not closed");
    ++at_;
    std::vector<std::string> choices;
    while (true) {
      const auto end = at_ + std::min(text_.substr(at_, close - at_).find(','), close - at_);
      if (auto problem = range(text_.substr(at_, end - at_), limit, choices)) return *problem;
      at_ = end + 1;
      if (end == close) return choices;
    }
  }

  std::optional<Error> range(std::string_view item, std::size_t limit,
                             std::vector<std::string>& choices) {
    const auto dash = item.find('-');
    const auto first = item.substr(0, dash);
    auto last = dash == std::string_view::npos ? first : item.substr(dash + 1);
    std::string_view stride = "1";
    if (const auto colon = last.find(':'); dash != std::string_view::npos && colon != last.npos) {
      stride = last.substr(colon + 1);
      last = last.substr(0, colon);
    }
    if (!is_number(first) || !is_number(last) || !is_number(stride) || to_number(stride) == 0)
      return error(fmt::format("'{}' is not a number or a range of numbers", item));
    const auto low = to_number(first);
    const auto high = to_number(last);
    if (high < low) return error(fmt::format("the range {} runs backwards", item));
    const auto step = to_number(stride);
    const auto more = (high - low) / step;
    if (more >= limit || choices.size() + more >= limit) return too_many();
    for (std::uint64_t i = 0; i <= more; ++i)
      choices.push_back(padded(low + i * step, first.size()));
    return std::nullopt;
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  Error error(std::string_view what) const {
    constexpr std::size_t shown = 60;
    const auto excerpt =
        fmt::format("{}{}", text_.substr(0, shown), text_.size() > shown ? "..." : "");
    return Error{ErrorKind::bad_request,
                 fmt::format("host list '{}', position {}: {}", excerpt, at_ + 1, what),
                 "write it as n[1-4,7],login1"};
  }
  Error too_many() const { return error(fmt::format("more than {} hosts", max_hosts)); }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> hosts_;
};

/// "rack1n07" as "rack1n" and "07": Slurm accepts brackets only at the end of a name.
struct Numbered {
  std::string_view before;
  std::string_view digits;  // empty: no trailing number, or one too long to count
};

Numbered split(std::string_view name) {
  auto first = name.size();
  while (first > 0 && is_digit(name[first - 1])) --first;
  if (name.size() - first > max_digits) return {name, ""};
  return {name.substr(0, first), name.substr(first)};
}

/// Numbers that share a prefix.
struct Group {
  std::string_view before;
  std::string items;       // "1-3,07"
  std::string_view first;  // of the open range
  std::uint64_t next = 0;  // the number that would extend it
  std::size_t count = 0;   // names in the group
  std::size_t in_range = 0;

  void close_range() {
    if (in_range == 0) return;
    if (!items.empty()) items += ',';
    items += first;
    if (in_range > 1) items += '-' + padded(next - 1, first.size());
    in_range = 0;
  }

  void add(std::string_view digits) {
    if (in_range > 0 && digits == padded(next, first.size())) {
      ++next;
      ++in_range;
    } else {
      close_range();
      first = digits;
      next = to_number(digits) + 1;
      in_range = 1;
    }
    ++count;
  }

  std::string text() {
    close_range();
    const bool brackets = count > 1;
    return fmt::format("{}{}{}{}", before, brackets ? "[" : "", items, brackets ? "]" : "");
  }
};

}  // namespace

Result<std::vector<std::string>> expand_hosts(std::string_view text) {
  return Expansion(text).run();
}

std::string compress_hosts(std::span<const std::string> hosts) {
  std::string text;
  std::optional<Group> group;
  const auto append = [&text](std::string_view item) {
    if (!text.empty()) text += ',';
    text += item;
  };
  const auto finish = [&] {
    if (group) append(group->text());
    group.reset();
  };
  for (const auto& host : hosts) {
    const auto [before, digits] = split(host);
    if (digits.empty()) {
      finish();
      append(host);
      continue;
    }
    if (!group || group->before != before) {
      finish();
      group = Group{.before = before, .items = {}, .first = {}};
    }
    group->add(digits);
  }
  finish();
  return text;
}

std::string compress_host_set(std::vector<std::string> hosts) {
  const auto key = [](const std::string& host) {
    const auto [before, digits] = split(host);
    return std::tuple(before, digits.size(), digits);
  };
  std::ranges::sort(hosts, {}, key);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return compress_hosts(hosts);
}

}  // namespace dllaunch
