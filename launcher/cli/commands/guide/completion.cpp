// Prints a completion script for a shell, and answers the questions of these scripts.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/guide/completion_scripts.hpp"
#include "launcher/cli/commands/guide/explained_ids.hpp"
#include "launcher/cli/commands/guide/topics.hpp"
#include "launcher/cli/completion.hpp"
#include "launcher/cluster/cluster_catalog.hpp"
#include "launcher/job/job_schema.hpp"
#include "launcher/monitor/find_run.hpp"
#include "launcher/preflight/check.hpp"
#include "launcher/run/run_index.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using Candidates = std::vector<Candidate>;

constexpr std::string_view completion_examples =
    R"(  source <(dllaunch completion bash)     in ~/.bashrc
  source <(dllaunch completion zsh)      in ~/.zshrc, after compinit
  dllaunch completion fish | source      in ~/.config/fish/config.fish
)";

struct Shell {
  std::string_view name;
  std::string_view (*script)();
};

constexpr Shell shells[] = {
    {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};

/// Names of jobs, which mean their newest runs; whole names too once something is typed.
Candidates runs(System& system, std::string_view word) {
  Candidates names;
  Candidates whole;
  std::set<std::string> seen;
  constexpr std::size_t most = 200;  // each costs two looks at a file system, perhaps a shared one
  for (const std::string& path : known_runs(system, most)) {
    const std::string folder = fs::path(path).filename().string();
    const std::string name(name_in_run(folder));
    if (seen.insert(name).second) names.push_back({name, "newest: " + folder});
    if (!word.empty() && folder != name) whole.push_back({folder, ""});
  }
  names.insert(names.end(), whole.begin(), whole.end());
  return names;
}

Candidates cluster_names(System& system) {
  Candidates found;
  for (const ProfileText& profile : profile_texts(system))
    found.push_back({profile.name, "cluster profile"});
  return found;
}

/// YAML files in the folder that was typed.
Candidates job_files(std::string_view word) {
  Candidates found;
  const std::string folder(word.substr(0, word.rfind('/') + 1));
  std::error_code error;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string extension = at->path().extension().string();
    if (extension == ".yaml" || extension == ".yml")
      found.push_back({folder + at->path().filename().string(), "job file"});
  }
  std::ranges::sort(found, {}, &Candidate::word);
  return found;
}

/// The words that a schema lists, or those of its alternatives.
std::vector<std::string> choices_of(const Json& schema) {
  std::vector<std::string> words;
  if (schema.value("type", Json()) == "boolean") words = {"true", "false"};
  for (const Json& choice : schema.value("enum", Json::array()))
    if (choice.is_string()) words.push_back(choice.get<std::string>());
  for (const Json& alternative : schema.value("anyOf", Json::array()))
    for (const std::string& choice : choices_of(alternative)) words.push_back(choice);
  return words;
}

/// One level of keys at a time: "train." for a block, "train.epochs=" for a key, then its words.
Candidates job_keys(std::string_view word) {
  const std::size_t equals = word.find('=');
  const Json* block = &job_schema();
  std::string path;
  for (std::size_t dot = word.find('.'); dot < equals; dot = word.find('.', path.size())) {
    block = block->at_path({"properties", word.substr(path.size(), dot - path.size())});
    if (block == nullptr) return {};
    path = word.substr(0, dot + 1);
  }
  const Json* keys = block->at_path({"properties"});
  if (keys == nullptr) return {};
  Candidates found;
  for (const auto& [name, schema] : keys->items()) {
    const std::string key = path + name;
    if (equals == std::string_view::npos) {
      const bool is_block = schema.contains("properties");
      found.push_back({key + (is_block ? "." : "="), schema.value("description", "")});
    } else if (word.substr(0, equals) == key) {
      for (const std::string& choice : choices_of(schema))
        found.push_back({fmt::format("{}={}", key, choice), ""});
    }
  }
  return found;
}

Candidates words_of_key(std::initializer_list<std::string_view> path) {
  Candidates found;
  if (const Json* schema = job_schema().at_path(path))
    for (const std::string& choice : choices_of(*schema)) found.push_back({choice, ""});
  return found;
}

Candidates values_of(System& system, std::string_view type, std::string_view word) {
  if (type == "RUN") return runs(system, word);
  if (type == "X" || type == "CLUSTER") return cluster_names(system);
  if (type == "JOB.yaml") return job_files(word);
  if (type == "KEY.PATH=VALUE") {
    constexpr std::string_view key = "cluster=";
    if (!word.starts_with(key)) return job_keys(word);
    Candidates found = cluster_names(system);
    for (Candidate& cluster : found) cluster.word.insert(0, key);
    return found;
  }
  if (type == "COMMUNICATOR")
    return words_of_key({"properties", "runtime", "properties", "allreduce"});
  if (type == "FRAMEWORK") return words_of_key({"properties", "framework"});
  Candidates found;
  if (type == "CHECK") {
    for (const PreflightCheck* check : preflight_checks())
      found.push_back({std::string(check->name), std::string(check->about)});
  }
  if (type == "ID") {
    for (const ExplainedId& one : explained_ids()) found.push_back({one.id, one.meaning});
  }
  if (type == "WORD") {
    for (const CommandGroup& group : command_groups())
      for (const Command* command : group.commands)
        found.push_back({std::string(command->name), std::string(command->summary)});
    for (const Topic& topic : topics())
      found.push_back({std::string(topic.name), std::string(topic.summary)});
  }
  return found;
}

struct CompletionArguments {
  std::string shell;
  std::vector<std::string> words;
  bool candidates = false;
};

Result<int> print_completion(System& system, const CompletionArguments& options) {
  if (options.candidates) {
    std::vector<std::string> words = {options.shell};
    words.insert(words.end(), options.words.begin(), options.words.end());
    const auto found =
        complete(command_groups(), words, [&system](std::string_view type, std::string_view word) {
          return values_of(system, type, word);
        });
    system.print(render_completion(found));
    return exit_code::success;
  }
  const auto shell = std::ranges::find(shells, options.shell, &Shell::name);
  if (shell == std::end(shells) || !options.words.empty())
    return Error{ErrorKind::bad_request, fmt::format("no completion for shell '{}'", options.shell),
                 "dllaunch completion bash, zsh or fish"};
  system.print(shell->script());
  return exit_code::success;
}

CommandBody declare_completion(CommandOptions& app) {
  auto options = std::make_shared<CompletionArguments>();
  app.add_option("SHELL", options->shell, "bash, zsh or fish")
      ->type_name("bash|zsh|fish")
      ->required();
  // How the scripts ask: the words after `dllaunch`, up to the one being typed.
  app.add_flag("--candidates", options->candidates)->group("");
  app.add_option("WORDS", options->words)->group("");
  return [options](System& system) { return print_completion(system, *options); };
}

}  // namespace

extern const Command completion_command;
const Command completion_command{"completion", "print a shell's completion script",
                                 completion_examples, declare_completion};

}  // namespace dllaunch
