#include "launcher/init/srun_words.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <deque>
#include <set>

#include "launcher/base/split.hpp"
#include "launcher/init/script_words.hpp"
#include "launcher/slurm/slurm_options.hpp"

namespace dllaunch {
namespace {

using lint::Node;
using lint::NodeKind;
using lint::Part;
using lint::PartKind;
using lint::Word;

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

/// Whether a command that only assigns, or exports, sets the name, and none beside it.
bool is_set_once(const lint::Script& script, const std::string& name) {
  const Node* setter = nullptr;
  for (const Node& node : script.tree.root.children) {
    std::set<std::string> names;
    lint::assigned_names(node, names);
    if (!names.contains(name)) continue;
    if (setter != nullptr) return false;
    setter = &node;
  }
  return setter != nullptr && !setter->background &&
         std::ranges::count(setter->assignments, name, &lint::Assignment::name) == 1 &&
         (setter->words.empty() || bytes_of(setter->words[0]) == "export");
}

struct OptionFate {
  std::string_view option;
  std::string_view why;  // it is not taken over
};

constexpr std::string_view output_is_ours =
    "the ranks' output goes to the run directory (`dllaunch logs`)";
constexpr std::string_view end_is_ours = "one rank that fails ends the others (recovery:)";
constexpr std::string_view place_is_ours = "dllaunch places and binds the ranks (binding:)";
constexpr std::string_view step_is_whole = "the ranks have all that the job has";

/// Options that the job's own srun does not get.
constexpr std::array<OptionFate, 17> fates = {{
    {"label", output_is_ours},
    {"unbuffered", output_is_ours},
    {"output", output_is_ours},
    {"error", output_is_ours},
    {"open-mode", output_is_ours},
    {"kill-on-bad-exit", end_is_ours},
    {"wait", end_is_ours},
    {"cpu-bind", place_is_ours},
    {"gpu-bind", place_is_ours},
    {"tres-bind", place_is_ours},
    {"accel-bind", place_is_ours},
    {"exclusive", step_is_whole},
    {"exact", step_is_whole},
    {"overlap", step_is_whole},
    {"jobid", "the ranks belong to the job that `dllaunch run` submits"},
    {"time", "resources.time ends the ranks"},
    {"pty", "the ranks have no terminal"},
}};

/// Splits at commas outside quotes.
std::vector<std::string_view> pieces_of(std::string_view list) {
  std::vector<std::string_view> pieces;
  char quote = '\0';
  std::size_t begin = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (quote != '\0' ? c == quote : (c == '"' || c == '\''))
      quote = quote != '\0' ? '\0' : c;
    else if (c == ',' && quote == '\0') {
      pieces.push_back(list.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  pieces.push_back(list.substr(begin));
  return pieces;
}

bool has_whole_quotes(std::string_view piece) {
  return std::ranges::count(piece, '"') % 2 == 0 && std::ranges::count(piece, '\'') % 2 == 0;
}

/// Reads the options, and says of each what becomes of it.
class SrunReader {
 public:
  SrunReader(const lint::Script& script, const lint::Launch& launch, std::span<const Word> words)
      : script_(script), launch_(launch), words_(words) {}

  SrunWords read(std::size_t begin) {
    split(begin);
    const auto apart = [](const Word& word) { return bytes_of(word) == ":"; };
    if (std::ranges::any_of(words_.subspan(std::min(begin, words_.size())), apart))
      read_.refusal =
          "srun starts several programs, with : between them: write each as one of `components` "
          "(docs/how-to/components.md)";
    const std::vector<std::string_view> words(options_.begin(), options_.end());
    const auto parsed = read_slurm_options(words, SlurmProgram::srun);
    for (const auto& option : parsed.options)
      take(option, value_known(option, value_of(option, words)));
    for (const auto& problem : parsed.problems) drop(problem.option, "srun does not know it");
    for (const auto& [why, options] : dropped_)
      read_.dropped.push_back(fmt::format("{}: {}", options, why));
    return std::move(read_);
  }

 private:
  /// Finds where the options end.
  void split(std::size_t begin) {
    std::size_t& at = read_.program;
    for (at = begin; at < words_.size();) {
      const Word& word = words_[at];
      if (const auto held = options_in(script_, word); !held.empty()) {
        take_held(word, held);
        ++at;
        continue;
      }
      const std::string bytes = bytes_of(word);
      if (bytes.empty() || bytes[0] != '-') break;
      const std::array<std::string_view, 2> pair = {
          bytes, at + 1 < words_.size() ? std::string_view("value") : std::string_view()};
      const auto read = read_slurm_options(pair, SlurmProgram::srun);
      const bool takes_next =
          read.program == 2 || (!read.options.empty() && read.options.back().last_word == 1);
      add(bytes, word);
      ++at;
      if (bytes == "--") break;
      if (takes_next && at < words_.size()) {
        add(bytes_of(words_[at]), words_[at]);
        ++at;
      }
    }
  }

  void add(std::string bytes, const Word& word) {
    options_.push_back(std::move(bytes));
    sources_.push_back(&word);
  }

  void take_held(const Word& word, const std::vector<const lint::Assignment*>& held) {
    const bool certain = held.size() == 1 && is_made_for_sure(script_, held[0]);
    if (certain && held[0]->array)
      for (const Word& element : held[0]->elements) add(bytes_of(element), element);
    else if (!certain || !split_held(word, *held[0]))
      drop(written(word),
           "its options are known only when the script runs; write them as environment.container "
           "or srun_extra");
  }

  /// Adds the words that bash makes of a text behind an unquoted $NAME, where that is certain and
  /// they are whole options.
  bool split_held(const Word& word, const lint::Assignment& held) {
    const auto is_empty = [](const Part& part) {
      return part.kind == PartKind::text && part.text.empty();
    };
    std::vector<Part> parts = held.value.parts;
    std::erase_if(parts, is_empty);
    const bool text = parts.size() == 1 && parts[0].kind == PartKind::text && !held.append &&
                      !held.indexed && held.begin < word.begin && is_set_once(script_, held.name);
    const bool splits = word.parts.size() == 1 && !word.parts[0].quoted &&
                        word.parts[0].operation.empty() && word.parts[0].index.empty() &&
                        !script_.run.assigned.contains("IFS");
    if (!text || !splits) return false;
    const auto& [begin, bytes] = std::pair(parts[0].begin, parts[0].text);
    if (script_.text.substr(begin, bytes.size()) != bytes ||
        bytes.find_first_of("*?[") != std::string::npos)
      return false;
    std::vector<Word> made;
    std::vector<std::string_view> words;
    constexpr std::string_view blanks = " \t\n";
    for (std::size_t at = bytes.find_first_not_of(blanks); at != std::string::npos;) {
      const auto end = std::min(bytes.find_first_of(blanks, at), bytes.size());
      words.push_back(std::string_view(bytes).substr(at, end - at));
      made.push_back({.begin = begin + at, .end = begin + end});
      at = bytes.find_first_not_of(blanks, end);
    }
    const auto read = read_slurm_options(words, SlurmProgram::srun);
    const bool whole = read.problems.empty() && read.program == words.size() &&
                       std::ranges::find(words, "--") == words.end();
    for (std::size_t i = 0; whole && i < words.size(); ++i)
      add(std::string(words[i]), split_.emplace_back(std::move(made[i])));
    return whole;
  }

  std::string written(const Word& word) const {
    return std::string(script_.text.substr(word.begin, word.end - word.begin));
  }

  /// The value with variables that have one value for certain.
  std::string value_known(const ReadOption& option, std::string_view value) const {
    if (is_known(value)) return std::string(value);
    const auto* given = lint::last_option(launch_.options, option.name);
    const bool known = given != nullptr && given->has_value && given->value.known();
    return known ? given->value.bytes() : std::string(value);
  }

  /// Options that share a reason share a line.
  void drop(const std::string& option, std::string_view why) {
    const auto known =
        std::ranges::find(dropped_, why, &std::pair<std::string, std::string>::first);
    if (known == dropped_.end())
      dropped_.emplace_back(why, option);
    else
      known->second += ", " + option;
  }

  std::string as_written(const ReadOption& option) const {
    const std::string name = "--" + option.name;
    if (!option.has_value) return name;
    const std::string word = written(*sources_[option.last_word]);
    if (option.last_word != option.word) return name + "=" + word;
    const auto at = word.find(options_[option.word].substr(0, option.value_at));
    return name + "=" + word.substr(at == std::string::npos ? 0 : at + option.value_at);
  }

  void take(const ReadOption& option, const std::string& value) {
    if (option.name == "multi-prog") {
      read_.refusal =
          "srun --multi-prog starts several programs: write each as one of `components` "
          "(docs/how-to/components.md)";
      return;
    }
    if (option.name == "export") return take_export(option, value);
    const auto fate = std::ranges::find(fates, option.name, &OptionFate::option);
    if (fate != fates.end()) return drop(as_written(option), fate->why);
    if (!is_known(value))
      return drop(as_written(option), "its value is known only when the script runs");
    const auto* known = find_slurm_option(option.name, SlurmProgram::srun);
    const bool counted = known != nullptr && known->in_job_file == InJobFile::counted;
    if (counted) return take_counted(option, value);
    if (read_.container.take(option.name, value)) return;
    if (is_of_container(option.name))
      return drop(as_written(option), "environment.container has no such key");
    read_.extra.push_back("--" + option.name + (option.has_value ? "=" + value : ""));
  }

  /// The numbers are in the step's request.
  void take_counted(const ReadOption& option, const std::string& value) {
    if (option.name == "job-name") drop(as_written(option), "the job file's name names the ranks");
    const bool others = option.name == "gres" &&
                        !std::ranges::all_of(split_at(value, ','), [](std::string_view piece) {
                          return asks_for_gpus(piece);
                        });
    if (others || is_narrower(option, value)) drop(as_written(option), step_is_whole);
  }

  /// Whether the option gives the step fewer GPUs than the job has.
  bool is_narrower(const ReadOption& option, const std::string& value) const {
    const long all = script_.request.node_gpus();
    const OptionGiven given = {.name = option.name, .value = value, .has_value = option.has_value};
    auto own = step_request(SlurmRequest{}, std::span(&given, 1));
    const std::array counts = {own.gpus, own.gpus_per_node, own.gpus_per_socket, own.gpus_per_task};
    if (all > 0 && std::ranges::find(counts, 0) != counts.end()) return true;
    if (all < 1 || !own.wants_gpus) return false;
    const auto step = lint::step_request(script_, launch_);
    if (own.gpus > 0) return step.nodes > 0 && own.gpus < all * step.nodes;
    own.ntasks_per_node = step.tasks_per_node();
    own.sockets_per_node = step.sockets_per_node;
    const long gpus = own.node_gpus();
    return gpus >= 0 && gpus < all;
  }

  void take_export(const ReadOption& option, const std::string& value) {
    const auto list = read_export_list(value);
    if (!list.all)
      drop(as_written(option),
           "without ALL, PATH and the script's exports do not reach the ranks; here they do");
    for (const auto& [name, held] : list.assigned)
      if (is_known(held)) read_.variables.emplace_back(name, held);
    if (is_known(value)) return;
    const std::string text = as_written(option);
    for (const auto piece : pieces_of(std::string_view(text).substr(text.find('=') + 1))) {
      const auto name = piece.substr(0, piece.find('='));
      const bool wanted = std::ranges::any_of(list.assigned, [name](const auto& one) {
        return one.first == name && !is_known(one.second);
      });
      if (wanted && has_whole_quotes(piece)) read_.exports.emplace_back(piece);
    }
    const auto unknown = static_cast<std::size_t>(std::ranges::count_if(
        list.assigned, [](const auto& one) { return !is_known(one.second); }));
    if (unknown > read_.exports.size())
      drop(text, "its values are known only when the script runs: export them before srun");
  }

  const lint::Script& script_;
  const lint::Launch& launch_;
  std::span<const Word> words_;
  std::vector<std::string> options_;                          // as parsed by read_slurm_options()
  std::vector<const Word*> sources_;                          // of each
  std::deque<Word> split_;                                    // those that stand within a text
  std::vector<std::pair<std::string, std::string>> dropped_;  // why, and the options
  SrunWords read_;
};

}  // namespace

bool ContainerWords::take(std::string_view option, std::string_view value) {
  if (option == "container-image") image = value;
  if (option == "container-mounts")
    for (const auto mount : split_at(value, ',')) mounts.emplace_back(mount);
  return option == "container-image" || option == "container-mounts";
}

bool is_of_container(std::string_view option) {
  return option.starts_with("container-") || option.starts_with("no-container-");
}

ExportList read_export_list(std::string_view value) {
  ExportList list;
  for (std::string_view piece : pieces_of(value)) {
    const auto equals = piece.find('=');
    if (piece == "ALL") list.all = true;
    if (equals == std::string_view::npos || equals == 0) continue;
    std::string_view held = piece.substr(equals + 1);
    const bool quoted =
        held.size() > 1 && (held[0] == '"' || held[0] == '\'') && held.back() == held[0];
    if (quoted) held = held.substr(1, held.size() - 2);
    list.assigned.emplace_back(piece.substr(0, equals), held);
  }
  return list;
}

SrunWords read_srun_words(const lint::Script& script, const lint::Launch& launch,
                          std::span<const lint::Word> words, std::size_t begin) {
  return SrunReader(script, launch, words).read(begin);
}

}  // namespace dllaunch
