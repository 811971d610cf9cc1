#include "launcher/init/sbatch_body.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/init/leading_environment.hpp"
#include "launcher/init/meeting_lines.hpp"
#include "launcher/init/mpirun_words.hpp"
#include "launcher/init/script_words.hpp"
#include "launcher/job/rank_launcher.hpp"
#include "launcher/lint/bash/programs.hpp"
#include "launcher/lint/rule.hpp"
#include "launcher/slurm/slurm_options.hpp"

namespace dllaunch {
namespace {

using lint::Launch;
using lint::Node;
using lint::NodeKind;
using lint::Part;
using lint::PartKind;
using lint::Word;

std::string_view written(const lint::Script& script, std::size_t begin, std::size_t end) {
  return script.text.substr(begin, end - begin);
}

/// All assignments to a name, wherever in the tree.
void assignments_to(const Node& node, std::string_view name,
                    std::vector<const lint::Assignment*>& found) {
  for (const auto& assignment : node.assignments)
    if (assignment.name == name) found.push_back(&assignment);
  for (const Node& child : node.children) assignments_to(child, name, found);
}

/// What a variable holds that is a whole word of srun's: ${AUTO_RESUME}, "${ARGS[@]}"; empty if the
/// word is something else, or no value in the script begins like an option.
std::vector<const lint::Assignment*> options_in(const lint::Script& script, const Word& word) {
  const Part* variable = nullptr;
  for (const Part& part : word.parts) {
    if (part.kind == PartKind::text && part.text.empty()) continue;  // the opening quote
    if (variable != nullptr || part.kind != PartKind::variable) return {};
    variable = &part;
  }
  std::vector<const lint::Assignment*> found;
  if (variable != nullptr) assignments_to(script.tree.root, variable->text, found);
  const auto is_option = [](const lint::Assignment* assignment) {
    const auto& all = assignment->elements;
    const Word& first = assignment->array && !all.empty() ? all.front() : assignment->value;
    return bytes_of(first).starts_with('-');
  };
  if (std::ranges::none_of(found, is_option)) found.clear();
  return found;
}

/// Whether nothing decides if the script makes the assignment.
bool is_made_for_sure(const lint::Script& script, const lint::Assignment* assignment) {
  return std::ranges::any_of(script.tree.root.children, [assignment](const Node& node) {
    return node.kind == NodeKind::command &&
           std::ranges::any_of(node.assignments, [assignment](const lint::Assignment& made) {
             return &made == assignment;
           });
  });
}

/// srun's words: its options up to the command of the ranks.
struct StepWords {
  std::vector<std::string> options = {};    // as parsed by read_slurm_options()
  std::vector<const Word*> variables = {};  // words that hold options
  std::size_t program = 0;                  // index of the ranks' first word
};

StepWords split_step(const lint::Script& script, std::span<const Word> words, std::size_t begin) {
  StepWords step{.program = begin};
  while (step.program < words.size()) {
    const Word& word = words[step.program];
    if (const auto held = options_in(script, word); !held.empty()) {
      const bool certain = held.size() == 1 && held[0]->array && is_made_for_sure(script, held[0]);
      if (!certain) step.variables.push_back(&word);
      if (certain)
        for (const Word& element : held[0]->elements) step.options.push_back(bytes_of(element));
      ++step.program;
      continue;
    }
    const std::string bytes = bytes_of(word);
    if (bytes.empty() || bytes[0] != '-') break;
    const std::array<std::string_view, 2> pair = {
        bytes, step.program + 1 < words.size() ? std::string_view("value") : std::string_view()};
    const auto read = read_slurm_options(pair, SlurmProgram::srun);
    const bool takes_next =
        read.program == 2 || (!read.options.empty() && read.options.back().last_word == 1);
    step.options.push_back(bytes);
    ++step.program;
    if (bytes == "--") break;
    if (takes_next && step.program < words.size())
      step.options.push_back(bytes_of(words[step.program++]));
  }
  return step;
}

/// Options of srun that dllaunch decides, or that mean nothing in its step.
bool is_ours(std::string_view option) {
  constexpr std::array<std::string_view, 9> ours = {
      "label",      "jobid",      "cpu-bind", "kill-on-bad-exit", "wait", "export",
      "unbuffered", "accel-bind", "exact"};
  const auto* known = find_slurm_option(option, SlurmProgram::srun);
  const bool counted = known != nullptr && (known->in_job_file == InJobFile::counted ||
                                            known->in_job_file == InJobFile::dropped);
  return counted || option == "time" || std::ranges::find(ours, option) != ours.end();
}

class BodyReader {
 public:
  explicit BodyReader(const lint::Script& script) : script_(script) {
    body_.request = script.request;
    if (script.tree.root.kind == NodeKind::sequence)
      for (const Node& child : script.tree.root.children) top_.push_back(&child);
    else
      top_.push_back(&script.tree.root);
  }

