#include "launcher/cli/completion.hpp"

#include <algorithm>
#include <map>

#include "launcher/base/split.hpp"
#include "launcher/cli/command_line.hpp"
#include "launcher/cli/command_options.hpp"

namespace dllaunch {
namespace {

/// Arguments that name files, as the help shows their types. Those of a job file or a topology may
/// be something else too.
const std::map<std::string_view, WantedFiles> file_types = {
    {"JOB.yaml", WantedFiles::all}, {"SCRIPT.sbatch", WantedFiles::all},
    {"FILE", WantedFiles::all},     {"PATH", WantedFiles::all},
    {"SOURCE", WantedFiles::all},   {"X", WantedFiles::all},
    {"CMD", WantedFiles::all},      {"START", WantedFiles::all},
    {"DIR", WantedFiles::folders},  {"FOLDER", WantedFiles::folders},
    {"RUN", WantedFiles::folders}};

void keep_matching(std::vector<Candidate>& candidates, std::string_view word) {
  std::erase_if(candidates,
                [word](const Candidate& candidate) { return !candidate.word.starts_with(word); });
}

/// Whether a type lists the words themselves: "auto|always|never". Others are in capitals.
bool is_choice(std::string_view type) {
  return !type.empty() && type[0] >= 'a' && type[0] <= 'z';
}

/// The type of a positional is its name, unless it lists words.
std::string type_of(const OptionText& option) {
  return option.positional.empty() || is_choice(option.type_name) ? option.type_name
                                                                  : option.positional;
}

Completion values(const std::string& type, const std::string& word, const ValuesOf& values_of) {
  Completion found;
  if (is_choice(type)) {
    for (const std::string_view choice : split_at(type, '|'))
      found.candidates.push_back({.word = std::string(choice)});
  } else {
    found.candidates = values_of(type, word);
  }
  keep_matching(found.candidates, word);
  const auto files = file_types.find(type);
  if (files != file_types.end() && found.candidates.empty()) found.files = files->second;
  return found;
}

std::vector<Candidate> option_names(const std::vector<OptionText>& options) {
  std::vector<Candidate> names;
  for (const OptionText& option : options) {
    if (option.group.empty()) continue;  // hidden
    for (const std::string& name : option.names) names.push_back({"--" + name, option.description});
    if (option.names.empty() && !option.letters.empty())
      names.push_back({"-" + option.letters.front(), option.description});
  }
  return names;
}

/// The option called "--set" or "-f"; nullptr: none.
const OptionText* find_option(const std::vector<OptionText>& options, std::string_view word) {
  for (const OptionText& option : options) {
    for (const std::string& name : option.names)
      if (word == "--" + name) return &option;
    for (const std::string& letter : option.letters)
      if (word == "-" + letter) return &option;
  }
  return nullptr;
}

/// What the words before the one being typed leave open.
struct Open {
  const OptionText* option = nullptr;  // its value comes next
  std::size_t positionals = 0;         // so many were given
  bool options_over = false;           // after --
};

Open walk(const std::vector<OptionText>& options, std::span<const std::string> words) {
  Open open;
  for (const std::string& word : words) {
    if (open.option != nullptr) {
      open.option = nullptr;
    } else if (!open.options_over && word == "--") {
      open.options_over = true;
    } else if (!open.options_over && word.size() > 1 && word[0] == '-') {
      const OptionText* option = find_option(options, word);
      if (option != nullptr && option->most_values > 0) open.option = option;
    } else {
      ++open.positionals;
    }
  }
  return open;
}

Completion complete_argument(const std::vector<OptionText>& options,
                             std::span<const std::string> before, const std::string& word,
                             const ValuesOf& values_of) {
  const Open open = walk(options, before);
  if (open.option != nullptr) return values(type_of(*open.option), word, values_of);
  if (!open.options_over && word.starts_with('-')) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (equals == std::string::npos) {
      Completion found{.candidates = option_names(options)};
      keep_matching(found.candidates, word);
      return found;
    }
    const OptionText* option = find_option(options, name);
    if (option == nullptr || option->most_values == 0) return {};
    Completion found = values(type_of(*option), word.substr(equals + 1), values_of);
    for (Candidate& candidate : found.candidates) candidate.word.insert(0, name + "=");
    return found;
  }
  std::size_t at = open.positionals;
  for (const OptionText& option : options) {
    if (option.positional.empty() || option.group.empty()) continue;
    if (at == 0 || option.most_values > 1) return values(type_of(option), word, values_of);
    --at;
  }
  return {};
}

/// Commands, and job files: `dllaunch JOB.yaml` runs one.
Completion complete_command(std::span<const CommandGroup> known, const std::string& word,
                            const ValuesOf& values_of) {
  if (word.starts_with('-')) return complete_argument(options_of(nullptr), {}, word, values_of);
  Completion found = values("JOB.yaml", word, values_of);
  std::vector<Candidate> commands;
  for (const CommandGroup& group : known) {
    for (const Command* command : group.commands)
      commands.push_back({std::string(command->name), std::string(command->summary)});
  }
  keep_matching(commands, word);
  if (!commands.empty()) found.files = WantedFiles::none;
  found.candidates.insert(found.candidates.begin(), commands.begin(), commands.end());
  return found;
}

}  // namespace

Completion complete(std::span<const CommandGroup> known, const std::vector<std::string>& words,
                    const ValuesOf& values_of) {
  if (words.empty()) return {};
  const std::span before(words.begin(), words.end() - 1);
  const std::size_t at = position_of_command(before);
  const auto leading = options_of(nullptr);
  if (at == before.size() && walk(leading, before).option != nullptr)
    return complete_argument(leading, before, words.back(), values_of);
  if (at == before.size()) return complete_command(known, words.back(), values_of);
  const Command* command = find_command(known, words[at]);
  // As the command line is read: any other word is a job file.
  const std::size_t begin = command == nullptr ? at : at + 1;
  if (command == nullptr) command = find_command(known, "run");
  if (command == nullptr) return {};
  return complete_argument(options_of(command), before.subspan(begin), words.back(), values_of);
}

std::string render_completion(const Completion& completion) {
  std::string text;
  for (const Candidate& candidate : completion.candidates) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
    // A line of its own would be another candidate.
    if (std::ranges::any_of(candidate.word, is_control)) continue;
    text += candidate.word;
    if (!candidate.what.empty()) text += "\t" + candidate.what;
    text += "\n";
  }
  if (completion.files == WantedFiles::all) text += ":files\n";
  if (completion.files == WantedFiles::folders) text += ":folders\n";
  return text;
}

}  // namespace dllaunch
