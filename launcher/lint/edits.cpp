#include <algorithm>
#include <array>

#include "launcher/lint/bash/programs.hpp"
#include "launcher/lint/rule.hpp"

namespace dllaunch::lint {
namespace {

/// The source range of a word without its quotes; empty if it is not one piece of the script.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::optional<Range> range_of(std::span<const Text> words, const GivenOption& option) {
  const Text& first = words[option.word];
  const Text& last = words[option.last_word];
  if (option.at != 0 || !first.is_verbatim() || !last.is_verbatim()) return std::nullopt;
  const Range range{first.source(0), last.source(last.bytes().size())};
  if (range.begin >= range.end || range.end - range.begin > 4096) return std::nullopt;
  return range;
}

std::size_t line_begin(std::string_view text, std::size_t at) {
  if (at == 0) return 0;
  const std::size_t newline = text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

/// The offset after the line's newline.
std::size_t line_end(std::string_view text, std::size_t at) {
  const std::size_t newline = text.find('\n', at);
  return newline == std::string_view::npos ? text.size() : newline + 1;
}

bool works(std::span<const Text> words) {
  static const std::array<std::string_view, 34> idle = {
      "apt-get", "apt",      "yum",   "dnf",      "pip",        "pip3",     "wget",
      "curl",    "git",      "ln",    "hostname", "nvidia-smi", "rocm-smi", "amd-smi",
      "env",     "printenv", "echo",  "mkdir",    "cp",         "rsync",    "rm",
      "tar",     "true",     "date",  "lstopo",   "lscpu",      "numactl",  "taskset",
      "cat",     "ls",       "sleep", "unzip",    "mv",         "nproc"};
  const std::size_t program = skip_wrappers(words, 0);
  if (program >= words.size()) return !words.empty();
  const std::string name = base_name(words[program]);
  // python -c "import torch; print(...)"
  if (is_python(name) && program + 1 < words.size()) return words[program + 1].bytes() != "-c";
  return std::ranges::find(idle, name) == idle.end();
}

/// The commands of the shell text or wrapper script that each rank runs; empty if the script shows
/// none.
std::span<const RanCommand> rank_commands(const Script& script, const Launch& launch) {
  if (launch.command->per_rank) return {};
  // The parser places them directly after the launch.
  const std::span<const RanCommand> all = script.run.commands;
  const auto behind = all.subspan(static_cast<std::size_t>(launch.command - all.data()) + 1);
  const auto end =
      std::ranges::find_if_not(behind, [](const RanCommand& command) { return command.per_rank; });
  return behind.first(static_cast<std::size_t>(end - behind.begin()));
}

}  // namespace

Finding& Report::add(std::size_t at, std::string message, std::string fix,
                     std::vector<Edit> edits) {
  findings.push_back({"", severity, at, std::move(message), std::move(fix), std::move(edits)});
  return findings.back();
}

std::size_t line_of(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  return 1 + static_cast<std::size_t>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

Edit add_directive(const Script& script, const std::string& option) {
  const std::size_t last = script.directives.lines.empty() ? 0 : script.directives.lines.back();
  const std::size_t at = line_end(script.text, last);
  const bool open = at > 0 && script.text[at - 1] != '\n';
  return {at, at, (open ? "\n#SBATCH " : "#SBATCH ") + option + "\n"};
}

Edit remove_directive(const Script& script, const GivenOption& option) {
  const auto& lines = script.directives.lines;
  const std::size_t line = lines[option.word];
  const auto on_line = static_cast<std::size_t>(std::ranges::count(lines, line));
  if (on_line == option.last_word - option.word + 1) {
    return {line, line_end(script.text, line), ""};
  }
  const auto range = range_of(script.directives.words, option);
  if (!range) return {line, line, ""};
  std::size_t begin = range->begin;
  while (begin > 0 && script.text[begin - 1] == ' ') --begin;
  return {begin, range->end, ""};
}

std::optional<Edit> replace_option(std::span<const Text> words, const GivenOption& option,
                                   const std::string& text) {
  const auto range = range_of(words, option);
  if (!range) return std::nullopt;
  return Edit{range->begin, range->end, text};
}

std::optional<Edit> add_step_option(const Launch& launch, const std::string& option) {
  const Text& program = launch.command->words[launch.begin];
  if (!program.is_verbatim()) return std::nullopt;
  const std::size_t at = program.source(program.bytes().size());
  return Edit{at, at, " " + option};
}

std::optional<Edit> remove_step_option(const Script& script, const Launch& launch,
                                       const GivenOption& option) {
  const auto range = range_of(launch.arguments, option);
  if (!range) return std::nullopt;
  std::size_t begin = range->begin;
  const std::size_t line = line_begin(script.text, begin);
  while (begin > line && (script.text[begin - 1] == ' ' || script.text[begin - 1] == '\t')) --begin;
  // A quote before or after the option would remain on its own.
  const bool open = begin == line || range->begin > begin;
  const bool closed =
      range->end >= script.text.size() ||
      std::string_view(" \t\n\\").find(script.text[range->end]) != std::string_view::npos;
  if (!open || !closed) return std::nullopt;
  return Edit{begin, range->end, ""};
}

bool does_work(const Script& script, const Launch& launch) {
  const auto commands = rank_commands(script, launch);
  if (commands.empty()) return works(launch.ranks);
  return std::ranges::any_of(commands,
                             [](const RanCommand& command) { return works(command.words); });
}

bool may_start_workers(const Script& script, const Launch& launch) {
  const auto commands = rank_commands(script, launch);
  const bool hidden = commands.empty() && hides_program(launch.ranks);
  return hidden || starts_workers(launch.ranks) ||
         std::ranges::any_of(commands, [](const RanCommand& command) {
           return starts_workers(command.words) || hides_program(command.words);
         });
}

}  // namespace dllaunch::lint