  ConvertedBody read() {
    if (!script_.is_shell) refuse("its first line does not name a shell");
    if (!script_.tree.unclosed.empty())
      refuse(fmt::format("line {}: {} has no end", line(script_.tree.unclosed[0].at),
                         script_.tree.unclosed[0].what));
    if (top_.empty() || script_.run.commands.empty()) refuse("it has no command");
    if (!body_.reasons.empty()) return std::move(body_);
    auto steps = steps_of([this](const Launch& launch) {
      return launch.program == "srun" && lint::does_work(script_, launch);
    });
    if (steps.empty()) {
      steps = steps_of([](const Launch& launch) { return launch.program == "srun"; });
      if (!steps.empty() && top_of(*steps.back()) != top_.back())
        refuse(fmt::format("line {}: the last srun only looks around, and commands follow it",
                           line(steps.back()->command->begin)));
    }
    if (!body_.reasons.empty()) return std::move(body_);
    const auto others = steps_of([](const Launch& launch) {
      return lint::is_mpirun(launch.program) || launch.program == "horovodrun";
    });
    const auto& starts = steps.empty() ? others : steps;
    if (!starts.empty()) {
      if (check_alone(starts)) take_step(*starts.back());
    } else if (const Node* launcher = only_launcher()) {
      body_.runs_once = script_.request.nodes > 1;
      take_command(*launcher, *straight(launcher), 0);
    } else {
      whole_script();
    }
    return std::move(body_);
  }

 private:
  std::size_t line(std::size_t at) const { return lint::line_of(script_.text, at); }
  void refuse(std::string why) { body_.reasons.push_back(std::move(why)); }
  void drop(std::size_t at, const std::string& what) {
    body_.dropped.push_back(fmt::format("line {}: {}", line(at), what));
  }

  /// The launches of the batch script itself.
  template <typename Wanted>
  std::vector<const Launch*> steps_of(const Wanted& wanted) const {
    std::vector<const Launch*> steps;
    for (const Launch& launch : script_.launches)
      if (!launch.command->per_rank && wanted(launch)) steps.push_back(&launch);
    return steps;
  }

  /// The one command that is torchrun or the like, if it starts the ranks of all nodes.
  const Node* only_launcher() const {
    const Node* found = nullptr;
    bool lists_hosts = false;
    for (const Node* node : top_) {
      const auto launcher = straight(node) == nullptr
                                ? std::nullopt
                                : rank_launcher_in(written(script_, node->begin, node->end));
      if (!launcher) continue;
      if (found != nullptr) return nullptr;
      found = node;
      lists_hosts = launcher->lists_hosts;
    }
    return script_.request.nodes == 1 || lists_hosts ? found : nullptr;
  }

  const Node* top_of(const Launch& launch) const {
    for (const Node* node : top_)
      if (node->begin <= launch.command->begin && launch.command->begin < node->end) return node;
    return nullptr;
  }

