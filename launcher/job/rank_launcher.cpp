#include "launcher/job/rank_launcher.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/lint/bash/shell_tree.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

enum class Asks {
  nodes,
  ranks_per_node,
  ranks,
  restarts,
  meeting,  // where ranks meet, or where output goes: dllaunch does that
  hosts,    // deepspeed: the nodes
  flag,     // the same without a value
  module,   // -m
  program,  // --no-python
  no_rank,  // deepspeed: no --local_rank for the script
};

struct LauncherOption {
  std::string_view name;  // with dashes inside, as torchrun writes it
  Asks asks;
};

constexpr std::array<LauncherOption, 22> torchrun_options = {{
    {"--nnodes", Asks::nodes},
    {"--nproc-per-node", Asks::ranks_per_node},
    {"--max-restarts", Asks::restarts},
    {"--node-rank", Asks::meeting},
    {"--master-addr", Asks::meeting},
    {"--master-port", Asks::meeting},
    {"--local-addr", Asks::meeting},
    {"--rdzv-backend", Asks::meeting},
    {"--rdzv-endpoint", Asks::meeting},
    {"--rdzv-id", Asks::meeting},
    {"--rdzv-conf", Asks::meeting},
    {"--monitor-interval", Asks::meeting},
    {"--log-dir", Asks::meeting},
    {"--redirects", Asks::meeting},
    {"--tee", Asks::meeting},
    {"--role", Asks::meeting},
    {"-r", Asks::meeting},
    {"-t", Asks::meeting},
    {"--standalone", Asks::flag},
    {"--module", Asks::module},
    {"-m", Asks::module},
    {"--no-python", Asks::program},
}};

constexpr std::array<LauncherOption, 12> accelerate_options = {{
    {"--num-machines", Asks::nodes},
    {"--num-processes", Asks::ranks},
    {"--max-restarts", Asks::restarts},
    {"--machine-rank", Asks::meeting},
    {"--main-process-ip", Asks::meeting},
    {"--main-process-port", Asks::meeting},
    {"--rdzv-backend", Asks::meeting},
    {"--rdzv-conf", Asks::meeting},
    {"--multi-gpu", Asks::flag},
    {"--module", Asks::module},
    {"-m", Asks::module},
    {"--no-python", Asks::program},
}};

constexpr std::array<LauncherOption, 11> deepspeed_options = {{
    {"--num-nodes", Asks::nodes},
    {"--num-gpus", Asks::ranks_per_node},
    {"--hostfile", Asks::hosts},
    {"-H", Asks::hosts},
    {"--master-addr", Asks::meeting},
    {"--master-port", Asks::meeting},
    {"--launcher", Asks::meeting},
    {"--force-multi", Asks::flag},
    {"--no-local-rank", Asks::no_rank},
    {"--module", Asks::module},
    {"--no-python", Asks::program},
}};

/// A word of the command: its text, as far as it stands in the script.
struct CommandWord {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text = {};
  std::string variable = {};  // the first that the word reads; empty: the text is all
  bool may_split = false;     // bash may make several words or none of it
};

/// The product in `$((A * ${B} * 4))`; nullopt: it is no product of known numbers.
std::optional<long> product_in(std::string_view written, const KnownNumbers& numbers) {
  constexpr std::string_view open = "$((";
  constexpr std::string_view close = "))";
  constexpr long most = 1'000'000;
  if (!written.starts_with(open) || !written.ends_with(close)) return std::nullopt;
  written = written.substr(open.size(), written.size() - open.size() - close.size());
  long product = 1;
  for (std::string_view factor : split_at(written, '*')) {
    factor.remove_prefix(std::min(factor.size(), factor.find_first_not_of(" ${")));
    factor = factor.substr(0, factor.find_last_not_of(" }") + 1);
    const auto found = numbers.find(factor);
    const auto number = found == numbers.end() ? parse_number<long>(factor) : found->second;
    if (!number || *number < 0 || *number > most || product > most) return std::nullopt;
    product *= *number;
  }
  return product;
}

