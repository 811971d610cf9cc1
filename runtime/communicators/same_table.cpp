#include "runtime/communicators/same_table.hpp"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "support/id_set.hpp"

namespace dllaunch {
namespace {

using Words = std::vector<std::int64_t>;

void reduce(Communicator& communicator, std::span<std::int64_t> words, ReduceOp op) {
  communicator.wait(communicator.all_reduce(words.data(), words.size(), DType::i64, op));
}

/// True on every rank if all ranks pass the same numbers.
bool same_everywhere(Communicator& communicator, const Words& mine) {
  Words least = mine;
  // min(x) is ~max(~x), so one reduction yields both.
  std::ranges::transform(mine, std::back_inserter(least), [](std::int64_t x) { return ~x; });
  reduce(communicator, least, ReduceOp::min);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (least[i] != ~least[mine.size() + i]) return false;
  }
  return true;
}

Words hash_of_table(std::span<const std::string> rows) {
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  for (const std::string& row : rows) {
    const std::uint64_t size = row.size();  // so that "ab","c" and "a","bc" differ
    XXH3_128bits_update(state, &size, sizeof size);
    XXH3_128bits_update(state, row.data(), row.size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return {static_cast<std::int64_t>(hash.low64), static_cast<std::int64_t>(hash.high64)};
}

constexpr std::int64_t no_row = 0;

/// Returns one hash per row, padded to `rows` entries with no_row.
Words hash_of_rows(std::span<const std::string> table, std::size_t rows) {
  Words hashes(rows, no_row);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto hash = static_cast<std::int64_t>(XXH3_64bits(table[i].data(), table[i].size()));
    hashes[i] = hash == no_row ? 1 : hash;
  }
  return hashes;
}

/// Returns row `index` of rank `root` on every rank; "" if it has none.
std::string row_of(Communicator& communicator, std::span<const std::string> rows, std::size_t index,
                   int root) {
  std::string row = index < rows.size() ? rows[index] : "";
  auto size = static_cast<std::int64_t>(row.size());
  communicator.wait(communicator.broadcast(&size, 1, DType::i64, root));
  row.resize(static_cast<std::size_t>(size));
  communicator.wait(communicator.broadcast(row.data(), row.size(), DType::u8, root));
  return row;
}

std::string name_of(std::string_view row) {
  return std::string(row.substr(0, row.find(' ')));
}

std::string what_it_has(std::string_view row, const TableWords& words) {
  if (row.empty()) return "no such " + words.row;
  const auto space = row.find(' ');
  return std::string(space == std::string_view::npos ? row : row.substr(space + 1));
}

/// The first row in which any rank differs from rank 0, and the ranks that do.
struct Difference {
  std::size_t row = 0;
  IdSet ranks;
};
Difference first_difference(Communicator& communicator, std::span<const std::string> table) {
  Words rows = {static_cast<std::int64_t>(table.size())};
  reduce(communicator, rows, ReduceOp::max);

  const Words mine = hash_of_rows(table, static_cast<std::size_t>(rows[0]));
  Words of_rank_0 = mine;
  communicator.wait(communicator.broadcast(of_rank_0.data(), of_rank_0.size(), DType::i64, 0));
  const auto mismatch = std::ranges::mismatch(mine, of_rank_0).in1 - mine.begin();

  Words first(static_cast<std::size_t>(communicator.size()));
  first[static_cast<std::size_t>(communicator.rank())] = mismatch;
  communicator.wait(communicator.all_gather(first.data(), 1, DType::i64));

  const std::int64_t earliest = std::ranges::min(first);
  Difference difference{.row = static_cast<std::size_t>(earliest), .ranks = {}};
  for (int rank = 0; rank < communicator.size(); ++rank) {
    if (first[static_cast<std::size_t>(rank)] == earliest) difference.ranks.insert(rank);
  }
  return difference;
}

}  // namespace

Result<Ok> check_same_table(Communicator& communicator, std::span<const std::string> rows,
                            const TableWords& words) {
  if (same_everywhere(communicator, hash_of_table(rows))) return Ok{};

  const auto [index, ranks] = first_difference(communicator, rows);
  const int other = ranks.first();
  const std::string ours = row_of(communicator, rows, index, 0);
  const std::string theirs = row_of(communicator, rows, index, other);
  const std::string name = name_of(ours.empty() ? theirs : ours);
  // If the names differ, what follows them is meaningless.
  const bool same_name = ours.empty() || theirs.empty() || name_of(ours) == name_of(theirs);

  const int first = words.first_rank;
  std::string what =
      fmt::format("{} differs: {}: rank {} has {}, rank {} has {}", words.table, name,
                  first + other, same_name ? what_it_has(theirs, words) : theirs, first,
                  same_name ? what_it_has(ours, words) : ours);
  if (ranks.size() > 1) {
    IdSet named;
    for (const int rank : ranks.ids()) named.insert(first + rank);
    what += fmt::format(" (ranks {} differ from rank {})", to_list(named), first);
  }
  return Error{.kind = ErrorKind::bad_request, .what = std::move(what), .hint = words.hint};
}

}  // namespace dllaunch
