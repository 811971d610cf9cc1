#include "launcher/lint/script.hpp"

#include <algorithm>

#include "launcher/lint/bash/programs.hpp"

namespace dllaunch::lint {
namespace {

bool runs_in_a_shell(std::string_view text) {
  if (!text.starts_with("#!")) return true;  // sbatch refuses it; read it as the intended shell
  const std::string_view line = text.substr(2, text.find('\n') - 2);
  std::vector<Text> words;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", i), line.size());
    if (end > i) words.emplace_back(line.substr(i, end - i), i);
    i = end + 1;
  }
  const std::size_t program = skip_wrappers(words, 0);
  return program < words.size() && is_shell(base_name(words[program]));
}

std::vector<OptionGiven> given_in(const ParsedOptions& parsed) {
  std::vector<OptionGiven> given;
  for (const GivenOption& option : parsed.options)
    given.push_back({option.name, option.value.bytes(), option.has_value});
  return given;
}

void collect_launches(Script& script) {
  for (const RanCommand& command : script.run.commands) {
    const std::size_t begin = skip_wrappers(command.words, 0);
    if (begin >= command.words.size()) continue;
    Launch launch;
    launch.program = base_name(command.words[begin]);
    if (!is_launcher(launch.program)) continue;
    launch.command = &command;
    launch.begin = begin;
    launch.arguments.assign(command.words.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                            command.words.end());
    if (launch.program == "srun") {
      launch.options = parse_slurm_options(launch.arguments, SlurmProgram::srun);
      launch.options.complete = launch.options.complete && launch.options.problems.empty();
      launch.ranks.assign(
          launch.arguments.begin() + static_cast<std::ptrdiff_t>(launch.options.program),
          launch.arguments.end());
    }
    script.launches.push_back(std::move(launch));
  }
}

}  // namespace

Script read_script(std::string_view text) {
  Script script;
  script.text = text;
  script.is_shell = runs_in_a_shell(text);
  script.directives = read_directives(text);
  script.request = job_request(given_in(script.directives.parsed));
  if (script.directives.het_job != 0 && script.directive("nodes") == nullptr)
    script.request.nodes = -1;
  if (!script.is_shell) return script;
  script.tree = read_shell(text);
  script.run = run_shell(script.tree, text);
  collect_launches(script);
  return script;
}

SlurmRequest step_request(const Script& script, const Launch& launch) {
  const bool several = script.directives.het_job != 0;  // which component runs it is not known
  return dllaunch::step_request(several ? SlurmRequest{} : script.request, given_in(launch.options),
                                launch.options.complete);
}

}  // namespace dllaunch::lint
