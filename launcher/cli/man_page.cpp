#include "launcher/cli/man_page.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>
#include <vector>

#include "launcher/base/exit_code.hpp"
#include "launcher/base/split.hpp"
#include "launcher/base/version.hpp"
#include "launcher/base/wrapped_lines.hpp"

namespace dllaunch {
namespace {

/// When the texts last changed in meaning. Not the day of the build: its output is reproducible.
constexpr std::string_view text_date = "2026-11-24";

constexpr std::pair<char, std::string_view> escapes[] = {
    {'\\', "\\e"}, {'-', "\\-"}, {'`', "\\(ga"}, {'~', "\\(ti"}, {'^', "\\(ha"}};

/// A line that begins with a full stop or an apostrophe would be a request.
std::string escaped(std::string_view line) {
  std::string text;
  if (line.starts_with('.') || line.starts_with('\'')) text += "\\&";
  for (const char letter : line) {
    const auto escape =
        std::ranges::find(escapes, letter, &std::pair<char, std::string_view>::first);
    if (escape == std::end(escapes))
      text += letter;
    else
      text += escape->second;
  }
  return text;
}

std::string upper(std::string_view text) {
  std::string upper(text);
  for (char& letter : upper)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return upper;
}

std::string paragraph(std::string_view text) {
  constexpr std::size_t width = 66;  // escapes add to it
  std::string lines;
  for (const std::string& line : wrapped_lines(text, width)) lines += escaped(line) + "\n";
  return lines;
}

/// "-o, --output FILE": names in bold, what they take in italics.
std::string option_name(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
  if (!name.starts_with('-')) return fmt::format("\\fI{}\\fR", escaped(name));
  const std::size_t blank = name.find(' ', std::min(name.rfind("--"), name.size()));
  std::string names = fmt::format("\\fB{}\\fR", escaped(name.substr(0, blank)));
  if (blank == std::string_view::npos) return names;
  return fmt::format("{} \\fI{}\\fR", names, escaped(name.substr(blank + 1)));
}

std::string options_section(std::string_view title, const std::vector<HelpRow>& rows) {
  if (rows.empty()) return "";
  std::string text = fmt::format(".SH {}\n", title);
  for (const auto& [name, what] : rows)
    text += fmt::format(".TP\n{}\n{}", option_name(name), paragraph(what));
  return text;
}

std::string examples_section(const std::vector<HelpRow>& rows) {
  if (rows.empty()) return "";
  std::string text = ".SH EXAMPLES\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || !rows[i - 1].name.ends_with('\\')) text += i == 0 ? ".nf\n" : ".PP\n.nf\n";
    text += escaped(rows[i].name) + "\n";
    if (rows[i].name.ends_with('\\')) continue;
    text += ".fi\n";
    if (!rows[i].what.empty()) text += ".RS 4\n" + paragraph(rows[i].what) + ".RE\n";
  }
  return text;
}

std::string head(std::string_view name, std::string_view summary) {
  return fmt::format(".TH {} 1 \"{}\" \"dllaunch {}\"\n.SH NAME\n{} \\- {}\n", upper(escaped(name)),
                     text_date, version(), escaped(name), escaped(summary));
}

std::string exit_codes_section() {
  std::string text = ".SH EXIT STATUS\n";
  for (const Explanation& code : exit_codes())
    text += fmt::format(".TP\n{}\n{}", escaped(code.id), paragraph(code.meaning));
  return text;
}

}  // namespace

std::string man_section(std::string_view title, std::string_view text) {
  std::string section = fmt::format(".SH {}\n.nf\n", escaped(upper(title)));
  for (const std::string_view line : split_lines(text)) section += escaped(line) + "\n";
  return section + ".fi\n";
}

std::string render_man_page(const Command& command, const CommandHelp& help) {
  const std::string name = fmt::format("dllaunch-{}", command.name);
  std::string text = head(name, command.summary);
  text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR\n", escaped(help.usage));
  text += examples_section(help.examples) + options_section("OPTIONS", help.options);
  text += options_section("OPTIONS OF EVERY COMMAND", help.everywhere) + exit_codes_section();
  return text + ".SH SEE ALSO\n\\fBdllaunch\\fR(1)\n";
}

std::string render_man_page(std::span<const CommandGroup> known) {
  std::string text = head("dllaunch", "turn one YAML file into a bound, running multi-GPU job");
  text +=
      ".SH SYNOPSIS\n\\fBdllaunch\\fR \\fIJOB.yaml\\fR [\\fIOPTIONS\\fR]\n.br\n"
      "\\fBdllaunch\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n";
  text += paragraph(
      "dllaunch reads a job file, computes the CPUs and GPU of each rank, writes and submits the "
      "batch script, and follows the run. Without Slurm it starts the ranks on this machine.");
  for (const CommandGroup& group : known) {
    text += fmt::format(".SS {}\n", escaped(group.title));
    for (const Command* command : group.commands)
      text += fmt::format(".TP\n\\fBdllaunch\\-{}\\fR(1)\n{}", escaped(command->name),
                          paragraph(command->summary));
  }
  return text;
}

}  // namespace dllaunch
