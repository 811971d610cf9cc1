#include "launcher/autopsy/pickle.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dllaunch {
namespace {

constexpr std::size_t most_used_bytes = std::size_t{128} << 20;
constexpr std::size_t most_depth = 64;
constexpr std::size_t allocation_bytes = 16;
constexpr std::size_t node_bytes = allocation_bytes + 32;  // of a map, without what it holds

/// About as much memory as a copy takes.
std::size_t size_of(const Json& value) {
  std::size_t bytes = sizeof value;
  if (value.is_string()) {
    bytes += allocation_bytes + sizeof(std::string) + value.text().size();
  } else if (value.is_array()) {
    bytes += allocation_bytes + sizeof(std::vector<Json>);
    for (const Json& each : value) bytes += size_of(each);
  } else if (value.is_object()) {
    bytes += allocation_bytes + sizeof(std::vector<JsonMember>);
    for (const auto& [key, each] : value.items())
      bytes += sizeof(std::string) + key.size() + size_of(each);
  }
  return bytes;
}

class PickleReader {
 public:
  explicit PickleReader(std::string_view bytes) : rest_(bytes) {}

  /// nullopt: refused.
  std::optional<Json> read() {
    while (good_) {
      const auto operation = static_cast<unsigned char>(number(1));
      if (!good_) break;
      if (operation == '.') {
        if (stack_.size() != 1 || !marks_.empty()) break;
        return std::move(stack_.front().value);
      }
      good_ = scalar(operation) || memo(operation) || container(operation);
    }
    return std::nullopt;
  }

 private:
  struct Item {
    Json value;
    std::size_t depth = 0;  // of containers in it
  };

  bool push(Json value) {
    if (!may_use(sizeof(Item) + size_of(value))) return false;
    stack_.push_back({std::move(value)});
    return true;
  }
  std::string_view take(std::uint64_t count) {
    good_ = good_ && count <= rest_.size();
    const auto taken = rest_.substr(0, good_ ? count : 0);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  /// Little-endian, without sign.
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    const auto taken = take(bytes);
    for (std::size_t i = taken.size(); i > 0; --i)
      value = value << 8 | static_cast<unsigned char>(taken[i - 1]);
    return value;
  }
  bool text(std::string_view taken) { return good_ && push(std::string(taken)); }
  /// What is freed again counts too: in a dump that is little.
  bool may_use(std::size_t bytes) {
    used_bytes_ += bytes;
    return used_bytes_ <= most_used_bytes;
  }
  /// LONG1: two's complement of as few bytes as needed.
  bool long_number() {
    const auto bytes = static_cast<std::size_t>(number(1));
    if (bytes > sizeof(std::int64_t)) return false;
    const auto unused = 64 - 8 * static_cast<int>(bytes);
    const auto value = number(bytes);
    return push(bytes == 0 ? 0 : static_cast<std::int64_t>(value << unused) >> unused);
  }

  bool scalar(unsigned char operation) {
    switch (operation) {
      case 0x80:  // PROTO
        return number(1) <= 5;
      case 0x95:  // FRAME
        return number(8), good_;
      case 'N':
        return push(nullptr);
      case 0x88:
        return push(true);
      case 0x89:
        return push(false);
      case 'K':
        return push(number(1));
      case 'M':
        return push(number(2));
      case 'J':
        return push(static_cast<std::int32_t>(number(4)));
      case 0x8a:
        return long_number();
      case 'G': {  // big-endian
        std::uint64_t bits = 0;
        for (int i = 0; i < 8; ++i) bits = bits << 8 | number(1);
        return push(std::bit_cast<double>(bits));
      }
      case 'X':  // BINUNICODE
        return text(take(number(4)));
      case 0x8c:  // SHORT_BINUNICODE
        return text(take(number(1)));
      default:
        return false;
    }
  }

