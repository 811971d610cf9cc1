#include "launcher/cli/command_help.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "launcher/base/split.hpp"
#include "launcher/base/wrapped_lines.hpp"
#include "launcher/cli/command_line.hpp"
#include "launcher/cli/command_options.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t help_columns = 80;

std::string without_end(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

HelpRow row_of(const OptionText& option) {
  std::string name = option.positional;
  if (name.empty()) {
    for (const std::string& letter : option.letters) name += "-" + letter + ", ";
    if (name.empty()) name = "    ";  // align long names
    for (const std::string& long_name : option.names) name += "--" + long_name + ", ";
    name.resize(name.size() - 2);
    if (option.most_values > 0) name += " " + option.type_name;
  }
  std::string what = option.description;
  if (!option.default_text.empty()) what += fmt::format(" [{}]", option.default_text);
  return {name, what};
}

/// Each line is a command, optionally two blanks and what it does. More of that may follow on lines
/// that begin far to the right.
std::vector<HelpRow> example_rows(std::string_view text) {
  constexpr std::size_t far_right = 8;
  std::vector<HelpRow> rows;
  for (std::string_view line : split_lines(text)) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) continue;
    if (begin >= far_right && !rows.empty()) {
      rows.back().what.append(" ").append(line.substr(begin));
      continue;
    }
    line.remove_prefix(std::min<std::size_t>(begin, 2));
    const std::size_t gap = line.find("  ", line.find_first_not_of(' '));
    if (gap == std::string_view::npos) {
      rows.push_back({std::string(line), ""});
    } else {
      const std::size_t what = line.find_first_not_of(' ', gap);
      rows.push_back({std::string(line.substr(0, gap)), std::string(line.substr(what))});
    }
  }
  return rows;
}

/// Groups of commands that few people type, listed on one line each.
constexpr std::string_view on_one_line[] = {"Experiments, hangs, nodes", "Inside a job",
                                            "Set-up and help"};

std::string names_of(const CommandGroup& group) {
  std::vector<std::string_view> names;
  for (const Command* command : group.commands) names.push_back(command->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string usage(const Command& command, const std::vector<OptionText>& options) {
  std::string text = fmt::format("dllaunch {}", command.name);
  for (const OptionText& option : options) {
    if (option.positional.empty() || option.group.empty()) continue;
    const std::string name = option.positional + (option.most_values > 1 ? "..." : "");
    text += option.required ? " " + name : " [" + name + "]";
  }
  return text + " [OPTIONS]";
}

/// The first line, continued behind four blanks.
std::string render_title(const std::string& text) {
  return fmt::format("{}\n", fmt::join(wrapped_lines(text, help_columns), "\n    "));
}

}  // namespace

std::string render_rows(const std::vector<HelpRow>& rows, std::size_t widest) {
  std::size_t width = 0;
  for (const auto& [name, what] : rows) {
    if (name.size() <= widest && !what.empty()) width = std::max(width, name.size());
  }
  std::string text;
  for (const auto& [name, what] : rows) {
    auto lines = wrapped_lines(what, help_columns - width - 4);
    if (lines.empty() || name.size() > width) lines.insert(lines.begin(), "");
    text += fmt::format("{}\n", without_end(fmt::format("  {:{}}  {}", name, width, lines[0])));
    for (std::size_t i = 1; i < lines.size(); ++i)
      text += fmt::format("  {:{}}  {}\n", "", width, lines[i]);
  }
  return text;
}

CommandHelp help_of(const Command& command, const std::vector<OptionText>& options) {
  CommandHelp help{.usage = usage(command, options), .examples = example_rows(command.examples)};
  for (const OptionText& option : options) {
    if (option.group.empty()) continue;  // hidden
    (option.group == global_group ? help.everywhere : help.options).push_back(row_of(option));
  }
  return help;
}

std::string render_command_help(const Command& command, const CommandHelp& help) {
  constexpr std::size_t widest_example = 46;
  std::string text = render_title(fmt::format("{}: {}", help.usage, command.summary));
  if (!help.examples.empty()) text += "\nExamples:\n" + render_rows(help.examples, widest_example);
  if (!help.options.empty()) text += "\nOptions:\n" + render_rows(help.options);
  return text + fmt::format("\n{}:\n", global_group) + render_rows(help.everywhere);
}

std::string render_help(std::span<const CommandGroup> known) {
  std::string text =
      R"(dllaunch: one YAML file becomes a bound, running multi-GPU training job

Examples:
  dllaunch train.yaml       run it: on Slurm if there is one, else here
  dllaunch plan train.yaml  each rank's CPUs and GPU; submits nothing
)";
  std::string short_groups;
  for (const CommandGroup& group : known) {
    if (std::ranges::find(on_one_line, group.title) != std::end(on_one_line)) {
      short_groups += fmt::format("{}: {}\n", group.title, names_of(group));
      continue;
    }
    std::vector<HelpRow> rows;
    for (const Command* command : group.commands) {
      rows.push_back({fmt::format("{:<10}", command->name), std::string(command->summary)});
    }
    text += fmt::format("\n{}:\n", group.title) + render_rows(rows);
  }
  text += "\n" + short_groups;
  text += fmt::format("\n{}, before or after the command:\n", global_group);
  text += render_rows({{"    --color auto|always|never", "colour in the output [auto]"},
                       {"-v, --verbose, -q, --quiet", "more messages; errors only"},
                       {"-h, --help, -V, --version", "this text, or a command's; the version"}});
  return text;
}

}  // namespace dllaunch
