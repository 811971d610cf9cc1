#include "launcher/cli/command_options.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <deque>

namespace dllaunch {

CommandOption* CommandOption::required() {
  option_->required();
  return this;
}

CommandOption* CommandOption::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}

CommandOption* CommandOption::group(const std::string& name) {
  option_->group(name);
  return this;
}

CommandOption* CommandOption::capture_default_str() {
  option_->capture_default_str();
  return this;
}

// No description: CLI11 would append it to the type's name.
CommandOption* CommandOption::range(int least, int most) {
  option_->check(CLI::Range(least, most).description(""));
  return this;
}

CommandOption* CommandOption::range(std::int64_t least, std::int64_t most) {
  option_->check(CLI::Range(least, most).description(""));
  return this;
}

CommandOption* CommandOption::range(double least, double most) {
  option_->check(CLI::Range(least, most).description(""));
  return this;
}

CommandOption* CommandOption::check(std::function<std::string(const std::string&)> complaint) {
  option_->check(std::move(complaint));
  return this;
}

CommandOption* CommandOption::needs(CommandOption* other) {
  option_->needs(other->option_);
  return this;
}

CommandOption* CommandOption::excludes(CommandOption* other) {
  option_->excludes(other->option_);
  return this;
}

CommandOption* CommandOption::excludes(const std::string& other) {
  option_->excludes(other);
  return this;
}

CommandOption* CommandOption::take_all() {
  option_->take_all();
  return this;
}

CommandOption* CommandOption::expected(int values) {
  option_->expected(values);
  return this;
}

CommandOption* CommandOption::value_if_missing(const std::string& value) {
  option_->expected(0, 1)->default_str(value);
  return this;
}

CommandOption* CommandOption::allow_extra_args(bool allowed) {
  option_->allow_extra_args(allowed);
  return this;
}

CommandOption* CommandOption::delimiter(char between) {
  option_->delimiter(between);
  return this;
}

struct CommandOptions::State {
  CLI::App app;
  std::deque<CommandOption> options;  // a deque: pointers to elements stay valid
};

CommandOptions::CommandOptions() : state_(std::make_unique<State>()) {}

CommandOptions::~CommandOptions() = default;

CommandOption* CommandOptions::keep(CLI::Option* option) {
  return &state_->options.emplace_back(option);
}

template <typename T>
CommandOption* CommandOptions::add(const std::string& names, T& target, const std::string& help) {
  return keep(state_->app.add_option(names, target, help));
}

CommandOption* CommandOptions::add_option(const std::string& names, std::string& target,
                                          const std::string& help) {
  return add(names, target, help);
}

CommandOption* CommandOptions::add_option(const std::string& names, int& target,
                                          const std::string& help) {
  return add(names, target, help);
}

CommandOption* CommandOptions::add_option(const std::string& names, std::size_t& target,
                                          const std::string& help) {
  return add(names, target, help);
}

CommandOption* CommandOptions::add_option(const std::string& names, double& target,
                                          const std::string& help) {
  return add(names, target, help);
}

CommandOption* CommandOptions::add_option(const std::string& names, std::optional<int>& target,
                                          const std::string& help) {
  return add(names, target, help);
}

CommandOption* CommandOptions::add_option(const std::string& names,
                                          std::optional<std::int64_t>& target,
                                          const std::string& help) {
  return add(names, target, help);
}

CommandOption* CommandOptions::add_option(const std::string& names, std::vector<int>& target,
                                          const std::string& help) {
  return add(names, target, help);
}

CommandOption* CommandOptions::add_option(const std::string& names,
                                          std::vector<std::string>& target,
                                          const std::string& help) {
  return add(names, target, help);
}

CommandOption* CommandOptions::add_option(const std::string& names,
                                          std::function<void(const std::string&)> take,
                                          const std::string& help) {
  return keep(state_->app.add_option_function<std::string>(names, std::move(take), help));
}

CommandOption* CommandOptions::add_flag(const std::string& names, bool& target,
                                        const std::string& help) {
  return keep(state_->app.add_flag(names, target, help));
}

CommandOption* CommandOptions::set_help_flag(const std::string& names, const std::string& help) {
  return keep(state_->app.set_help_flag(names, help));
}

CommandOptions::Outcome CommandOptions::parse(std::vector<std::string> args,
                                              UnknownArguments& unknown) {
  std::reverse(args.begin(), args.end());  // CLI11 expects reverse order
  try {
    state_->app.parse(args);
  } catch (const CLI::CallForHelp&) {
    return Outcome::help;
  } catch (const CLI::ParseError& error) {
    unknown = {.what = error.what(),
               .only_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr,
               .extra = state_->app.remaining()};
    return Outcome::unknown;
  }
  return Outcome::understood;
}

bool CommandOptions::has_given(const std::string& name) const {
  const CLI::Option* option = state_->app.get_option_no_throw(name);
  return option != nullptr && option->count() > 0;
}

std::vector<OptionText> CommandOptions::texts() const {
  std::vector<OptionText> texts;
  const CLI::App& app = state_->app;
  for (const CLI::Option* option : app.get_options()) {
    texts.push_back({.positional = option->get_positional() ? option->get_name(true) : "",
                     .required = option->get_required(),
                     .letters = option->get_snames(),
                     .names = option->get_lnames(),
                     .most_values = option->get_items_expected_max(),
                     .type_name = option->get_type_name(),
                     .description = option->get_description(),
                     .default_text = option->get_default_str(),
                     .group = option->get_group()});
  }
  return texts;
}

}  // namespace dllaunch
