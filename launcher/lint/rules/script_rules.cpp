// Rules for what sbatch and bash refuse before anything runs.
#include <fmt/core.h>

#include <algorithm>

#include "launcher/lint/rule.hpp"

namespace dllaunch::lint {
namespace {

void check_interpreter(const Subject& subject, Report& report) {
  const std::string_view text = subject.script.text;
  if (text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos) {
    report.add(0, "the script is empty: sbatch refuses it",
               "begin it with #!/bin/bash and the #SBATCH lines");
    return;
  }
  if (text.starts_with("#!")) return;
  report.add(0, "the first line is not a #! line: sbatch refuses the script",
             "write #!/bin/bash as the first line", {{0, 0, "#!/bin/bash\n"}});
}

void check_nul(const Subject& subject, Report& report) {
  // lint() has replaced NUL with \x01.
  const std::size_t at = subject.script.text.find('\x01');
  if (at == std::string_view::npos) return;
  report.add(at,
             "the script contains a control character (NUL or 0x01): Slurm rejects NULs, and "
             "this does not look like text",
             "submit the script, not a program or an archive");
}

void check_line_ends(const Subject& subject, Report& report) {
  const std::string_view text = subject.script.text;
  const std::size_t first = text.find("\r\n");
  if (first == std::string_view::npos) return;
  std::vector<Edit> edits;
  std::size_t count = 0;
  for (std::size_t at = first; at != std::string_view::npos; at = text.find("\r\n", at + 1)) {
    ++count;
    edits.push_back({at, at + 1, ""});
  }
  constexpr std::size_t most_edits = 2000;
  if (edits.size() > most_edits) edits.clear();
  report.add(first,
             fmt::format("{} line{} end{} as DOS lines do (\\r\\n): sbatch refuses the script",
                         count, count == 1 ? "" : "s", count == 1 ? "s" : ""),
             "run dos2unix on it, or sed -i 's/\\r$//'", std::move(edits));
}

void check_unclosed(const Subject& subject, Report& report) {
  const auto& unclosed = subject.script.tree.unclosed;
  if (unclosed.empty()) return;
  // The first one causes those after it.
  const auto first =
      std::min_element(unclosed.begin(), unclosed.end(),
                       [](const Unclosed& a, const Unclosed& b) { return a.at < b.at; });
  const bool document = first->what == "here-document";
  report.add(first->at,
             document ? "the delimiter of this here-document is never alone on a line: the rest "
                        "of the script is text, not commands"
                      : fmt::format("this {} is never closed: bash reads no further", first->what),
             document ? "write the delimiter alone on a line, with nothing before or behind it"
                      : "close it; `bash -n` shows where bash stops");
}

void check_unread(const Subject& subject, Report& report) {
  const ShellTree& tree = subject.script.tree;
  if (tree.unread.empty()) return;
  report.add(
      tree.unread_from,
      fmt::format("the script is {}: from here on its commands are not checked", tree.unread),
      "move what it generates or embeds into files of its own");
}

constexpr Rule script_table[] = {
    {"not-a-script", Severity::error, "The script is empty or has no `#!` line: sbatch refuses it.",
     check_interpreter},
    {"control-character", Severity::error, "A NUL or 0x01 character: the file is not text.",
     check_nul},
    {"dos-line-ends", Severity::error, "Lines end in `\\r\\n`: sbatch refuses the script.",
     check_line_ends},
    {"unclosed", Severity::error,
     "An unterminated quote, `$(`, `if` or here-document: bash stops there.", check_unclosed},
    {"not-read", Severity::warning,
     "The script is longer than 512 KiB, or nested deeper than 50 levels: its commands are not "
     "checked.",
     check_unread},
};

}  // namespace

std::span<const Rule> script_rules() {
  return script_table;
}

}  // namespace dllaunch::lint
