#include "support/id_set.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr int word_bits = 64;

std::size_t word_of(int id) {
  return static_cast<std::size_t>(id) / word_bits;
}
std::uint64_t bit_of(int id) {
  return std::uint64_t{1} << (id % word_bits);
}

void drop_zero_tail(std::vector<std::uint64_t>& words) {
  while (!words.empty() && words.back() == 0) words.pop_back();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const auto first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

// Digits only: parse_number() alone would accept "-3".
std::optional<int> parse_id(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : parse_number<int>(text);
}

// Returns the beginning of untrusted text, made printable, for use in a message.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 40)) out += (c >= ' ' && c <= '~') ? c : '?';
  if (text.size() > 40) out += "...";
  return out + "'";
}

Error bad_item(std::string_view item, std::string_view why) {
  return {ErrorKind::bad_request, "list item " + quoted(item) + " " + std::string(why),
          "write numbers and ranges, as in 0-3,8"};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Error bad_mask(std::string_view text, std::string_view why) {
  return {ErrorKind::bad_request, "mask " + quoted(text) + " " + std::string(why),
          "write hexadecimal, as in 0xfe00"};
}

}  // namespace

IdSet::IdSet(std::initializer_list<int> ids) {
  for (const int id : ids) insert(id);
}

IdSet IdSet::range(int first, int last) {
  assert(first >= 0 && last <= max_id);
  IdSet set;
  if (first < 0 || last > max_id || last < first) return set;
  set.words_.assign(word_of(last) + 1, 0);
  for (std::size_t w = word_of(first); w <= word_of(last); ++w) set.words_[w] = ~std::uint64_t{0};
  set.words_[word_of(first)] &= ~(bit_of(first) - 1);
  set.words_[word_of(last)] &= bit_of(last) | (bit_of(last) - 1);
  return set;
}

void IdSet::insert(int id) {
  assert(id >= 0 && id <= max_id);
  if (id < 0 || id > max_id) return;
  if (word_of(id) >= words_.size()) words_.resize(word_of(id) + 1, 0);
  words_[word_of(id)] |= bit_of(id);
}

void IdSet::erase(int id) {
  if (!contains(id)) return;
  words_[word_of(id)] &= ~bit_of(id);
  drop_zero_tail(words_);
}

bool IdSet::contains(int id) const {
  return id >= 0 && word_of(id) < words_.size() && (words_[word_of(id)] & bit_of(id)) != 0;
}

bool IdSet::contains(const IdSet& other) const {
  if (other.words_.size() > words_.size()) return false;
  for (std::size_t w = 0; w < other.words_.size(); ++w)
    if ((other.words_[w] & ~words_[w]) != 0) return false;
  return true;
}

bool IdSet::intersects(const IdSet& other) const {
  const auto shared = std::min(words_.size(), other.words_.size());
  for (std::size_t w = 0; w < shared; ++w)
    if ((words_[w] & other.words_[w]) != 0) return true;
  return false;
}

bool IdSet::empty() const {
  return words_.empty();
}

int IdSet::size() const {
  int count = 0;
  for (const auto word : words_) count += std::popcount(word);
  return count;
}

int IdSet::first() const {
  for (std::size_t w = 0; w < words_.size(); ++w)
    if (words_[w] != 0) return static_cast<int>(w) * word_bits + std::countr_zero(words_[w]);
  return -1;
}

int IdSet::last() const {
  if (words_.empty()) return -1;
  return static_cast<int>(words_.size()) * word_bits - 1 - std::countl_zero(words_.back());
}

std::vector<int> IdSet::ids() const {
  std::vector<int> all;
  all.reserve(static_cast<std::size_t>(size()));
  for (std::size_t w = 0; w < words_.size(); ++w)
    for (auto word = words_[w]; word != 0; word &= word - 1)
      all.push_back(static_cast<int>(w) * word_bits + std::countr_zero(word));
  return all;
}

