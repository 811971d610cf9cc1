// Any text as one word of bash, or of an #SBATCH line: nothing in it is executed, nothing is lost.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace dllaunch {

/// One word of bash. Bare where bash would not touch it, else in single quotes; with control
/// characters as $'...', so that the script stays readable. The text holds no NUL.
std::string shell_quote(std::string_view word);

/// Words, quoted, with blanks between them.
std::string shell_join(std::span<const std::string> words);

/// How one word of a command is written, by its place in it.
using WordWriter = std::function<std::string(std::size_t at, const std::string& word)>;

/// A command over several lines joined by backslashes: argv[0], then each option (a word with a
/// dash, and the words up to the next one) on a line of its own, then all words from `command_at`
/// on.
std::string shell_lines(std::span<const std::string> argv, std::size_t command_at,
                        std::string_view indent, const WordWriter& write = {});

/// One argument on an #SBATCH line, which is not bash: sbatch splits it at blanks, ends it at '#',
/// and reads quotes and backslashes its own way (seen with Slurm 22.05; the test asks the sbatch
/// that is installed). The text holds no newline: a line ends there, whatever the quotes say.
std::string sbatch_quote(std::string_view argument);

/// A path in --output or --error, where Slurm replaces %j and its like. The path holds no
/// backslash: where Slurm sees one it replaces nothing at all.
std::string escape_file_pattern(std::string_view path);

}  // namespace dllaunch
