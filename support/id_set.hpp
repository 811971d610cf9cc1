// A set of small numbers (CPUs, NUMA nodes, ranks), in the notations of Linux and Slurm.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

/// Ids are operating-system (physical) indexes, 0 .. max_id.
class IdSet {
 public:
  static constexpr int max_id = 65535;

  IdSet() = default;
  IdSet(std::initializer_list<int> ids);
  /// first .. last, both included.
  static IdSet range(int first, int last);

  void insert(int id);
  void erase(int id);
  bool contains(int id) const;
  bool contains(const IdSet& other) const;  // whether every id of `other` is in this set
  bool intersects(const IdSet& other) const;
  bool empty() const;
  int size() const;
  int first() const;  // -1 when empty
  int last() const;   // -1 when empty
  std::vector<int> ids() const;

  IdSet& operator|=(const IdSet& other);
  IdSet& operator&=(const IdSet& other);
  IdSet& operator-=(const IdSet& other);
  friend IdSet operator|(IdSet a, const IdSet& b) { return a |= b; }
  friend IdSet operator&(IdSet a, const IdSet& b) { return a &= b; }
  friend IdSet operator-(IdSet a, const IdSet& b) { return a -= b; }
  friend bool operator==(const IdSet& a, const IdSet& b) = default;

 private:
  std::vector<std::uint64_t> words_;  // no trailing zero words, so that == compares sets
};

/// "0-3,8" (ascending, ranges of two are written "0-1"); "" for the empty set.
std::string to_list(const IdSet& set);

/// Lower-case hexadecimal with 0x and no leading zeros: "0xfe00"; "0x0" for the empty set.
std::string to_mask(const IdSet& set);

/// Parses "0-3,8". Spaces around items are allowed; empty text is the empty set. bad_request names
/// the item that is not a number or a range, or is above max_id.
Result<IdSet> parse_id_list(std::string_view text);

/// Parses "0xfe00", "fe00", or the kernel's comma-separated 32-bit groups "00000000,0000fe00".
Result<IdSet> parse_mask(std::string_view text);

}  // namespace dllaunch