/// The number that a part of a word is; nullopt: it is text, or known only when the script runs.
std::optional<long> number_in(const lint::Part& part, std::string_view script,
                              const KnownNumbers& numbers) {
  if (part.kind == lint::PartKind::arithmetic)
    return product_in(script.substr(part.begin, part.end - part.begin), numbers);
  const bool plain = part.operation.empty() && part.index.empty();
  if (part.kind != lint::PartKind::variable || !plain) return std::nullopt;
  const auto found = numbers.find(part.text);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

std::vector<CommandWord> words_of_command(const lint::Node& command, std::string_view script,
                                          const KnownNumbers& numbers) {
  std::vector<CommandWord> words;
  for (const lint::Word& word : command.words) {
    CommandWord read{.begin = word.begin, .end = word.end};
    for (const lint::Part& part : word.parts) {
      const auto number = number_in(part, script, numbers);
      const bool known = part.kind == lint::PartKind::text || number;
      if (known) read.text += number ? std::to_string(*number) : part.text;
      read.may_split = read.may_split || (!known && (!part.quoted || !part.index.empty()));
      if (!known && read.variable.empty()) read.variable = part.text.empty() ? "$" : part.text;
    }
    words.push_back(std::move(read));
  }
  return words;
}

std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// How a launcher's words begin.
struct Opening {
  std::span<const LauncherOption> options = {};
  std::string_view framework = "pytorch";
  std::size_t words = 0;         // the launcher's own name
  std::string interpreter = {};  // runs the script
};

/// python3 beside torchrun is the one it would start.
std::string python_beside(std::string_view program) {
  return std::string(program.substr(0, program.rfind('/') + 1)) + "python3 -u";
}

std::optional<Opening> opening_of(const std::vector<CommandWord>& words, std::string_view script) {
  if (words.empty() || !words[0].variable.empty()) return std::nullopt;
  const std::string_view name = last_name(words[0].text);
  if (name == "torchrun")
    return Opening{torchrun_options, "pytorch", 1, python_beside(words[0].text)};
  if (name == "deepspeed")
    return Opening{deepspeed_options, "deepspeed", 1, python_beside(words[0].text)};
  if (name == "accelerate" && words.size() > 1 && words[1].text == "launch")
    return Opening{accelerate_options, "pytorch", 2, python_beside(words[0].text)};
  if (!name.starts_with("python")) return std::nullopt;
  std::size_t at = 1;
  while (at < words.size() && words[at].text.starts_with("-") && words[at].text != "-m") ++at;
  if (at + 1 >= words.size() || words[at].text != "-m") return std::nullopt;
  const bool runs = words[at + 1].text == "torch.distributed.run";
  if (!runs && words[at + 1].text != "accelerate.commands.launch") return std::nullopt;
  std::string interpreter(script.substr(words[0].begin, words[at - 1].end - words[0].begin));
  if (interpreter.find(" -u") == std::string::npos) interpreter += " -u";
  if (runs) return Opening{torchrun_options, "pytorch", at + 2, std::move(interpreter)};
  return Opening{accelerate_options, "pytorch", at + 2, std::move(interpreter)};
}

/// Variables that Slurm sets to what the job has: they agree whatever it is.
bool is_the_jobs_own(Asks asks, std::string_view variable) {
  if (asks == Asks::nodes) return variable == "SLURM_NNODES" || variable == "SLURM_JOB_NUM_NODES";
  if (asks == Asks::ranks_per_node)
    return variable == "SLURM_GPUS_ON_NODE" || variable == "SLURM_GPUS_PER_NODE";
  return false;
}

/// Reads the launcher's options, up to the word that it runs.
class LauncherReader {
 public:
  LauncherReader(const std::vector<CommandWord>& words, Opening opening)
      : words_(words), opening_(std::move(opening)), at_(opening_.words) {
    read_.framework = opening_.framework;
    read_.begin = words[0].begin;
    read_.one_worker = opening_.options.data() == torchrun_options.data();
  }

  RankLauncher read(std::string_view script) {
    while (at_ < words_.size() && read_option()) continue;
    const std::size_t end = at_ < words_.size() ? words_[at_].begin : words_.back().end;
    read_.written = one_line(script.substr(words_[0].begin, end - words_[0].begin));
    if (read_.refusal.empty() && at_ == words_.size()) refuse("names no program to run");
    if (read_.refusal.empty()) read_.command = replaced(script);
    return std::move(read_);
  }

 private:
  static std::string one_line(std::string_view text) {
    std::string line;
    for (const char c : text) {
      const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\\';
      if (!blank) line += c;
      if (blank && !line.empty() && line.back() != ' ') line += ' ';
    }
    if (line.ends_with(' ')) line.pop_back();
    return line;
  }

  void refuse(const std::string& why) {
    read_.refusal += (read_.refusal.empty() ? "" : "; ") + why;
  }

  /// False: the word is no option.
  bool read_option() {
    const CommandWord& word = words_[at_];
    if (!word.text.starts_with('-')) {
      // $ARGS and "${ARGS[@]}" may be options; the last word must be the program.
      if (word.may_split && word.text.empty() && at_ + 1 < words_.size())
        refuse(fmt::format("has options or its program in ${}: write them out", word.variable));
      return false;
    }
    const auto equals = word.text.find('=');
    std::string name = word.text.substr(0, equals);
    std::replace(name.begin() + 1, name.end(), '_', '-');
    const auto known = std::ranges::find(opening_.options, name, &LauncherOption::name);
    if (known == opening_.options.end()) {
      refuse(fmt::format("has the option {}, which dllaunch cannot take over",
                         word.text.substr(0, equals)));
      // The next word may be its value or the program.
      if (equals == std::string::npos) return false;
      ++at_;
      return true;
    }
    ++at_;
    if (equals != std::string::npos) {
      take(*known, word, word.text.substr(equals + 1));
    } else if (known->asks >= Asks::flag) {
      set_flag(known->asks);
    } else if (at_ < words_.size()) {
      take(*known, words_[at_], words_[at_].text);
      ++at_;
    }
    return true;
  }

  void set_flag(Asks asks) {
    module_ = module_ || asks == Asks::module;
    program_ = program_ || asks == Asks::program;
    silent_ = silent_ || asks == Asks::no_rank;
  }

  void take(const LauncherOption& option, const CommandWord& word, const std::string& value) {
    const bool everything = value == "auto" || value == "gpu";
    if (option.asks == Asks::ranks_per_node) read_.one_worker = value == "1";
    // deepspeed would reach the others by ssh, from each of them.
    if (option.asks == Asks::nodes) read_.one_node = value == "1" || read_.framework == "deepspeed";
    read_.lists_hosts = read_.lists_hosts || option.asks == Asks::hosts;
    if (option.asks == Asks::meeting || option.asks == Asks::hosts ||
        is_the_jobs_own(option.asks, word.variable) ||
        (option.asks == Asks::ranks_per_node && everything))
      return;
    const auto number = word.variable.empty() ? parse_number<int>(value) : std::nullopt;
    const int least = option.asks == Asks::restarts ? 0 : 1;
    if (!number || *number < least) {
      refuse(fmt::format("has {}={}{}: write a number", option.name,
                         word.variable.empty() ? "" : "$",
                         word.variable.empty() ? value : word.variable));
      return;
    }
    if (option.asks == Asks::nodes) read_.nodes = number;
    if (option.asks == Asks::ranks_per_node) read_.ranks_per_node = number;
    if (option.asks == Asks::ranks) read_.ranks = number;
    if (option.asks == Asks::restarts && *number > 0) read_.restarts = number;
  }

  /// The script with the launcher replaced by what it would start.
  std::string replaced(std::string_view script) const {
    const CommandWord& target = words_[at_];
    std::string text(script.substr(0, words_[0].begin));
    if (!program_) text += opening_.interpreter + (module_ ? " -m " : " ");
    text += script.substr(target.begin, target.end - target.begin);
    // deepspeed passes it, and many of its scripts demand it.
    if (read_.framework == "deepspeed" && !silent_) text += " --local_rank=$LOCAL_RANK";
    return text + std::string(script.substr(target.end));
  }

  const std::vector<CommandWord>& words_;
  Opening opening_;
  std::size_t at_;
  RankLauncher read_;
  bool module_ = false;
  bool program_ = false;
  bool silent_ = false;
};

bool is_straight(const lint::Node& node) {
  using lint::NodeKind;
  return node.kind == NodeKind::sequence || node.kind == NodeKind::and_or ||
         node.kind == NodeKind::pipeline || node.kind == NodeKind::group;
}

bool starts_a_step_below(const lint::Node& node, std::string_view text) {
  if (node.kind != lint::NodeKind::command)
    return is_straight(node) && std::ranges::any_of(node.children, [&](const lint::Node& child) {
             return starts_a_step_below(child, text);
           });
  const auto words = words_of_command(node, text, {});
  return !words.empty() && last_name(words[0].text) == "srun" &&
         std::ranges::find(words, "--overlap", &CommandWord::text) == words.end();
}

std::optional<RankLauncher> launcher_below(const lint::Node& node, std::string_view text,
                                           const KnownNumbers& numbers) {
  if (node.kind == lint::NodeKind::command) {
    const auto words = words_of_command(node, text, numbers);
    auto opening = opening_of(words, text);
    if (!opening) return std::nullopt;
    return LauncherReader(words, *std::move(opening)).read(text);
  }
  if (!is_straight(node)) return std::nullopt;
  for (const lint::Node& child : node.children) {
    if (auto found = launcher_below(child, text, numbers)) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<RankLauncher> rank_launcher_in(std::string_view text, const KnownNumbers& numbers) {
  // Most commands have none.
  constexpr std::array<std::string_view, 4> names = {"torchrun", "torch.distributed.run",
                                                     "accelerate", "deepspeed"};
  if (std::ranges::none_of(names, [text](std::string_view name) {
        return text.find(name) != std::string_view::npos;
      }))
    return std::nullopt;
  return launcher_below(lint::read_shell(text).root, text, numbers);
}

bool starts_a_step(std::string_view text) {
  return text.find("srun") != std::string_view::npos &&
         starts_a_step_below(lint::read_shell(text).root, text);
}

}  // namespace dllaunch
