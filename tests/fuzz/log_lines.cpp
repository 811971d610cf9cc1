// What ranks write: shown, merged, searched for the first error. The first byte of an input line
// says which rank wrote it and how much later than the line before, the rest is what it wrote.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/monitor/line_merger.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/run/first_error.hpp"
#include "launcher/run/log_line.hpp"
#include "support/id_set.hpp"
#include "tests/fuzz/must_hold.hpp"

namespace dllaunch {
namespace {

constexpr int ranks = 16;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (; !text.empty(); text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1))
    lines.push_back(text.substr(0, text.find('\n')));
  return lines;
}

/// Whole characters only, and no control character except tab.
bool harmless(std::string_view text) {
  while (!text.empty()) {
    const auto length = utf8_length(text);
    if (length == 0) return false;
    const auto first = static_cast<unsigned char>(text[0]);
    const auto second = length > 1 ? static_cast<unsigned char>(text[1]) : 0U;
    if ((first < 0x20 && first != '\t') || first == 0x7f) return false;
    if (first == 0xc2 && second < 0xa0) return false;
    const auto character = text.substr(0, length);
    if (character == "\u061c" || character == "\u200e" || character == "\u200f") return false;
    if (character >= "\u202a" && character <= "\u202e") return false;
    if (character >= "\u2066" && character <= "\u2069") return false;
    text.remove_prefix(length);
  }
  return true;
}

void check_shown(std::string_view line) {
  const auto shown = shown_line(line);
  must_hold(harmless(shown), "what is shown does nothing to the terminal");
  must_hold(shown_line(shown) == shown, "what is shown stays as it is");
  if (harmless(line)) must_hold(shown == line, "harmless text is shown as it is");
  const auto labelled = split_label(line);
  must_hold(line.ends_with(labelled.text), "a label stands before the text");
  must_hold(labelled.rank >= -1, "a label is a rank");
  if (const auto source = log_source(line); source)
    must_hold(harmless(source->node), "a node's name does nothing to the terminal");
}

void check_dead(const std::optional<DeadRank>& dead) {
  if (!dead) return;
  must_hold((dead->signal != 0) != (dead->exit_code != 0), "a signal or an exit code");
  must_hold(dead->rank >= -1, "a rank, or -1");
  must_hold(harmless(describe(*dead)), "the description of a death has no control characters");
}

void check_errors(std::string_view log) {
  check_dead(dead_rank_from_srun(log));
  check_dead(dead_rank_from_mpirun(log));
  if (const auto found = error_in_log(log)) {
    must_hold(!found->line.empty() && found->line.size() <= 403, "an error is a line");
    must_hold(harmless(found->line), "an error does nothing to the terminal");
  }
  constexpr std::size_t most = 5;
  const auto excerpt = log_excerpt(log, most);
  must_hold(excerpt.size() <= most, "an excerpt is short");
  std::size_t next = 0;
  const auto lines = lines_of(log);
  for (const auto& quoted : excerpt) {
    must_hold(harmless(quoted), "an excerpt does nothing to the terminal");
    while (next < lines.size() && !shown_line(lines[next]).starts_with(quoted)) ++next;
    must_hold(next++ < lines.size(), "an excerpt quotes the log, in its order");
  }
}

/// What each rank (-1: no rank) wrote, read back from the merged text.
using Written = std::map<int, std::vector<std::string>>;

void take_apart(const std::string& line, Written& written) {
  const std::string_view text = line;
  constexpr std::string_view several = "ranks ";
  if (text.starts_with(several)) {
    const auto colon = text.find(": ");
    const auto list = parse_id_list(text.substr(several.size(), colon - several.size()));
    must_hold(list && list->size() > 1, "several ranks are a list");
    for (const int rank : list->ids()) written[rank].emplace_back(text.substr(colon + 2));
    return;
  }
  const auto end = text.find("] ");
  must_hold(text.starts_with("[n") && end != std::string_view::npos, "a line says whose it is");
  const auto colon = text.substr(0, end).find(':');
  const int rank = colon == std::string_view::npos
                       ? -1
                       : parse_id_list(text.substr(colon + 1, end - colon - 1))->first();
  written[rank].emplace_back(text.substr(end + 2));
}

void check_merged(std::string_view input) {
  LineMerger merger;
  Written in;
  Written out;
  double now_s = 0;
  for (const auto line : lines_of(input)) {
    if (line.empty()) continue;
    const auto head = static_cast<unsigned char>(line[0]);
    const int rank = head % (ranks + 1) - 1;
    now_s += 0.02 * (head / (ranks + 1));
    const auto text = shown_line(line.substr(1));
    in[rank].push_back(text);
    merger.take(rank, rank < 0 ? "n" : "n" + std::to_string(rank / 4), text, now_s);
    for (const auto& merged : merger.ripe(now_s)) take_apart(merged, out);
  }
  for (const auto& merged : merger.rest()) take_apart(merged, out);
  must_hold(in == out, "each rank's lines come out once, in their order");
}

}  // namespace
}  // namespace dllaunch

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto text = text_of(data, size);
  std::string log;
  for (const auto line : lines_of(text)) {
    check_shown(line);
    if (!line.empty()) log.append(line.substr(1)).append("\n");
  }
  check_errors(log);
  check_merged(text);
  return 0;
}
