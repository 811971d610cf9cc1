#include "launcher/init/sbatch_body.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "launcher/base/shell_quote.hpp"
#include "launcher/init/leading_environment.hpp"
#include "launcher/init/meeting_lines.hpp"
#include "launcher/init/mpirun_words.hpp"
#include "launcher/init/script_words.hpp"
#include "launcher/init/srun_words.hpp"
#include "launcher/job/rank_launcher.hpp"
#include "launcher/lint/bash/programs.hpp"
#include "launcher/lint/rule.hpp"

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

/// Words before the launcher that concern it alone.
std::string reason_of_prefix(std::string_view prefix) {
  struct Reason {
    std::string_view word;
    std::string_view why;
  };
  constexpr std::array<Reason, 4> reasons = {{
      {"timeout", "resources.time ends the ranks"},
      {"numactl", "dllaunch places and binds the ranks (binding:)"},
      {"taskset", "dllaunch places and binds the ranks (binding:)"},
      {"time", "the run directory has the times of the ranks (`dllaunch report`)"},
  }};
  for (const auto& [word, why] : reasons)
    if (prefix.starts_with(word) || prefix.find(" " + std::string(word)) != std::string_view::npos)
      return std::string(why);
  return "it concerns the program behind it, which dllaunch replaces";
}

/// A command that only tests values, wherever it runs.
bool only_tests(const Node& node) {
  if (node.kind == NodeKind::and_or || node.kind == NodeKind::sequence)
    return std::ranges::all_of(node.children, only_tests);
  constexpr std::array<std::string_view, 5> tests = {"[", "[[", "test", "true", ":"};
  return node.kind == NodeKind::command && node.redirections.empty() && !node.words.empty() &&
         std::ranges::find(tests, bytes_of(node.words[0])) != tests.end();
}

bool computes(const std::vector<Part>& parts) {
  return std::ranges::any_of(parts, [](const Part& part) {
    return part.kind == PartKind::output || part.kind == PartKind::arithmetic ||
           computes(part.operand);
  });
}

/// Whether a word holds the output of a command, or a number that bash computes.
bool computes_words(const Node& node) {
  const auto in_word = [](const Word& word) { return computes(word.parts); };
  return std::ranges::any_of(node.words, in_word) ||
         std::ranges::any_of(node.children, computes_words);
}

