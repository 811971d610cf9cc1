#include "launcher/cli/command_line.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <span>

#include "launcher/base/nearest_name.hpp"
#include "launcher/base/version.hpp"
#include "launcher/cli/command_help.hpp"
#include "launcher/cli/command_options.hpp"

namespace dllaunch {
namespace {

const std::map<std::string, ColorChoice> color_words = {{"auto", ColorChoice::automatic},
                                                        {"always", ColorChoice::always},
                                                        {"never", ColorChoice::never}};

/// Options of every command.
struct GlobalOptions {
  std::string color = "auto";
  bool verbose = false;
  bool quiet = false;
};

void declare_globals(CommandOptions& app, GlobalOptions& options) {
  app.add_option("--color", options.color, "colour; auto: on a terminal")
      ->capture_default_str()
      ->type_name("auto|always|never")
      ->check([](const std::string& word) {
        return color_words.contains(word) ? "" : "'" + word + "' is not auto, always or never";
      })
      ->group(global_group);
  auto* verbose =
      app.add_flag("-v,--verbose", options.verbose, "more messages")->group(global_group);
  app.add_flag("-q,--quiet", options.quiet, "errors only")->excludes(verbose)->group(global_group);
  app.set_help_flag("-h,--help", "this text")->group(global_group);
}

void declare_version(CommandOptions& app, bool& asked) {
  app.add_flag("-V,--version", asked, "the version of this build")->group(global_group);
}

using Commands = std::span<const CommandGroup>;

std::vector<std::string> command_names(Commands known) {
  std::vector<std::string> names;
  for (const CommandGroup& group : known) {
    for (const Command* command : group.commands) names.emplace_back(command->name);
  }
  return names;
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// What people type who know another tool, and the command for it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 18> other_words = {{
    {"attach", "dllaunch logs -f RUN"},
    {"check", "dllaunch plan --check JOB.yaml"},
    {"convert", "dllaunch init --from JOB.sbatch"},
    {"history", "dllaunch ps"},
    {"kill", "dllaunch cancel RUN"},
    {"launch", "dllaunch run JOB.yaml"},
    {"list", "dllaunch ps"},
    {"ls", "dllaunch ps"},
    {"resume", "dllaunch run RUN"},
    {"show", "dllaunch status RUN"},
    {"start", "dllaunch run JOB.yaml"},
    {"stop", "dllaunch cancel RUN"},
    {"submit", "dllaunch run JOB.yaml"},
    {"tail", "dllaunch logs -f RUN"},
    {"top", "dllaunch status --watch RUN"},
    {"version", "dllaunch --version"},
    {"wait", "dllaunch status --watch RUN"},
    {"watch", "dllaunch status --watch RUN"},
}};

Error unknown_word(Commands known, const std::string& word) {
  const bool like_a_file = word.find_first_of("./") != std::string::npos;
  if (like_a_file) {
    return {ErrorKind::bad_request, "no such file: '" + word + "'",
            "give the path of a job file, or one of: " + join(command_names(known))};
  }
  std::string what = "unknown command '" + word + "'";
  const auto* const other =
      std::ranges::find(other_words, word, &decltype(other_words)::value_type::first);
  if (other != other_words.end())
    return {ErrorKind::bad_request, what, "use " + std::string(other->second)};
  const auto names = command_names(known);
  if (const auto near = nearest_name(word, names)) what += "; did you mean '" + *near + "'?";
  return {ErrorKind::bad_request, what, "one of: " + join(names) + "; or the name of a job file"};
}

Error unexpected_word(const std::string& word, const CommandOptions& app) {
  if (!word.starts_with('-')) {
    return {ErrorKind::bad_request, "unexpected argument '" + word + "'", ""};
  }
  std::vector<std::string> known;
  for (const OptionText& option : app.texts()) {
    for (const std::string& name : option.names) known.push_back("--" + name);
  }
  const std::string name = word.substr(0, word.find('='));
  std::string what = "unknown option '" + name + "'";
  if (const auto near = nearest_name(name, known)) what += "; did you mean '" + *near + "'?";
  return {ErrorKind::bad_request, what, ""};
}

/// The message without its initial capital; CLI11's messages may also begin with RUN or JOB.yaml.
std::string as_fact(std::string text) {
  const auto is_small = [](char c) { return std::islower(static_cast<unsigned char>(c)) != 0; };
  if (text.size() > 1 && is_small(text[1]) && is_small(text.back())) {
    text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  }
  return text;
}

Result<Parsed> parse_command(const Command& command, std::vector<std::string> args) {
  Invocation invocation;
  invocation.command = &command;
  invocation.options = std::make_shared<CommandOptions>();
  GlobalOptions globals;
  CommandOptions& app = *invocation.options;
  invocation.body = command.declare(app);
  declare_globals(app, globals);

  UnknownArguments unknown;
  const auto outcome = app.parse(std::move(args), unknown);
  if (outcome == CommandOptions::Outcome::help)
    return Parsed{Answer{render_command_help(command, help_of(command, app.texts()))}};
  if (outcome == CommandOptions::Outcome::unknown) {
    Error failure = unknown.only_extra && !unknown.extra.empty()
                        ? unexpected_word(unknown.extra.front(), app)
                        : Error{ErrorKind::bad_request, as_fact(unknown.what), ""};
    failure.hint = "dllaunch " + std::string(command.name) + " --help";
    return std::move(failure).within(command.name);
  }
  invocation.prints_a_file = command.name == "script" || app.has_given("--fix");
  invocation.color = color_words.at(globals.color);
  invocation.verbosity = globals.quiet ? -1 : globals.verbose ? 1 : 0;
  return Parsed{std::move(invocation)};
}

/// Parses the options before the command; returns an answer if they request one.
Result<std::optional<Answer>> parse_leading(Commands known, std::vector<std::string> args) {
  CommandOptions app;
  GlobalOptions globals;
  bool version_asked = false;
  declare_globals(app, globals);
  declare_version(app, version_asked);
  UnknownArguments unknown;
  const auto outcome = app.parse(std::move(args), unknown);
  if (outcome == CommandOptions::Outcome::help) return std::optional(Answer{render_help(known)});
  if (outcome == CommandOptions::Outcome::unknown) {
    Error failure = unknown.extra.empty() ? Error{ErrorKind::bad_request, as_fact(unknown.what), ""}
                                          : unexpected_word(unknown.extra.front(), app);
    failure.hint = "dllaunch --help";
    return failure;
  }
  if (!version_asked) return std::optional<Answer>();
  return std::optional(Answer{"dllaunch " + std::string(version()) + "\n"});
}

}  // namespace

