#include "trainer/integrity/drill.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "support/counted.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr std::array<std::string_view, 3> part_names{"weights", "states", "gradients"};

}  // namespace

Result<Drill> parse_drill(std::string_view text, int ranks) {
  std::array<std::string_view, 4> words;
  std::size_t count = 0;
  for (std::size_t from = 0; from <= text.size() && count < words.size(); ++count) {
    const std::size_t to = std::min(text.find(':', from), text.size());
    words[count] = count + 1 < words.size() ? text.substr(from, to - from) : text.substr(from);
    from = to + 1;
  }
  const auto rank = parse_number<int>(words[0]);
  const auto step = parse_number<std::int64_t>(words[1]);
  const auto* const name = std::ranges::find(part_names, words[2]);
  const auto bit = parse_number<std::uint64_t>(words[3]);
  if (!rank || *rank < 0 || !step || *step < 1 || name == part_names.end() || !bit) {
    return Error{ErrorKind::bad_request,
                 fmt::format("{}: expected RANK:STEP:PART:BIT, PART being weights, states or "
                             "gradients, not '{}'",
                             drill_variable, text),
                 fmt::format("{}=1:40:weights:12345", drill_variable)};
  }
  if (*rank >= ranks)
    return Error{ErrorKind::bad_request,
                 fmt::format("{}: there is no rank {}: the job has {}", drill_variable, *rank,
                             counted(ranks, "rank")),
                 fmt::format("a rank from 0 to {}", ranks - 1)};
  return Drill{.rank = *rank,
               .step = *step,
               .part = static_cast<ReplicaPart>(name - part_names.begin()),
               .bit = *bit};
}

}  // namespace dllaunch
