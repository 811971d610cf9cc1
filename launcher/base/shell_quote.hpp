// Quotes any text as one word of bash, or of an #SBATCH line.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// One word of bash: bare if bash would leave it alone, else in single quotes; with control
/// characters as $'...', which keeps the script readable. The text holds no NUL.
std::string shell_quote(std::string_view word);

/// Quoted arguments, joined by blanks.
std::string shell_join(std::span<const std::string> argv);

/// Writes one word of a command, given its position.
using WordWriter = std::function<std::string(std::size_t at, const std::string& word)>;

/// A command over several lines joined by backslashes: argv[0], then each option (a word with a
/// dash, and the words up to the next one) on its own line, then all words from `command_at` on.
std::string shell_lines(std::span<const std::string> argv, std::size_t command_at,
                        std::string_view indent, const WordWriter& write = {});

/// One argument on an #SBATCH line, which is not bash: sbatch splits it at blanks, ends it at '#',
/// and has its own rules for quotes and backslashes (Slurm 22.05; the test asks the installed
/// sbatch). The text holds no newline: a newline ends the line even inside quotes.
std::string sbatch_quote(std::string_view argument);

/// A path for --output or --error, where Slurm replaces %j and the like. The path holds no
/// backslash: Slurm replaces nothing in a path that has one.
std::string escape_file_pattern(std::string_view path);

/// A word of an #SBATCH line, as sbatch reads it.
struct DirectiveWord {
  std::string bytes = {};
  std::vector<std::size_t> at = {};                 // where each byte stands in the line
  std::size_t end = 0;                              // after it
  std::size_t open_quote = std::string_view::npos;  // where a quote begins that has no end
};

/// A blank or '#' ends the word, unless it is quoted. A backslash escapes any character, even in
/// quotes, except a blank outside them.
DirectiveWord read_directive_word(std::string_view line, std::size_t begin);

}  // namespace dllaunch