  /// The srun itself, if nothing decides whether and how often it runs.
  const Node* straight(const Node* node) const {
    while (node != nullptr && node->kind != NodeKind::command) {
      // `srun ... || exit 1` runs it; after `srun ... && next` the next command is part of the job.
      const bool first = node->kind == NodeKind::pipeline ||
                         (node->kind == NodeKind::and_or &&
                          std::ranges::find(node->joints, "&&") == node->joints.end());
      node = first && !node->children.empty() ? &node->children.front() : nullptr;
    }
    return node;
  }

  bool check_alone(const std::vector<const Launch*>& steps) {
    for (const Launch* step : steps) {
      const bool apart = step->command->background && steps.size() > 1;
      if (straight(top_of(*step)) != nullptr && !apart) continue;
      refuse(fmt::format("line {}: {}", line(step->command->begin),
                         apart ? "several steps run at the same time, and a job file has one"
                               : step->program + " stands in a loop, a condition or a function"));
      return false;
    }
    return true;
  }

  /// The first line after the directives.
  std::size_t first_line() const {
    const auto& text = script_.text;
    const std::size_t at = std::min(script_.directives.first_command, text.size());
    return at;
  }

  std::string lines_between(std::size_t begin, std::size_t end) const {
    return trimmed(std::string(written(script_, begin, end)));
  }

  static std::string trimmed(std::string text) {
    text.erase(0, text.find_first_not_of(";\n"));
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == ';'))
      text.pop_back();
    return text;
  }

  void take_step(const Launch& launch) {
    const Node* top = top_of(launch);
    const Node* command = straight(top);
    const auto words = std::span(command->words);
    const auto at = static_cast<std::size_t>(
        std::ranges::find_if(words,
                             [&launch](const Word& word) {
                               const std::string bytes = bytes_of(word);
                               return bytes == launch.program ||
                                      bytes.ends_with("/" + launch.program);
                             }) -
        words.begin());
    if (at == words.size())
      return refuse(
          fmt::format("line {}: {} stands in a variable", line(command->begin), launch.program));
    const auto program = launch.program == "srun" ? take_srun(launch, words, at + 1)
                                                  : take_mpirun(launch, words, at + 1);
    if (program < words.size()) return take_command(*top, *command, program);
    if (body_.reasons.empty())
      refuse(fmt::format("line {}: {} names no program", line(command->begin), launch.program));
  }

  /// Returns the index of the ranks' first word.
  std::size_t take_srun(const Launch& launch, std::span<const Word> words, std::size_t begin) {
    const std::size_t at = launch.command->begin;
    const auto step = split_step(script_, words, begin);
    const auto request = lint::step_request(script_, launch);
    const long job_nodes = script_.request.nodes;
    if (request.nodes > 0 && job_nodes > 0 && request.nodes != job_nodes) {
      refuse(fmt::format("line {}: srun uses {} of the job's {} nodes", line(at), request.nodes,
                         job_nodes));
      return words.size();
    }
    body_.request = request;
    take_options(step, at);
    return step.program;
  }

  std::size_t take_mpirun(const Launch& launch, std::span<const Word> words, std::size_t begin) {
    const std::size_t at = launch.command->begin;
    std::vector<std::string> texts;
    for (const Word& word : words.subspan(begin)) texts.push_back(bytes_of(word));
    const auto read = read_mpirun_words(texts);
    const long nodes = std::max(1L, script_.request.nodes);
    if (!read.refusal.empty()) refuse(fmt::format("line {}: {}", line(at), read.refusal));
    if (read.ranks > 0 && read.ranks_per_node < 0 && read.ranks % nodes != 0)
      refuse(fmt::format("line {}: mpirun's {} ranks do not divide over {} nodes", line(at),
                         read.ranks, nodes));
    if (!body_.reasons.empty()) return words.size();
    body_.tasks_per_node = read.ranks > 0 ? read.ranks / nodes : -1;
    if (read.ranks_per_node > 0) body_.tasks_per_node = read.ranks_per_node;
    body_.framework = launch.program == "horovodrun" ? "horovod" : "mpi";
    body_.variables = read.variables;
    for (const auto& option : read.dropped) drop(at, fmt::format("mpirun's {}", option));
    return begin + read.program;
  }

