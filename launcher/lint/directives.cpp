#include <algorithm>
#include <cctype>

#include "launcher/base/nearest_name.hpp"
#include "launcher/base/shell_quote.hpp"
#include "launcher/lint/script.hpp"

namespace dllaunch::lint {
namespace {

constexpr std::string_view magic = "#SBATCH";

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

/// Whether the words after `sbatch` in a comment are a command line: they name a script, or
/// continue on the next line.
bool is_command_line(std::string_view words) {
  std::vector<Text> options;
  for (std::size_t i = 0; i < words.size();) {
    if (is_space(words[i])) {
      ++i;
      continue;
    }
    if (words[i] == '#') break;
    const std::size_t end = std::min(words.find_first_of(" \t\r", i), words.size());
    options.emplace_back(words.substr(i, end - i), i);
    i = end;
  }
  return !parse_slurm_options(options, SlurmProgram::sbatch).others.empty();
}

/// Whether a line was meant as #SBATCH but is a comment to sbatch. "##SBATCH" disables a directive
/// on purpose.
bool is_mistyped(std::string_view line) {
  std::size_t i = 0;
  while (i < line.size() && (line[i] == ' ' || line[i] == '\t')) ++i;
  const bool indented = i > 0;
  if (i >= line.size() || line[i] != '#') return false;
  ++i;
  const bool apart = i < line.size() && (line[i] == ' ' || line[i] == '\t');
  while (i < line.size() && (line[i] == ' ' || line[i] == '\t')) ++i;
  const std::size_t begin = i;
  std::string word;
  while (i < line.size() && std::isalpha(static_cast<unsigned char>(line[i])) != 0) {
    word += static_cast<char>(std::toupper(static_cast<unsigned char>(line[i])));
    ++i;
  }
  const bool program = line.substr(begin, i - begin) == "sbatch";
  while (i < line.size() && (line[i] == ' ' || line[i] == '\t')) ++i;
  const bool option = i + 1 < line.size() && line[i] == '-' && line[i + 1] != ' ';
  if (!option || (program && is_command_line(line.substr(i)))) return false;
  if (word == "SBATCH") return indented || apart || !line.starts_with(magic);
  static const std::vector<std::string> meant = {"SBATCH"};
  return !apart && nearest_name(word, meant).has_value();
}

/// Splits a line as sbatch does: at blanks; '#' ends it.
class DirectiveLine {
 public:
  DirectiveLine(std::string_view text, std::size_t begin, std::size_t end, Directives& into)
      : text_(text), line_(begin), pos_(begin + magic.size()), end_(end), into_(into) {}

  void read() {
    for (;;) {
      while (pos_ < end_ && is_space(text_[pos_])) ++pos_;
      if (pos_ >= end_ || text_[pos_] == '#') return;
      if (text_[pos_] == ':') {
        into_.faults.push_back({pos_, "sbatch stops at a ':' between two options"});
        return;
      }
      Text word = read_word();
      if (word.empty()) return;  // sbatch ends the line here
      into_.words.push_back(std::move(word));
      into_.lines.push_back(line_);
    }
  }

 private:
  Text read_word() {
    const auto read = read_directive_word(text_.substr(0, end_), pos_);
    Text word("", pos_);
    for (const std::size_t at : read.at) word.add(text_.substr(at, 1), at);
    if (read.open_quote != std::string_view::npos)
      into_.faults.push_back(
          {read.open_quote, std::string("the quote ") + text_[read.open_quote] + " has no end"});
    pos_ = read.end;
    return word;
  }

  std::string_view text_;
  std::size_t line_;
  std::size_t pos_;
  std::size_t end_;
  Directives& into_;
};

bool is_command(std::string_view line) {
  const auto first = std::ranges::find_if(line, [](char c) { return !is_space(c); });
  return first != line.end() && *first != '#';
}

}  // namespace

Directives read_directives(std::string_view text) {
  Directives directives;
  directives.first_command = std::string_view::npos;
  bool first_line = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const bool open = directives.first_command == std::string_view::npos;
    if (line.starts_with(magic)) {
      if (!open) {
        directives.late.push_back(begin);
      } else if (directives.het_job == 0) {
        DirectiveLine(text, begin, end, directives).read();
      }
      const bool another = open && !directives.words.empty() &&
                           (directives.words.back().bytes() == "hetjob" ||
                            directives.words.back().bytes() == "packjob");
      if (another && directives.het_job == 0) {
        directives.het_job = begin;
        directives.words.pop_back();
        directives.lines.pop_back();
      }
    } else if (open && !first_line && is_mistyped(line)) {
      directives.mistyped.push_back(begin);
    } else if (open && is_command(line)) {
      directives.first_command = begin;
    }
    first_line = false;
    begin = end + 1;
  }
  directives.parsed = parse_slurm_options(directives.words, SlurmProgram::sbatch);
  return directives;
}

}  // namespace dllaunch::lint
