#include "launcher/run/log_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "launcher/base/utf8.hpp"

namespace dllaunch {
namespace {

/// Removes a leading number from `text` and returns it.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

std::optional<LogSource> log_source(std::string_view name) {
  constexpr std::string_view extension = ".log";
  constexpr std::array<std::string_view, 3> ours = {"mpirun", "spawn", "dllaunch"};
  if (!name.ends_with(extension) || name.starts_with('.')) return std::nullopt;
  name.remove_suffix(extension.size());
  if (name.empty() || std::ranges::find(ours, name) != ours.end()) return std::nullopt;
  if (!take(name, "rank-")) return LogSource{.rank = -1, .node = printable(name)};
  const auto rank = take_number(name);
  if (!rank || !take(name, "-")) return std::nullopt;
  return LogSource{.rank = *rank, .node = printable(name)};
}

bool waits_for_a_step(std::string_view line) {
  const auto at = line.find("srun: Job ");
  return at != std::string_view::npos &&
         line.find(" step creation ", at) != std::string_view::npos &&
         line.find(" disabled, retrying", at) != std::string_view::npos;
}

LabelledLine split_label(std::string_view line) {
  const LabelledLine none{.text = line};
  auto rest = line;
  if (take(rest, "[")) {
    const bool job = take_number(rest).has_value() && take(rest, ",");
    const auto rank = job ? take_number(rest) : std::nullopt;
    if (!rank || !(take(rest, "]<stdout>:") || take(rest, "]<stderr>:"))) return none;
    return {.rank = *rank, .text = rest};
  }
  // srun pads to the width of the highest rank.
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const auto rank = take_number(rest);
  if (!rank || !take(rest, ":")) return none;
  take(rest, " ");
  return {.rank = *rank, .text = rest};
}

}  // namespace dllaunch
