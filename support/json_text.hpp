// Parsing beside json.hpp, which is seen everywhere: which limit a text exceeds, and what an
// object's members are kept in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/json.hpp"

namespace dllaunch {

/// Which limit of Json::parse() the text exceeds: "nested deeper than 64 levels", "more than 500000
/// values". Empty: none, or it is no JSON before.
std::string exceeded_json_limit(std::string_view text);

/// The members of an object in their order, with an index of their keys once there are many: what
/// Json's data points to. A sorted index, not a hash: nobody can choose keys that make it slow.
struct JsonMembers : std::vector<JsonMember> {
  static constexpr std::size_t few = 32;  // members that are searched one by one

  /// Their positions in the order of their keys. Incomplete: nobody looks there.
  std::vector<std::uint32_t> by_key = {};

  std::string_view key_at(std::uint32_t position) const { return (*this)[position].key; }

  JsonMember* find(std::string_view key) {
    if (by_key.size() != size()) {
      const auto found = std::ranges::find(*this, key, &JsonMember::key);
      return found == end() ? nullptr : &*found;
    }
    const auto found = place_of(key);
    return found == by_key.end() || key_at(*found) != key ? nullptr : &(*this)[*found];
  }

  /// A key that the object lacks, with null.
  Json& add(std::string key) {
    Json& value = emplace_back(JsonMember{std::move(key), Json()}).value;
    const auto last = static_cast<std::uint32_t>(size() - 1);
    if (size() > few && by_key.size() == last)
      by_key.insert(place_of(key_at(last)), last);
    else if (size() > few)
      index();
    return value;
  }

  /// Of members with the same key the first keeps its place and gets the last one's value. Returns
  /// such a key.
  std::optional<std::string> index() {
    by_key.resize(size());
    std::iota(by_key.begin(), by_key.end(), 0U);
    std::ranges::sort(by_key, [this](std::uint32_t a, std::uint32_t b) {
      const auto order = key_at(a) <=> key_at(b);
      return order == 0 ? a < b : order < 0;
    });
    std::optional<std::string> twice;
    std::vector<bool> is_repeat(size());
    for (std::size_t first = 0, i = 1; i < by_key.size(); ++i) {
      if (key_at(by_key[first]) != key_at(by_key[i])) {
        first = i;
        continue;
      }
      is_repeat[by_key[i]] = true;
      (*this)[by_key[first]].value = std::move((*this)[by_key[i]].value);
      twice = key_at(by_key[i]);
    }
    if (!twice) return twice;
    std::erase_if(*this, [&](const JsonMember& one) {
      return is_repeat[static_cast<std::size_t>(&one - data())];
    });
    index();
    return twice;
  }

 private:
  std::vector<std::uint32_t>::iterator place_of(std::string_view key) {
    return std::ranges::lower_bound(by_key, key, {},
                                    [this](std::uint32_t position) { return key_at(position); });
  }
};

}  // namespace dllaunch