/// What stands in a text instead of a piece of the script.
struct Replaced {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string by = {};
};

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
    take_directives();
    auto steps = steps_of([this](const Launch& launch) {
      return launch.program == "srun" && lint::does_work(script_, launch);
    });
    if (steps.empty())
      steps = steps_of([](const Launch& launch) {
        return lint::is_mpirun(launch.program) || launch.program == "horovodrun";
      });
    const auto looks = steps_of([](const Launch& launch) { return launch.program == "srun"; });
    if (steps.empty() && !looks.empty() && top_of(*looks.back()) == top_.back()) steps = looks;
    if (!steps.empty()) {
      if (check_alone(steps)) take_step(*steps.back());
    } else if (const Node* launcher = only_launcher()) {
      body_.runs_once = script_.request.nodes > 1;
      take_command(*launcher, *straight(launcher), 0);
    } else {
      take_rest(looks.empty() ? nullptr : top_of(*looks.back()));
    }
    say_lone_mounts();
    say_where_setup_runs();
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

  /// Whether the last step is the ranks': the others end before it begins.
  bool check_alone(const std::vector<const Launch*>& steps) {
    const Node* top = top_of(*steps.back());
    for (const Launch* step : steps) {
      const bool apart = step->command->background && steps.size() > 1;
      const bool alone =
          top_of(*step) != top || straight(top) != nullptr || is_choice_of_steps(*top);
      if (alone && !apart) continue;
      refuse(fmt::format("line {}: {}", line(step->command->begin),
                         apart ? "several steps run at the same time, and a job file has one: "
                                 "write each as one of `components` (docs/how-to/components.md)"
                               : step->program + " stands in a loop, a condition or a function"));
      return false;
    }
    return true;
  }

  const Launch* launch_of(const Node& node) const {
    const auto found = std::ranges::find_if(script_.launches, [&node](const Launch& launch) {
      return launch.program == "srun" && !launch.command->per_rank &&
             launch.command->begin == node.begin;
    });
    return found == script_.launches.end() ? nullptr : &*found;
  }

  /// The steps in the branches of `if`, where nothing else does anything.
  std::vector<const Node*> steps_in(const Node& top) const {
    std::vector<const Node*> steps;
    for (std::size_t i = 0; i < top.children.size(); ++i) {
      const Node& part = top.children[i];
      const bool condition = i % 2 == 0 && i + 1 < top.children.size();
      if (condition && only_tests(part)) continue;
      if (condition) return {};
      for (const Node& node : part.children) {
        const bool step = launch_of(node) != nullptr && !node.words.empty() &&
                          bytes_of(node.words[0]) == "srun" && node.redirections.empty();
        const bool says = node.kind == NodeKind::command && node.redirections.empty() &&
                          (node.words.empty() || bytes_of(node.words[0]) == "echo");
        if (!step && !says) return {};
        if (step) steps.push_back(&node);
      }
    }
    return steps;
  }

  /// `if` whose branches hold steps with the same options: each rank can take its branch itself.
  bool is_choice_of_steps(const Node& top) const {
    if (top.kind != NodeKind::choice || computes_words(top)) return false;
    const auto steps = steps_in(top);
    std::set<std::string_view> options;
    for (const Node* step : steps) options.insert(options_of(*step));
    return options.size() == 1;
  }

  /// srun and its options as written; all of the command if it names no program.
  std::string_view options_of(const Node& step) const {
    const auto read = read_srun_words(script_, *launch_of(step), step.words, 1);
    const bool runs = read.program < step.words.size();
    return written(script_, step.words[0].begin,
                   runs ? step.words[read.program].begin : step.words.back().end);
  }

  void take_choice(const Node& top, const Launch& launch) {
    const auto steps = steps_in(top);
    std::vector<Replaced> gone;
    for (const Node* step : steps) {
      const std::size_t begin = step->words[0].begin;
      gone.push_back({begin, begin + options_of(*step).size(), ""});
    }
    take_srun(launch, steps.back()->words, 1);
    if (!body_.reasons.empty()) return;
    const auto text = with_replaced(top.begin, top.end, std::move(gone));
    take_run(top, text, text, names_read_in(top), "");
    say_what_follows(top, top.end);
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
    if (top->kind == NodeKind::choice) return take_choice(*top, launch);
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
    if (command->begin != launch.command->begin)
      return refuse(fmt::format("line {}: {} stands in a condition", line(launch.command->begin),
                                launch.program));
    const auto program = launch.program == "srun" ? take_srun(launch, words, at + 1)
                                                  : take_mpirun(launch, words, at + 1);
    if (program < words.size()) return take_command(*top, *command, program, at);
    if (body_.reasons.empty())
      refuse(fmt::format("line {}: {} names no program", line(command->begin), launch.program));
  }

  /// Returns the index of the ranks' first word.
  std::size_t take_srun(const Launch& launch, std::span<const Word> words, std::size_t begin) {
    const std::size_t at = launch.command->begin;
    const auto read = read_srun_words(script_, launch, words, begin);
    const auto request = lint::step_request(script_, launch);
    const long job_nodes = script_.request.nodes;
    if (!read.refusal.empty()) refuse(fmt::format("line {}: {}", line(at), read.refusal));
    if (request.nodes > 0 && job_nodes > 0 && request.nodes != job_nodes)
      refuse(fmt::format("line {}: srun uses {} of the job's {} nodes", line(at), request.nodes,
                         job_nodes));
    if (!body_.reasons.empty()) return words.size();
    body_.request = request;
    take_container(read.container, at);
    body_.srun_extra = read.extra;
    for (const auto& option : read.dropped) drop(at, "srun's " + option);
    take_variables(read.variables);
    for (const auto& assigned : read.exports) exports_ += "export " + assigned + "\n";
    if (read.program < words.size()) {
      const auto program = bytes_of(words[read.program]);
      if (is_known(program) && program.find('/') == std::string::npos) body_.srun_program = program;
    }
    return read.program;
  }

  /// srun's beside the directives': its image instead of theirs, its mounts after theirs.
  void take_container(const ContainerWords& own, std::size_t at) {
    auto& [image, mounts] = body_.container;
    if (!own.image.empty()) image = own.image;
    if (!own.mounts.empty()) mounts_at_ = at;
    for (const auto& mount : own.mounts)
      if (std::ranges::find(mounts, mount) == mounts.end()) mounts.push_back(mount);
  }

  /// environment.container has an image.
  void say_lone_mounts() {
    auto& [image, mounts] = body_.container;
    if (!image.empty() || mounts.empty()) return;
    drop(mounts_at_, fmt::format("--container-mounts={}: no image is known for them: write "
                                 "environment.container",
                                 fmt::join(mounts, ",")));
    mounts.clear();
  }

  /// Those of the launcher's options. What the script itself sets comes after
  /// environment.variables.
  void take_variables(const std::vector<std::pair<std::string, std::string>>& variables) {
    for (const auto& [name, value] : variables) {
      if (script_.run.assigned.contains(name))
        exports_ += fmt::format("export {}={}\n", name, shell_quote(value));
      else
        body_.variables.emplace_back(name, value);
    }
  }

  std::size_t take_mpirun(const Launch& launch, std::span<const Word> words, std::size_t begin) {
    const std::size_t at = launch.command->begin;
    const auto behind = words.subspan(begin);
    std::vector<std::string> texts;
    // As bash expands the words, unless it makes several of one.
    const bool pairs = launch.arguments.size() == behind.size();
    for (std::size_t i = 0; i < behind.size(); ++i)
      texts.push_back(pairs ? launch.arguments[i].bytes() : bytes_of(behind[i]));
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
    take_variables(read.variables);
    for (const auto& one : read.exports) {
      const auto text = [&](std::size_t i) {
        const Word& word = behind[one.begin + i];
        return std::string(written(script_, word.begin, word.end));
      };
      exports_ += "export " + text(0) + (one.words == 2 ? "=" + text(1) : "") + "\n";
    }
    for (const auto& option : read.dropped) drop(at, "mpirun's " + option);
    return begin + read.program;
  }

  /// `launcher`: the index of the word that starts the ranks.
  void take_command(const Node& top, const Node& command, std::size_t program,
                    std::size_t launcher = 0) {
    const auto words = std::span(command.words).subspan(program);
    const std::size_t begin = words.front().begin;
    std::size_t end = words.back().end;
    std::set<std::string> names;
    std::vector<Replaced> gone;
    for (const auto& redirection : command.redirections) {
      const bool input = redirection.operation.starts_with("<");
      const bool readable = redirection.operation == "<" || redirection.operation == "<<<";
      if (input && (!readable || redirection.begin < begin || computes(redirection.target.parts)))
        return refuse(
            fmt::format("line {}: the ranks read a redirected input", line(command.begin)));
      if (input) {
        names_read(redirection.target.parts, names);
        end = std::max(end, redirection.end);
      }
    }
    for (const auto& redirection : command.redirections) {
      if (redirection.operation.starts_with("<") || redirection.begin > end) continue;
      drop(redirection.begin, fmt::format("{}: the ranks' output is in the run directory",
                                          written(script_, redirection.begin, redirection.end)));
      gone.push_back({redirection.begin, redirection.end, ""});
    }
    const auto assigned = take_prefix(top, command, launcher, names);
    const auto plain_run = assigned + with_replaced(begin, end, gone);
    std::string handed_on;
    for (const Word& word : words) names_read(word.parts, names);
    evaluate_once(words, handed_on, gone, names);
    take_run(top, assigned + with_replaced(begin, end, std::move(gone)), plain_run, names,
             handed_on);
    say_what_follows(top, end);
  }

  /// Returns the assignments before the launcher; says which other words stand there.
  std::string take_prefix(const Node& top, const Node& command, std::size_t launcher,
                          std::set<std::string>& names) {
    std::string assigned;
    std::vector<Replaced> gone;
    for (const auto& assignment : command.assignments) {
      assigned += std::string(written(script_, assignment.begin, assignment.end)) + " ";
      names_read(assignment.value.parts, names);
      gone.push_back({assignment.begin, assignment.end, ""});
    }
    const auto before = std::span(command.words).first(launcher);
    const bool env = !before.empty() && bytes_of(before[0]) == "env";
    for (const Word& word : before) {
      const auto bytes = bytes_of(word);
      if (!env || !lint::is_name(bytes.substr(0, std::min(bytes.find('='), bytes.size()))) ||
          bytes.find('=') == std::string::npos)
        continue;
      assigned += std::string(written(script_, word.begin, word.end)) + " ";
      names_read(word.parts, names);
      gone.push_back({word.begin, word.end, ""});
    }
    if (env && gone.size() > command.assignments.size())
      gone.push_back({before[0].begin, before[0].end, ""});
    const auto prefix =
        trimmed(with_replaced(top.begin, command.words[launcher].begin, std::move(gone)));
    if (prefix.find_first_not_of(' ') != std::string::npos)
      drop(top.begin, fmt::format("{} before {}: {}", prefix, bytes_of(command.words[launcher]),
                                  reason_of_prefix(prefix)));
    return assigned;
  }

  /// The script between two offsets, with some pieces of it replaced.
  std::string with_replaced(std::size_t begin, std::size_t end,
                            std::vector<Replaced> replaced) const {
    std::ranges::sort(replaced, {}, &Replaced::begin);
    std::string text;
    for (const auto& one : replaced) {
      if (one.begin < begin || one.end > end) continue;
      text += std::string(written(script_, begin, one.begin)) + one.by;
      begin = one.end;
      const bool blank = text.empty() || text.back() == ' ';
      while (one.by.empty() && blank && begin < end && script_.text[begin] == ' ') ++begin;
    }
    return text + std::string(written(script_, begin, end));
  }

  /// `names`: the variables that `run` reads.
  void take_run(const Node& top, const std::string& run, const std::string& plain_run,
                const std::set<std::string>& names, const std::string& once) {
    const auto before = commands_before(top.begin);
    const auto meeting = meeting_lines(script_.text, before);
    const auto leading = take_leading(before, meeting);
    body_.plain_run = plain_run;
    std::vector<const Node*> gone = leading.in_rest;
    for (const Node* node : exports_.empty() ? meeting : std::vector<const Node*>()) {
      gone.push_back(node);
      const auto text = written(script_, node->begin, node->end);
      body_.plain_dropped.push_back(fmt::format("line {}: {}: dllaunch finds where the ranks meet",
                                                line(node->begin), first_line_of(text)));
    }
    std::ranges::sort(gone, {}, &Node::begin);
    const auto lines_before = [&](const std::vector<const Node*>& without) {
      return trimmed(lines_without(script_.text, leading.end, top.begin, without));
    };
    body_.plain_setup = setup_of(lines_before(gone), exports_);
    body_.setup = setup_of(lines_before(leading.in_rest), exports_ + once);
    body_.run = run;
    body_.line = line(top.begin);
    hand_on(names_to_hand_on(names));
  }

  /// Lets the ranks' shell have variables and functions, " A B", of the batch script's.
  void hand_on(const std::string& variables, const std::string& functions = "") {
    if (variables.empty() && functions.empty()) return;
    std::string list;
    if (!variables.empty()) list = "declare -p" + variables;
    if (!functions.empty()) list += (list.empty() ? "" : "; ") + ("declare -f" + functions);
    if (body_.setup.empty()) body_.setup = setup_head;
    body_.setup += "export variables_of_the_script=$(" + list + ")\n";
    body_.run.insert(0, "eval \"$variables_of_the_script\"\n");
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

  /// Of the names, the script's variables that the ranks' shell would lack, as arguments: " A B":
  /// arrays, and what is not exported.
  std::string names_to_hand_on(const std::set<std::string>& names) const {
    std::string text;
    for (const auto& name : names)
      if (name.starts_with(once) || (script_.run.assigned.contains(name) && !is_exported(name)))
        text += " " + name;
    return text;
  }

  /// Replaces $(...) and $((...)) in the words by variables that `handed_on` sets: the script
  /// evaluates them once, not every rank.
  void evaluate_once(std::span<const Word> words, std::string& handed_on,
                     std::vector<Replaced>& replaced, std::set<std::string>& names) const {
    int count = 0;
    for (const Word& word : words) {
      for (const Part& part : word.parts) {
        if (part.kind != PartKind::output && part.kind != PartKind::arithmetic) continue;
        const auto name = fmt::format("{}{}", once, ++count);
        handed_on += fmt::format("{}={}\n", name, written(script_, part.begin, part.end));
        names.insert(name);
        replaced.push_back({part.begin, part.end, "${" + name + "}"});
      }
    }
  }

  static std::string setup_of(const std::string& lines, const std::string& handed_on) {
    if (lines.empty() && handed_on.empty()) return "";
    return std::string(setup_head) + lines + (lines.empty() ? "" : "\n") + handed_on;
  }

  static std::string_view first_line_of(std::string_view text) {
    return text.substr(0, text.find('\n'));
  }

  /// `end`: of the ranks' own words.
  void say_what_follows(const Node& top, std::size_t end) {
    end = std::min(script_.text.find_first_not_of(' ', end), top.end);
    if (const auto rest = lines_between(end, top.end); !rest.empty())
      drop(end, fmt::format("what follows the ranks in their line ({}): the ranks' output is in "
                            "the run directory",
                            rest));
    const auto after = std::ranges::find(top_, &top) + 1;
    for (auto node = after; node != top_.end(); ++node) {
      const auto first = written(script_, (*node)->begin, (*node)->end);
      if (first == "wait") continue;
      if (first.starts_with("--"))
        drop(
            (*node)->begin,
            fmt::format("{}: no command: a blank follows the backslash of the line before, or that "
                        "line lacks its backslash",
                        first_line_of(first)));
      else
        drop((*node)->begin, fmt::format("after the ranks: {}", first_line_of(first)));
    }
  }

  /// What a script does once, on its first node: all of it, or what follows its last srun.
  void take_rest(const Node* last_step) {
    const auto before =
        last_step == nullptr ? std::vector<const Node*>() : commands_before(last_step->end);
    const std::size_t leading = take_leading(last_step == nullptr ? top_ : before, {}).end;
    const std::size_t begin = last_step == nullptr ? leading : last_step->end;
    body_.run = lines_between(begin, script_.text.size()) + "\n";
    body_.whole_script = true;
    if (body_.run == "\n") refuse("it has no command");
    const SlurmRequest& request = script_.request;
    const bool several = request.nodes > 1 || request.tasks_per_node() > 1;
    if (several) body_.run.insert(0, "[ \"$RANK\" = 0 ] || exit 0  # once, on the first node\n");
    if (last_step == nullptr) return;
    body_.setup = setup_of(lines_between(leading, begin), "");
    std::set<std::string> read;
    std::set<std::string> set;
    std::string functions;
    for (const Node* node : top_) {
      if (node->begin >= begin) {
        read.merge(names_read_in(*node));
        continue;
      }
      lint::assigned_names(*node, set);
      const bool called =
          node->kind == NodeKind::function && body_.run.find(node->name) != std::string::npos;
      if (called) functions += " " + node->name;
    }
    std::erase_if(read, [&set](const std::string& name) { return !set.contains(name); });
    hand_on(names_to_hand_on(read), functions);
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
    // What the launcher's options set comes later, and stays.
    auto& all = body_.variables;
    all.insert(all.begin(), leading.variables.begin(), leading.variables.end());
    all.insert(all.begin(), of_directives_.begin(), of_directives_.end());
    return leading;
  }

  /// Those that say in which container the ranks run, and which variables they have.
  void take_directives() {
    for (const auto& option : script_.directives.parsed.options) {
      if (!is_read_by_body(option)) continue;
      const auto& value = option.value.bytes();
      if (option.name == "export") {
        const auto list = read_export_list(value);
        of_directives_ = list.assigned;
      } else if (!body_.container.take(option.name, value)) {
        drop(script_.at(option), fmt::format("--{}{}: environment.container has no such key",
                                             option.name, option.has_value ? "=" + value : ""));
      } else if (option.name == "container-mounts") {
        mounts_at_ = script_.at(option);
      }
    }
  }

  /// sbatch with Pyxis would start the script itself in the image.
  void say_where_setup_runs() {
    const auto* option = script_.directive("container-image");
    if (option != nullptr && !body_.setup.empty())
      drop(script_.at(*option),
           "--container-image: the ranks start in the image, the lines before them do not");
  }

  static constexpr std::string_view setup_head = "set +e  # as in the script\n";
  static constexpr std::string_view once = "once_";

  const lint::Script& script_;
  std::vector<const Node*> top_;
  std::vector<std::pair<std::string, std::string>> of_directives_;  // variables, the first of all
  std::size_t mounts_at_ = 0;  // where the last of the container's are written
  std::string exports_;        // lines that set what the launcher's options say
  ConvertedBody body_;
};

}  // namespace

bool is_read_by_body(const lint::GivenOption& directive) {
  return is_of_container(directive.name) ||
         (directive.name == "export" && read_export_list(directive.value.bytes()).all);
}

ConvertedBody convert_body(const lint::Script& script) {
  return BodyReader(script).read();
}

}  // namespace dllaunch
