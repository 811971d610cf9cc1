// Prints the help of a command, a topic, or a man page.
#include <fmt/format.h>

#include <memory>
#include <variant>

#include "launcher/base/nearest_name.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_help.hpp"
#include "launcher/cli/command_line.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/guide/topics.hpp"
#include "launcher/cli/man_page.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view help_examples =
    R"(  dllaunch help                    commands and topics
  dllaunch help run                one command
  dllaunch help binding            a topic
  dllaunch help run --man | man -l -
)";

struct HelpArguments {
  std::string word;
  bool man = false;
};

std::string render_topics() {
  std::vector<HelpRow> rows;
  for (const Topic& topic : topics())
    rows.push_back({std::string(topic.name), std::string(topic.summary)});
  return "Topics, with `dllaunch help TOPIC`:\n" + render_rows(rows);
}

Error unknown_word(const std::string& word) {
  std::vector<std::string> known;
  for (const Topic& topic : topics()) known.emplace_back(topic.name);
  const std::string all = fmt::format("{}", fmt::join(known, ", "));
  for (const CommandGroup& group : command_groups())
    for (const Command* command : group.commands) known.emplace_back(command->name);
  const auto near = nearest_name(word, known);
  return {ErrorKind::bad_request,
          fmt::format("no command or topic '{}'{}", word,
                      near ? fmt::format("; did you mean '{}'?", *near) : ""),
          "a command of `dllaunch --help`, or one of: " + all};
}

/// The table of variables and exit codes ends the page of the program itself.
std::string program_man_page() {
  std::string text = render_man_page(command_groups());
  for (const Topic& topic : topics()) text += man_section(topic.name, topic.text());
  return text;
}

Result<std::string> text_of(const HelpArguments& options) {
  if (options.word.empty())
    return options.man ? program_man_page()
                       : render_help(command_groups()) + "\n" + render_topics();
  if (const Command* command = find_command(command_groups(), options.word)) {
    const CommandHelp described = help_of(*command, options_of(command));
    return options.man ? render_man_page(*command, described)
                       : render_command_help(*command, described);
  }
  for (const Topic& topic : topics()) {
    if (topic.name == options.word) return topic.text();
  }
  return unknown_word(options.word);
}

CommandBody declare_help(CommandOptions& app) {
  auto options = std::make_shared<HelpArguments>();
  app.add_option("WORD", options->word, "a command or a topic");
  app.add_flag("--man", options->man, "as a man page: of WORD, or of dllaunch");
  return [options](System& system) -> Result<int> {
    auto text = text_of(*options);
    if (!text) return std::move(text).error();
    system.print(*text);
    return exit_code::success;
  };
}

}  // namespace

extern const Command help_command;
const Command help_command{"help", "explain a command or a topic", help_examples, declare_help,
                           /*pages=*/true};

}  // namespace dllaunch