  void take_command(const Node& top, const Node& command, std::size_t program) {
    const auto before = commands_before(top.begin);
    const auto meeting = meeting_lines(script_.text, before);
    const auto leading = take_leading(before, meeting);
    const auto words = std::span(command.words).subspan(program);
    std::string assigned;
    for (const auto& assignment : command.assignments)
      assigned += std::string(written(script_, assignment.begin, assignment.end)) + " ";
    body_.plain_run =
        assigned + std::string(written(script_, words.front().begin, words.back().end));
    std::vector<const Node*> gone = leading.in_rest;
    for (const Node* node : meeting) {
      gone.push_back(node);
      const auto text = written(script_, node->begin, node->end);
      body_.plain_dropped.push_back(fmt::format("line {}: {}: dllaunch finds where the ranks meet",
                                                line(node->begin), first_line_of(text)));
    }
    std::ranges::sort(gone, {}, &Node::begin);
    body_.plain_setup =
        setup_of(trimmed(lines_without(script_.text, leading.end, top.begin, gone)), "");
    std::string handed_on;
    std::string names_of_once;
    body_.run = evaluated_once(words, handed_on, names_of_once);
    const auto names = names_to_hand_on(words) + names_of_once;
    body_.run.insert(0, assigned);
    if (!names.empty()) {
      handed_on += "export variables_of_the_script=$(declare -p" + names + ")\n";
      body_.run.insert(0, "eval \"$variables_of_the_script\"\n");
    }
    const auto lines = lines_without(script_.text, leading.end, top.begin, leading.in_rest);
    body_.setup = setup_of(trimmed(lines), handed_on);
    for (const auto& redirection : command.redirections)
      if (redirection.operation.starts_with("<"))
        refuse(fmt::format("line {}: the ranks read a redirected input", line(command.begin)));
    say_what_follows(top, command);
  }

  static void names_read(const std::vector<Part>& parts, std::set<std::string>& names) {
    for (const Part& part : parts) {
      if (part.kind == PartKind::variable) names.insert(part.text);
      names.insert(part.names.begin(), part.names.end());
      names_read(part.operand, names);
    }
  }

  /// Whether the ranks inherit it anyway.
  bool is_exported(const std::string& name) const {
    const auto& all = script_.run.assignments;
    const auto lacks = [&name](const lint::Assigned& one) {
      return one.name == name && !(one.exported && one.plain);
    };
    const bool found = std::ranges::find(all, name, &lint::Assigned::name) != all.end();
    return found && std::ranges::none_of(all, lacks);
  }

  /// The script's variables that the words read, as arguments: " A B". The ranks' shell expands the
  /// words, and would lack arrays and what is not exported.
  std::string names_to_hand_on(std::span<const Word> words) const {
    std::set<std::string> names;
    for (const Word& word : words) names_read(word.parts, names);
    std::string text;
    for (const auto& name : names)
      if (script_.run.assigned.contains(name) && !is_exported(name)) text += " " + name;
    return text;
  }

  /// The words with $(...) and $((...)) replaced by variables that `handed_on` sets: the script
  /// evaluates them once, not every rank.
  std::string evaluated_once(std::span<const Word> words, std::string& handed_on,
                             std::string& names) const {
    std::string text;
    std::size_t at = words.front().begin;
    int count = 0;
    for (const Word& word : words) {
      for (const Part& part : word.parts) {
        if (part.kind != PartKind::output && part.kind != PartKind::arithmetic) continue;
        const auto name = fmt::format("once_{}", ++count);
        const auto value = written(script_, part.begin, part.end);
        handed_on += fmt::format("{}={}\n", name, value);
        names += " " + name;
        text += std::string(written(script_, at, part.begin)) + "${" + name + "}";
        at = part.end;
      }
    }
    return text + std::string(written(script_, at, words.back().end));
  }

