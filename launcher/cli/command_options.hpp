// The options of a command. Hides CLI11, which costs 5 CPU s in every file that includes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): the library's own name
namespace CLI {
class Option;
}

namespace dllaunch {

/// An option; each call configures it further.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  CommandOption* required();
  CommandOption* type_name(const std::string& name);  // follows its name in the help
  CommandOption* group(const std::string& name);      // in the help; "": hidden
  CommandOption* capture_default_str();               // the help shows its current value
  CommandOption* range(int least, int most);
  CommandOption* range(std::int64_t least, std::int64_t most);
  CommandOption* range(double least, double most);
  /// `complaint` returns what is wrong with a value, or "".
  CommandOption* check(std::function<std::string(const std::string&)> complaint);
  CommandOption* needs(CommandOption* other);
  CommandOption* excludes(CommandOption* other);
  CommandOption* excludes(const std::string& other);
  /// Repeated options accumulate their values.
  CommandOption* take_all();
  CommandOption* expected(int values);
  CommandOption* value_if_missing(const std::string& value);  // the option without a value
  CommandOption* allow_extra_args(bool allowed);
  CommandOption* delimiter(char between);

 private:
  CLI::Option* option_;
};

/// An option as the help shows it.
struct OptionText {
  std::string positional;  // its name, if it has no dashes
  bool required = false;
  std::vector<std::string> letters;  // "f" of -f
  std::vector<std::string> names;    // "follow" of --follow
  int most_values = 0;               // number of arguments it takes
  std::string type_name;
  std::string description;
  std::string default_text;
  std::string group;
};

/// Why the arguments were rejected.
struct UnknownArguments {
  std::string what;
  bool only_extra = false;         // the only problem is surplus arguments
  std::vector<std::string> extra;  // the surplus arguments
};

class CommandOptions {
 public:
  CommandOptions();
  ~CommandOptions();
  CommandOptions(const CommandOptions&) = delete;
  CommandOptions& operator=(const CommandOptions&) = delete;

  /// `names`: "-f,--follow", or "RUN" for a positional. The target must outlive parsing.
  CommandOption* add_option(const std::string& names, std::string& target,
                            const std::string& help = "");
  CommandOption* add_option(const std::string& names, int& target, const std::string& help = "");
  CommandOption* add_option(const std::string& names, std::size_t& target,
                            const std::string& help = "");
  CommandOption* add_option(const std::string& names, double& target, const std::string& help = "");
  CommandOption* add_option(const std::string& names, std::optional<int>& target,
                            const std::string& help = "");
  CommandOption* add_option(const std::string& names, std::optional<std::int64_t>& target,
                            const std::string& help = "");
  CommandOption* add_option(const std::string& names, std::vector<int>& target,
                            const std::string& help = "");
  CommandOption* add_option(const std::string& names, std::vector<std::string>& target,
                            const std::string& help = "");
  /// `take` gets the value, after the targets of options declared before have theirs.
  CommandOption* add_option(const std::string& names, std::function<void(const std::string&)> take,
                            const std::string& help = "");
  CommandOption* add_flag(const std::string& names, bool& target, const std::string& help = "");
  /// The options that print help.
  CommandOption* set_help_flag(const std::string& names, const std::string& help);

  enum class Outcome { understood, help, unknown };
  Outcome parse(std::vector<std::string> args, UnknownArguments& unknown);
  bool has_given(const std::string& name) const;
  std::vector<OptionText> texts() const;

 private:
  template <typename T>
  CommandOption* add(const std::string& names, T& target, const std::string& help);
  CommandOption* keep(CLI::Option* option);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dllaunch