  bool memo(unsigned char operation) {
    const bool fetches = operation == 'h' || operation == 'j';
    std::uint64_t place = memo_.size();
    if (operation == 'q' || operation == 'h') {
      place = number(1);
    } else if (operation == 'r' || operation == 'j') {
      place = number(4);
    } else if (operation != 0x94) {  // MEMOIZE
      return false;
    }
    if (!fetches) return good_ && !stack_.empty() && keep(place);
    const auto found = memo_.find(place);
    if (found == memo_.end() || !found->second) return false;
    if (!may_use(sizeof(Item) + size_of(found->second->value))) return false;
    stack_.push_back(*found->second);
    return true;
  }
  /// Python keeps a list before it fills it: such a one cannot be fetched, as its values would be
  /// missing. PyTorch keeps it filled.
  bool keep(std::uint64_t place) {
    const Json& value = stack_.back().value;
    if (!may_use(node_bytes + sizeof *memo_.begin())) return false;
    auto& kept = memo_[place];
    kept.reset();
    if ((value.is_array() || value.is_object()) && value.empty()) return true;
    if (!may_use(size_of(value))) return false;
    kept = stack_.back();
    return true;
  }

  /// The values above the last mark.
  std::optional<std::vector<Item>> marked() {
    if (marks_.empty() || marks_.back() > stack_.size()) return std::nullopt;
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return above(mark);
  }
  std::optional<std::vector<Item>> above(std::size_t from) {
    if (from > stack_.size() || (!marks_.empty() && from < marks_.back())) return std::nullopt;
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(from);
    std::vector<Item> values(std::make_move_iterator(begin), std::make_move_iterator(stack_.end()));
    stack_.erase(begin, stack_.end());
    return values;
  }
  std::optional<std::vector<Item>> last(std::size_t count) {
    return count <= stack_.size() ? above(stack_.size() - count) : std::nullopt;
  }

  bool extend(std::optional<std::vector<Item>> values, bool dictionary) {
    if (!values || stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back()))
      return false;
    Item& into = stack_.back();
    if (dictionary ? !into.value.is_object() || values->size() % 2 != 0 : !into.value.is_array())
      return false;
    for (std::size_t i = 0; i < values->size(); ++i) {
      Item& each = (*values)[i];
      into.depth = std::max(into.depth, each.depth + 1);
      if (!dictionary) {
        into.value.push_back(std::move(each.value));
      } else if (i % 2 == 1) {
        const Json& key = (*values)[i - 1].value;
        if (!key.is_string() && !key.is_number_integer()) return false;
        if (!may_use(sizeof(JsonMember))) return false;
        into.value[key.is_string() ? key.get<std::string>() : key.dump()] = std::move(each.value);
      }
    }
    return into.depth <= most_depth;
  }
  bool tuple(std::optional<std::vector<Item>> values) {
    return values && push(Json::array()) && extend(std::move(values), false);
  }

  bool container(unsigned char operation) {
    switch (operation) {
      case '(':
        marks_.push_back(stack_.size());
        return may_use(sizeof stack_.size());
      case '}':
        return push(Json::object());
      case ']':
      case ')':
        return push(Json::array());
      case 'u':
        return extend(marked(), true);
      case 's':
        return extend(last(2), true);
      case 'e':
        return extend(marked(), false);
      case 'a':
        return extend(last(1), false);
      case 't':
        return tuple(marked());
      case 0x85:
      case 0x86:
      case 0x87:
        return tuple(last(operation - 0x84U));
      default:
        return false;
    }
  }

  std::string_view rest_;
  bool good_ = true;
  std::vector<Item> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::map<std::uint64_t, std::optional<Item>> memo_;
  std::size_t used_bytes_ = 0;
};

}  // namespace

Result<Json> read_pickle(std::string_view bytes) {
  auto value = PickleReader(bytes).read();
  if (value) return *std::move(value);
  return Error{ErrorKind::bad_request, "not a pickle of plain values, or too large a one", ""};
}

}  // namespace dllaunch