  static std::string setup_of(const std::string& lines, const std::string& handed_on) {
    if (lines.empty() && handed_on.empty()) return "";
    return "set +e  # as in the script\n" + lines + (lines.empty() ? "" : "\n") + handed_on;
  }

  void take_options(const StepWords& step, std::size_t at) {
    for (const Word* word : step.variables)
      drop(word->begin, fmt::format("srun's {}: its options are known only when the script runs; "
                                    "write them as environment.container or srun_extra",
                                    written(script_, word->begin, word->end)));
    const std::vector<std::string_view> words(step.options.begin(), step.options.end());
    const auto read = read_slurm_options(words, SlurmProgram::srun);
    for (const auto& option : read.options) {
      const std::string value(value_of(option, words));
      if (is_ours(option.name)) continue;
      take_option(option.name, option.has_value, value, at);
    }
    for (const auto& problem : read.problems)
      drop(at, fmt::format("srun's {}: srun does not know it", problem.option));
  }

  void take_option(const std::string& name, bool has_value, const std::string& value,
                   std::size_t at) {
    if (!is_known(value))
      return drop(at,
                  fmt::format("srun's --{}: its value is known only when the script runs", name));
    if (name == "container-image") {
      body_.image = value;
    } else if (name == "container-mounts") {
      for (const auto mount : split_at(value, ',')) body_.mounts.emplace_back(mount);
    } else if (name.find("container") != std::string::npos) {
      drop(at, fmt::format("srun's --{}: environment.container has no such key", name));
    } else {
      body_.srun_extra.push_back("--" + name + (has_value ? "=" + value : ""));
    }
  }

  static std::string_view first_line_of(std::string_view text) {
    return text.substr(0, text.find('\n'));
  }

  void say_what_follows(const Node& top, const Node& command) {
    if (command.end < top.end)
      drop(command.begin,
           fmt::format("what follows the ranks in their line ({}): the ranks' output is "
                       "in the run directory",
                       lines_between(command.end, top.end)));
    const auto after = std::ranges::find(top_, &top) + 1;
    for (auto node = after; node != top_.end(); ++node) {
      const auto first = written(script_, (*node)->begin, (*node)->end);
      if (first == "wait") continue;
      drop((*node)->begin, fmt::format("after the ranks: {}", first_line_of(first)));
    }
  }

  /// A script without srun does all its work once, on its first node.
  void whole_script() {
    const std::size_t begin = take_leading(top_, {}).end;
    body_.run = lines_between(begin, script_.text.size()) + "\n";
    body_.whole_script = true;
    if (body_.run == "\n") refuse("it has no command");
    const SlurmRequest& request = script_.request;
    const bool several = request.nodes > 1 || request.tasks_per_node() > 1;
    if (several) body_.run.insert(0, "[ \"$RANK\" = 0 ] || exit 0  # the script has no srun\n");
  }

  std::vector<const Node*> commands_before(std::size_t end) const {
    std::vector<const Node*> before;
    for (const Node* node : top_)
      if (node->begin < end) before.push_back(node);
    return before;
  }

  /// Takes over what the script sets first.
  LeadingEnvironment take_leading(std::span<const Node* const> commands,
                                  std::span<const Node* const> passed) {
    auto leading = read_leading_environment(script_.text, first_line(), commands, passed);
    body_.modules = leading.modules;
    body_.activate = leading.activate;
    body_.variables.insert(body_.variables.end(), leading.variables.begin(),
                           leading.variables.end());
    return leading;
  }

  const lint::Script& script_;
  std::vector<const Node*> top_;
  ConvertedBody body_;
};

}  // namespace

ConvertedBody convert_body(const lint::Script& script) {
  return BodyReader(script).read();
}

}  // namespace dllaunch
