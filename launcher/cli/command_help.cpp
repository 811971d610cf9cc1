#include "launcher/cli/command_help.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "launcher/cli/command_line.hpp"
#include "launcher/cli/command_options.hpp"

namespace dllaunch {
namespace {

using Row = std::pair<std::string, std::string>;  // "--set KEY=VALUE", "what it does"

/// Descriptions in one column; a name that is too wide gets its own line.
std::string render_rows(const std::vector<Row>& rows) {
  constexpr std::size_t widest = 30;
  std::size_t width = 0;
  for (const auto& [name, what] : rows) {
    if (name.size() <= widest) width = std::max(width, name.size());
  }
  std::string text;
  for (const auto& [name, what] : rows) {
    if (what.empty()) {
      text += fmt::format("  {}\n", name);
    } else if (name.size() > width) {
      text += fmt::format("  {}\n  {:{}}  {}\n", name, "", width, what);
    } else {
      text += fmt::format("  {:{}}  {}\n", name, width, what);
    }
  }
  return text;
}

Row row_of(const OptionText& option) {
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

/// Commands for scripts, listed on one line.
constexpr std::string_view for_scripts = "Inside a job";

std::string names_of(const CommandGroup& group) {
  std::vector<std::string_view> names;
  for (const Command* command : group.commands) names.push_back(command->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string usage(const Command& command, const std::vector<OptionText>& options) {
  std::string text = fmt::format("dllaunch {}", command.name);
  for (const OptionText& option : options) {
    if (option.positional.empty()) continue;
    const std::string name = option.positional + (option.most_values > 1 ? "..." : "");
    text += option.required ? " " + name : " [" + name + "]";
  }
  return text + " [OPTIONS]";
}

}  // namespace

std::string render_command_help(const Command& command, const CommandOptions& known) {
  const std::vector<OptionText> options = known.texts();
  std::vector<Row> own;
  std::vector<Row> global;
  for (const OptionText& option : options) {
    if (option.group.empty()) continue;  // hidden
    (option.group == global_group ? global : own).push_back(row_of(option));
  }

  std::string text = fmt::format("{}: {}\n", usage(command, options), command.summary);
  if (!command.examples.empty()) {
    text += fmt::format("\nExamples:\n{}", command.examples);
    if (!command.examples.ends_with('\n')) text += '\n';
  }
  if (!own.empty()) text += "\nOptions:\n" + render_rows(own);
  return text + fmt::format("\n{}:\n", global_group) + render_rows(global);
}

std::string render_help(std::span<const CommandGroup> known) {
  std::string text =
      R"(dllaunch: one YAML file becomes a bound, running multi-GPU training job

Examples:
  dllaunch train.yaml                          run it: on Slurm if there is one, else here
  dllaunch plan train.yaml                     each rank's CPUs and GPU; submits nothing
)";
  for (const CommandGroup& group : known) {
    if (group.title == for_scripts) {
      text += fmt::format("\n{}: {}\n", group.title, names_of(group));
      continue;
    }
    std::vector<Row> rows;
    for (const Command* command : group.commands) {
      rows.emplace_back(fmt::format("{:<10}", command->name), command->summary);
    }
    text += fmt::format("\n{}:\n", group.title) + render_rows(rows);
  }
  text += fmt::format("\n{}, before or after the command:\n", global_group);
  text += render_rows({{"    --color auto|always|never", "colour in the output [auto]"},
                       {"-v, --verbose", "more messages"},
                       {"-q, --quiet", "errors only"},
                       {"-h, --help", "this text; after a command: its options"},
                       {"    --version", "the version of this build"}});
  return text;
}

}  // namespace dllaunch
