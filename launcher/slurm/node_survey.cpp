#include "launcher/slurm/node_survey.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/slurm/host_list.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view marker = "dllaunch-doctor";
constexpr std::size_t piece_bytes = 400;

/// Removes and returns the next word and one blank after it.
std::string_view take_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<std::size_t> number_in(std::string_view word) {
  constexpr std::size_t most_pieces = 1 << 20;
  const auto number = parse_number<std::size_t>(word);
  return number && *number <= most_pieces ? number : std::nullopt;
}

struct Pieces {
  std::size_t expected = 0;
  std::map<std::size_t, std::string> texts;
};

void add_line(std::string_view line, std::map<std::string, Pieces>& by_host) {
  if (take_word(line) != marker) return;
  const auto host = std::string(take_word(line));
  const auto index = number_in(take_word(line));
  const auto count = number_in(take_word(line));
  if (host.empty() || !index || !count) return;
  auto& pieces = by_host[host];
  pieces.expected = *count;
  pieces.texts[*index] = std::string(line);
}

}  // namespace

std::string answer_lines(const std::string& host, const Json& document) {
  const auto text = document.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  const auto count = (text.size() + piece_bytes - 1) / piece_bytes;
  std::string lines;
  for (std::size_t i = 0; i < count; ++i)
    lines += fmt::format("{} {} {} {} {}\n", marker, host, i, count,
                         text.substr(i * piece_bytes, piece_bytes));
  return lines;
}

std::map<std::string, Json> read_answers(std::string_view output) {
  std::map<std::string, Pieces> by_host;
  while (!output.empty()) {
    const auto end = std::min(output.find('\n'), output.size());
    add_line(output.substr(0, end), by_host);
    output.remove_prefix(std::min(end + 1, output.size()));
  }
  std::map<std::string, Json> answers;
  for (const auto& [host, pieces] : by_host) {
    if (pieces.texts.size() != pieces.expected) continue;
    std::string text;
    for (const auto& [index, piece] : pieces.texts) text += piece;
    auto document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!document.is_discarded()) answers.emplace(host, std::move(document));
  }
  return answers;
}

Result<std::optional<Allocation>> observe_allocation(System& system) {
  constexpr std::string_view interactive_step = "4294967290";
  const auto job = system.environment("SLURM_JOB_ID");
  const auto step = system.environment("SLURM_STEP_ID");
  const bool shell = step == interactive_step ||
                     (system.console().terminal_out && system.environment("SLURM_STEP_NUM_TASKS") ==
                                                           std::optional<std::string>("1"));
  if (!job || (step && !shell)) return std::optional<Allocation>();
  auto list = system.environment("SLURM_JOB_NODELIST");
  if (!list) list = system.environment("SLURM_NODELIST");
  auto hosts = expand_hosts(list.value_or(""));
  if (!hosts) return std::move(hosts).error().within("SLURM_JOB_NODELIST");
  if (hosts->empty())
    return Error{ErrorKind::bad_request, "SLURM_JOB_ID is set, but no SLURM_JOB_NODELIST",
                 "run it inside the allocation, or `env -u SLURM_JOB_ID dllaunch doctor`"};
  return std::optional(Allocation{*job, *std::move(hosts)});
}

std::string why_silent(const std::string& host, std::string_view complaints,
                       const std::string& otherwise) {
  std::string first;
  while (!complaints.empty()) {
    const auto end = std::min(complaints.find('\n'), complaints.size());
    auto line = std::string(complaints.substr(0, end));
    complaints.remove_prefix(std::min(end + 1, complaints.size()));
    if (!host.empty() && line.find(host) != std::string::npos) return line;
    if (first.empty()) first = std::move(line);
  }
  return first.empty() ? otherwise : first;
}

}  // namespace dllaunch
