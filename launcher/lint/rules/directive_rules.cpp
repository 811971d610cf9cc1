// Rules for #SBATCH lines.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "launcher/base/utf8.hpp"
#include "launcher/lint/rule.hpp"

namespace dllaunch::lint {
namespace {

std::string_view line_at(std::string_view text, std::size_t begin) {
  return text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
}

/// Whether the offset is in a here-document or quoted text, where a line belongs to another script.
bool stands_in_text(const Node& node, std::size_t at) {
  const auto holds = [at](const auto& range) { return range.begin <= at && at < range.end; };
  if (std::any_of(node.documents.begin(), node.documents.end(), holds)) return true;
  if (std::any_of(node.words.begin(), node.words.end(), holds)) return true;
  if (std::any_of(node.assignments.begin(), node.assignments.end(), holds)) return true;
  return std::any_of(node.children.begin(), node.children.end(),
                     [at](const Node& child) { return stands_in_text(child, at); });
}

void check_late(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  const Directives& directives = script.directives;
  const std::size_t command_line = line_of(script.text, directives.first_command);
  for (const std::size_t at : directives.late) {
    const std::string line(line_at(script.text, at));
    const std::size_t next = std::min(at + line.size() + 1, script.text.size());
    std::vector<Edit> edits = {{directives.first_command, directives.first_command, line + "\n"},
                               {at, next, ""}};
    if (!script.is_shell || !script.tree.unclosed.empty()) edits.clear();
    if (report.full()) return;
    if (stands_in_text(script.tree.root, at)) continue;
    report.add(at,
               fmt::format("sbatch ignores this line: the script's first command, on line {}, ends "
                           "the directives",
                           command_line),
               "move it above the first command", std::move(edits));
  }
}

void check_mistyped(const Subject& subject, Report& report) {
  for (const std::size_t at : subject.script.directives.mistyped) {
    const std::string line(line_at(subject.script.text, at));
    const std::size_t dash = line.find('-');
    report.add(at,
               "for sbatch this is a comment: a directive begins with #SBATCH, in capitals, at "
               "the very beginning of the line",
               "write #SBATCH " + line.substr(dash, 80) + ", or ##SBATCH to put it aside");
    if (report.full()) return;
  }
}

void check_unknown(const Subject& subject, Report& report) {
  const Directives& directives = subject.script.directives;
  for (const OptionProblem& problem : directives.parsed.problems) {
    if (report.full()) return;
    if (problem.complaint != Complaint::unknown) continue;
    const std::size_t at = directives.words[problem.word].source(0);
    const std::string typed = problem.option;
    const bool srun_knows =
        typed.starts_with("--") && find_slurm_option(typed.substr(2), SlurmProgram::srun);
    if (srun_knows) {
      report.add(
          at,
          fmt::format("{} is an option of srun, not of sbatch, which refuses the script", typed),
          "move it to the srun line");
      continue;
    }
    const std::string nearest = nearest_slurm_option(typed, SlurmProgram::sbatch);
    std::vector<Edit> edits;
    const Text& word = directives.words[problem.word];
    if (!nearest.empty() && word.is_verbatim()) {
      edits.push_back({word.source(0), word.source(0) + typed.size(), nearest});
    }
    report.add(at, fmt::format("sbatch has no option {} and refuses the script", in_quotes(typed)),
               nearest.empty() ? "`sbatch --help` lists those it has" : "write " + nearest,
               std::move(edits));
  }
}

void check_ambiguous(const Subject& subject, Report& report) {
  const Directives& directives = subject.script.directives;
  for (const OptionProblem& problem : directives.parsed.problems) {
    if (problem.complaint != Complaint::ambiguous || report.full()) continue;
    report.add(directives.words[problem.word].source(0),
               fmt::format("several options of sbatch begin with {}: it refuses the script",
                           in_quotes(problem.option)),
               "write the option in full");
  }
}

/// Calls say(option, message) for options of the program that it refuses together.
template <typename Say>
void find_exclusive(const ParsedOptions& parsed, std::string_view program, const Say& say) {
  for (const ExclusiveOptions& pair : exclusive_options()) {
    const GivenOption* one = last_option(parsed, pair.one);
    const GivenOption* other = last_option(parsed, pair.other);
    if (one == nullptr || other == nullptr ||
        !excludes(pair, one->value.bytes(), other->value.bytes()))
      continue;
    const auto since =
        pair.since == oldest_slurm
            ? std::string(program)
            : fmt::format("{} from Slurm {}.{:02} on", program, pair.since / 100, pair.since % 100);
    Finding& finding = say(*std::max(one, other),
                           fmt::format("--{} and --{} are mutually exclusive: {} refuses them",
                                       pair.one, pair.other, since));
    // Most clusters still take what only the newest Slurm refuses.
    if (pair.since == newest_slurm) finding.severity = Severity::warning;
  }
}

void check_exclusive(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  const std::string fix = "keep the one you mean";
  find_exclusive(script.directives.parsed, "sbatch",
                 [&](const GivenOption& option, std::string message) -> Finding& {
                   return report.add(script.at(option), std::move(message), fix);
                 });
  for (const Launch& launch : script.launches) {
    if (report.full()) return;
    find_exclusive(launch.options, "srun",
                   [&](const GivenOption& option, std::string message) -> Finding& {
                     return report.add(launch.arguments[option.word].source(option.at),
                                       std::move(message), fix);
                   });
  }
}

void check_contradiction(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  const std::string what = contradiction_in(script.request);
  if (what.empty() || script.directives.het_job != 0) return;
  const auto& options = script.directives.parsed.options;
  const auto counts = std::ranges::find_if(options, [](const GivenOption& option) {
    return option.name.starts_with("gpus") || option.name == "gres" ||
           option.name == "ntasks-per-gpu" || option.name == "tres-per-task" ||
           option.name == "mem-per-gpu";
  });
  if (counts == options.end()) return;
  report.add(script.at(*counts), what + ": sbatch refuses the script", "correct one of them");
}

void check_duplicate(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  std::map<std::string, const GivenOption*> first;
  std::map<std::string, const GivenOption*> latest;
  for (const GivenOption& option : script.directives.parsed.options) latest[option.name] = &option;
  for (const GivenOption& option : script.directives.parsed.options) {
    if (option.name == "verbose" || option.name == "mail-type") continue;
    const auto [seen, fresh] = first.try_emplace(option.name, &option);
    if (fresh) continue;
    const GivenOption& last = *latest.at(option.name);
    if (report.full()) return;
    const bool same = seen->second->value.bytes() == last.value.bytes();
    std::vector<Edit> edits;
    edits.push_back(remove_directive(script, *seen->second));
    report.add(script.at(option),
               fmt::format("--{} is already on line {}: sbatch uses the last one, {}", option.name,
                           line_of(script.text, script.at(*seen->second)),
                           last.has_value ? in_quotes(last.value.bytes()) : "given here"),
               same ? "remove one of them" : "remove the one you do not mean", std::move(edits));
    seen->second = &option;
  }
}

void check_invalid(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  const Directives& directives = script.directives;
  for (const Directives::Fault& fault : directives.faults) {
    report.add(fault.at, fault.what + ": sbatch refuses the script",
               "correct the quotes or the colon");
  }
  for (const OptionProblem& problem : directives.parsed.problems) {
    const std::size_t at = directives.words[problem.word].source(0);
    if (problem.complaint == Complaint::lacks_value) {
      report.add(
          at, problem.option + " lacks its value: sbatch refuses the script",
          "write " + problem.option + (problem.option.starts_with("--") ? "=VALUE" : " VALUE"));
    } else if (problem.complaint == Complaint::takes_no_value) {
      report.add(at, problem.option + " takes no value: sbatch refuses the script",
                 "write " + problem.option);
    }
  }
  if (!directives.parsed.others.empty()) {
    const Text& word = directives.words[directives.parsed.others.front()];
    report.add(word.source(0),
               fmt::format("{} is not an option: sbatch rejects the script (\"Invalid directive\")",
                           in_quotes(word.bytes())),
               "write --OPTION=VALUE, and quotes around a value with blanks");
  }
  constexpr std::size_t most_options = 500;
  const auto& options = directives.parsed.options;
  for (const GivenOption& option :
       std::span(options).first(std::min(options.size(), most_options))) {
    const std::string& value = option.value.bytes();
    if (!option.has_value || value.find('$') != std::string::npos) continue;
    const std::string fault = fault_of_value(option.name, value);
    if (fault.empty()) continue;
    const bool equals = value.starts_with('=');
    report.add(script.at(option), fmt::format("--{}: {} {}", option.name, in_quotes(value), fault),
               equals ? "a short option takes its value without '='"
                      : "write a value that sbatch accepts");
  }
}

void check_variable(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  for (const GivenOption& option : script.directives.parsed.options) {
    if (report.full()) return;
    const std::string& value = option.value.bytes();
    const bool path = option.name == "output" || option.name == "error" || option.name == "chdir" ||
                      option.name == "input";
    const std::size_t dollar = value.find('$');
    const bool variable =
        dollar != std::string::npos && dollar + 1 < value.size() &&
        (std::isalpha(static_cast<unsigned char>(value[dollar + 1])) != 0 ||
         value[dollar + 1] == '{' || value[dollar + 1] == '(' || value[dollar + 1] == '_');
    const bool home = path && value.starts_with("~");
    if ((!variable && !home) || option.name == "comment" || option.name == "wrap") continue;
    const std::string pattern = value.find("JOB_ID") != std::string::npos     ? "%j"
                                : value.find("ARRAY") != std::string::npos    ? "%A_%a"
                                : value.find("JOB_NAME") != std::string::npos ? "%x"
                                                                              : "";
    const std::string instead =
        !pattern.empty()
            ? "Slurm's own pattern for this is " + pattern
            : fmt::format("write the value itself, or give it when you submit: sbatch --{}=...",
                          option.name);
    report.add(script.at(option),
               fmt::format("sbatch reads #SBATCH lines without a shell: {} in --{} stays as it is",
                           home ? "~" : in_quotes(value.substr(dollar)), option.name),
               instead);
  }
}

void check_time(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  const Directives& directives = script.directives;
  if (script.directive("time") != nullptr || directives.het_job != 0) return;
  if (!script.text.starts_with("#!")) return;
  const std::size_t at = directives.lines.empty() ? 0 : directives.lines.front();
  report.add(at,
             "no time limit: the job gets the partition's default, often its maximum, so it waits "
             "longer and nothing is saved before the end",
             "add #SBATCH --time=HH:MM:SS");
}

/// The folder in which Slurm would open the file; empty if patterns or variables decide.
std::string folder_of(std::string_view pattern) {
  const std::size_t slash = pattern.rfind('/');
  if (slash == std::string_view::npos) return "";
  const std::string_view folder = pattern.substr(0, slash);
  if (folder.empty() || folder.find_first_of("%$~\\") != std::string_view::npos) return "";
  return std::string(folder);
}

void check_folder(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  const auto& is_folder = subject.around.is_folder;
  if (!is_folder) return;
  const GivenOption* chdir = script.directive("chdir");
  const std::string root = chdir == nullptr ? "" : chdir->value.bytes() + "/";
  if (root.find_first_of("$~%") != std::string::npos) return;
  std::vector<std::string> told;
  for (const std::string_view name : {"output", "error", "chdir"}) {
    const GivenOption* option = script.directive(name);
    if (option == nullptr || !option->has_value) continue;
    const std::string folder =
        name == "chdir" ? option->value.bytes() : folder_of(option->value.bytes());
    if (folder.empty() || folder.find('$') != std::string::npos) continue;
    const bool absolute = folder.starts_with('/');
    const std::string path = absolute || name == "chdir" ? folder : root + folder;
    if (std::find(told.begin(), told.end(), path) != told.end() || is_folder(path)) continue;
    // Another machine's file system cannot be checked here.
    if (path.starts_with('/') && !is_folder("/" + path.substr(1, path.find('/', 1) - 1))) continue;
    told.push_back(path);
    report.add(script.at(*option),
               fmt::format("--{}: the folder {} does not exist, and Slurm does not create it: the "
                           "job dies at once and "
                           "leaves no log",
                           name, in_quotes(path)),
               "run mkdir -p " + path + " before sbatch (a mkdir in the script comes too late)");
  }
}

constexpr Rule directive_table[] = {
    {"directive-late", Severity::error, "`#SBATCH` after the first command: sbatch ignores it.",
     check_late},
    {"directive-mistyped", Severity::warning,
     "`# SBATCH`, `#sbatch`, an indented `#SBATCH`: a comment for sbatch.", check_mistyped},
    {"directive-unknown", Severity::error,
     "An option that sbatch does not have; names the nearest one.", check_unknown},
    {"directive-ambiguous", Severity::error, "An abbreviation of several options.",
     check_ambiguous},
    {"options-exclusive", Severity::error,
     "Two options that sbatch or srun refuses together, such as `--mem` and `--mem-per-cpu`. A "
     "warning if only Slurm 26.05 does.",
     check_exclusive},
    {"request-contradicts", Severity::error,
     "Numbers of GPUs, tasks and nodes that contradict each other: sbatch refuses.",
     check_contradiction},
    {"directive-duplicate", Severity::warning, "An option given twice: the last one counts.",
     check_duplicate},
    {"directive-invalid", Severity::error,
     "A value that sbatch refuses: not a number, not a time, an open quote, or no value.",
     check_invalid},
    {"directive-variable", Severity::error,
     "`$VARIABLE` or `~` in a directive: sbatch expands neither.", check_variable},
    {"no-time-limit", Severity::warning, "No `--time`.", check_time},
    {"output-folder", Severity::error,
     "The folder of `--output`, `--error` or `--chdir` does not exist: the job dies without a log.",
     check_folder},
};

}  // namespace

std::span<const Rule> directive_rules() {
  return directive_table;
}

}  // namespace dllaunch::lint
