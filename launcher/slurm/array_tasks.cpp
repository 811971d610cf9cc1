#include "launcher/slurm/array_tasks.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "launcher/base/split.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

/// Slurm's own bound of MaxArraySize; a damaged line must not claim more.
constexpr int most_tasks = 4'000'001;

struct Range {
  int first = 0;
  int last = 0;
  int step = 1;
};

/// "7", "0-12" or "0-12:2"
std::optional<Range> parse_range(std::string_view text) {
  const auto colon = text.find(':');
  const auto ends = text.substr(0, colon);
  const auto dash = ends.find('-');
  const auto first = parse_number<int>(ends.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : parse_number<int>(ends.substr(dash + 1));
  const auto step = colon == std::string_view::npos ? std::optional(1)
                                                    : parse_number<int>(text.substr(colon + 1));
  if (!first || !last || !step || *first < 0 || *last < *first || *last > most_tasks || *step < 1 ||
      *step > most_tasks)
    return std::nullopt;
  return Range{*first, *last, *step};
}

}  // namespace

std::optional<ArrayTasks> parse_array_tasks(std::string_view text) {
  ArrayTasks tasks;
  if (const auto open = text.find('['); open != std::string_view::npos) {
    const auto close = text.find(']', open);
    tasks.cut = close == std::string_view::npos;
    text = text.substr(open + 1, close - open - 1);
    // The last number may have lost digits.
    if (tasks.cut) text = text.substr(0, std::min(text.rfind(','), text.size()));
  }
  if (const auto percent = text.find('%'); percent != std::string_view::npos) {
    const auto at_once = parse_number<int>(text.substr(percent + 1));
    if (!at_once || *at_once < 0) return std::nullopt;
    tasks.at_once = *at_once;
    text = text.substr(0, percent);
  }
  for (const auto part : split_at(text, ',')) {
    // The number before the dots may have lost digits.
    if (part.ends_with("...")) {
      tasks.cut = true;
      continue;
    }
    const auto range = parse_range(part);
    if (!range) return std::nullopt;
    for (int number = range->first; number <= range->last; number += range->step)
      tasks.numbers.push_back(number);
    if (std::ssize(tasks.numbers) > most_tasks) return std::nullopt;
  }
  if (tasks.numbers.empty() && !tasks.cut) return std::nullopt;
  std::ranges::sort(tasks.numbers);
  const auto again = std::ranges::unique(tasks.numbers);
  tasks.numbers.erase(again.begin(), again.end());
  return tasks;
}

std::string to_string(const ArrayTasks& tasks) {
  std::string text;
  const auto& all = tasks.numbers;
  for (std::size_t i = 0, end = 0; i < all.size(); i = end) {
    for (end = i + 1; end < all.size() && all[end] == all[end - 1] + 1;) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", all[i]);
    if (end > i + 1) text += fmt::format("-{}", all[end - 1]);
  }
  return text + (tasks.at_once > 0 ? fmt::format("%{}", tasks.at_once) : "");
}

int jobs_with_id(std::string_view id) {
  if (id.find('[') == std::string_view::npos) return 1;
  const auto tasks = parse_array_tasks(id);
  return tasks ? std::max(1, static_cast<int>(tasks->numbers.size())) : 1;
}

}  // namespace dllaunch
