// Rules for what sbatch and bash refuse, or read otherwise than it was meant.
#include <fmt/core.h>

#include <algorithm>

#include "launcher/lint/bash/programs.hpp"
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

template <typename Visit>
void visit_commands(const Node& node, const Visit& visit) {
  if (node.kind == NodeKind::command) visit(node);
  for (const Node& child : node.children) visit_commands(child, visit);
}

/// Where a backslash stands that was to join lines, with blanks between it and the line's end; npos
/// if the word does not end so.
std::size_t broken_join(std::string_view text, const Word& word) {
  if (word.end < word.begin + 2 || text[word.end - 2] != '\\') return std::string_view::npos;
  const char last = text[word.end - 1];
  const std::size_t rest = std::min(text.find_first_not_of(" \t", word.end), text.size());
  const bool ends = rest == text.size() || text[rest] == '\n';
  return (last == ' ' || last == '\t') && ends ? word.end - 2 : std::string_view::npos;
}

void check_continuation(const Subject& subject, Report& report) {
  const std::string_view text = subject.script.text;
  std::size_t told = 0;  // a command before it follows a backslash that is named
  visit_commands(subject.script.tree.root, [&](const Node& node) {
    if (node.words.empty() || report.full()) return;
    const std::size_t broken = broken_join(text, node.words.back());
    const std::size_t begin = node.words.front().begin;
    if (broken != std::string_view::npos) {
      const std::size_t end = std::min(text.find('\n', broken), text.size());
      report.add(broken,
                 "a blank follows the backslash: bash ends the command here, with a blank as its "
                 "last word, and takes the next line for another command",
                 "end the line with the backslash", {{broken + 1, end, ""}});
      told = std::min(text.find('\n', end + 1), text.size());
    } else if (begin >= told && text.substr(begin).starts_with("--")) {
      report.add(begin,
                 "the line begins with an option, and bash takes it for a command: the command "
                 "before it has ended",
                 "end the line before with a backslash, with no comment or empty line between");
    }
  });
}

bool names_conda(std::string_view program) {
  return program == "conda" || program == "mamba" || program == "micromamba";
}

/// Whether the command may define what `conda activate` needs: it reads a file, or evaluates text.
bool may_be_hook(const Node& node, std::string_view text) {
  const auto first =
      text.substr(node.words.front().begin, node.words.front().end - node.words.front().begin);
  return first == "source" || first == "." || first == "eval";
}

void check_conda(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  const std::string_view first = script.text.substr(0, script.text.find('\n'));
  bool hooked = first.find(" -l") != std::string_view::npos ||
                first.find(" -i") != std::string_view::npos ||
                first.find("--login") != std::string_view::npos;
  std::size_t hook = std::string_view::npos;
  visit_commands(script.tree.root, [&](const Node& node) {
    const bool may_be = !node.words.empty() && may_be_hook(node, script.text);
    if (may_be) hook = std::min(hook, node.begin);
  });
  for (const RanCommand& command : script.run.commands) {
    if (command.words.size() < 2 || hooked || command.begin > hook) continue;
    const std::string name = base_name(command.words[0]);
    if (!names_conda(name) || command.words[1].bytes() != "activate") continue;
    report.add(command.begin,
               fmt::format("`{0} activate` is a function that a batch script does not have: {0} "
                           "refuses, and the environment is not active",
                           name),
               fmt::format("write eval \"$({})\" before it",
                           name == "micromamba" ? "micromamba shell hook --shell bash"
                                                : "conda shell.bash hook"));
    hooked = true;
  }
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
    {"broken-continuation", Severity::error,
     "A blank behind the backslash at a line's end, or a line that begins with an option.",
     check_continuation},
    {"conda-activate", Severity::warning, "`conda activate` without the hook that defines it.",
     check_conda},
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