IdSet& IdSet::operator|=(const IdSet& other) {
  if (other.words_.size() > words_.size()) words_.resize(other.words_.size(), 0);
  for (std::size_t w = 0; w < other.words_.size(); ++w) words_[w] |= other.words_[w];
  return *this;
}

IdSet& IdSet::operator&=(const IdSet& other) {
  if (words_.size() > other.words_.size()) words_.resize(other.words_.size());
  for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= other.words_[w];
  drop_zero_tail(words_);
  return *this;
}

IdSet& IdSet::operator-=(const IdSet& other) {
  const auto shared = std::min(words_.size(), other.words_.size());
  for (std::size_t w = 0; w < shared; ++w) words_[w] &= ~other.words_[w];
  drop_zero_tail(words_);
  return *this;
}

std::string to_list(const IdSet& set) {
  std::string out;
  const auto ids = set.ids();
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t end = i + 1;
    while (end < ids.size() && ids[end] == ids[end - 1] + 1) ++end;
    if (!out.empty()) out += ',';
    out += std::to_string(ids[i]);
    if (end - i > 1) out += '-' + std::to_string(ids[end - 1]);
    i = end;
  }
  return out;
}

std::string to_mask(const IdSet& set) {
  std::string out = "0x";
  for (int nibble = std::max(set.last(), 0) / 4; nibble >= 0; --nibble) {
    int digit = 0;
    for (int bit = 0; bit < 4; ++bit)
      if (set.contains(nibble * 4 + bit)) digit |= 1 << bit;
    out += "0123456789abcdef"[digit];
  }
  return out;
}

Result<IdSet> parse_id_list(std::string_view text) {
  IdSet set;
  text = trimmed(text);
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto item = trimmed(text.substr(0, comma));
    const auto dash = item.find('-');
    const auto first = parse_id(trimmed(item.substr(0, dash)));
    const auto last =
        dash == std::string_view::npos ? first : parse_id(trimmed(item.substr(dash + 1)));
    if (!first || !last) return bad_item(item, "is not a number or a range");
    if (*last < *first) return bad_item(item, "runs backwards");
    if (*last > IdSet::max_id) return bad_item(item, "is above " + std::to_string(IdSet::max_id));
    set |= IdSet::range(*first, *last);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (trimmed(text).empty()) return bad_item("", "is not a number or a range");
  }
  return set;
}

Result<IdSet> parse_mask(std::string_view text) {
  constexpr std::size_t group_digits = 8;
  const auto whole = trimmed(text);
  auto digits = whole;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  if (digits.empty()) return bad_mask(whole, "is empty");

  // A mask of 32-bit groups is one long number without its commas, if each group after the first
  // has all its digits.
  std::string number;
  std::size_t in_group = 0;
  bool grouped = false;
  for (const char c : digits) {
    if (c == ',') {
      if (in_group == 0 || in_group > group_digits || (grouped && in_group != group_digits))
        return bad_mask(whole, "has a group that is not 32 bits");
      grouped = true;
      in_group = 0;
      continue;
    }
    if (hex_digit(c) < 0) return bad_mask(whole, "is not hexadecimal");
    number += c;
    ++in_group;
  }
  if (grouped && in_group != group_digits)
    return bad_mask(whole, "has a group that is not 32 bits");

  const auto significant = number.find_first_not_of('0');
  if (significant == std::string::npos) return IdSet{};
  number.erase(0, significant);
  IdSet set;
  for (std::size_t i = 0; i < number.size(); ++i) {
    const auto nibble = number.size() - 1 - i;
    if (nibble * 4 > static_cast<std::size_t>(IdSet::max_id))
      return bad_mask(whole, "has a bit above " + std::to_string(IdSet::max_id));
    for (int bit = 0; bit < 4; ++bit)
      if ((hex_digit(number[i]) >> bit) & 1) set.insert(static_cast<int>(nibble) * 4 + bit);
  }
  return set;
}

}  // namespace dllaunch