std::size_t position_of_command(std::span<const std::string> args) {
  std::size_t at = 0;
  while (at < args.size() && args[at].starts_with('-')) at += args[at] == "--color" ? 2 : 1;
  return std::min(at, args.size());
}

const Command* find_command(Commands known, std::string_view name) {
  for (const CommandGroup& group : known) {
    for (const Command* command : group.commands) {
      if (command->name == name) return command;
    }
  }
  return nullptr;
}

std::vector<OptionText> options_of(const Command* command) {
  CommandOptions app;
  GlobalOptions globals;
  bool version_asked = false;
  CommandBody body;  // owns what the command's options write to
  if (command != nullptr) body = command->declare(app);
  declare_globals(app, globals);
  if (command == nullptr) declare_version(app, version_asked);
  return app.texts();
}

Result<Parsed> parse_command_line(Commands known, const std::vector<std::string>& args,
                                  const std::function<bool(const std::string&)>& exists) {
  const std::size_t at = position_of_command(args);
  const auto leading_end = args.begin() + static_cast<std::ptrdiff_t>(at);
  std::vector<std::string> rest(args.begin(), leading_end);
  auto answer = parse_leading(known, rest);
  if (!answer) return std::move(answer).error();
  if (*answer) return Parsed{**std::move(answer)};
  if (at == args.size()) {
    return Error{ErrorKind::bad_request, "nothing to do: no command and no job file",
                 "dllaunch --help"};
  }

  const Command* command = find_command(known, args[at]);
  if (command == nullptr) {
    command = exists(args[at]) ? find_command(known, "run") : nullptr;
    if (command == nullptr) return unknown_word(known, args[at]);
    rest.push_back(args[at]);
  }
  rest.insert(rest.end(), leading_end + 1, args.end());
  return parse_command(*command, std::move(rest));
}

int exit_code_of(ErrorKind kind) {
  return kind == ErrorKind::bad_request ? exit_code::bad_request : exit_code::environment;
}

}  // namespace dllaunch
