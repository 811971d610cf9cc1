#include "launcher/slurm/option_overrides.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "launcher/base/nearest_name.hpp"
#include "launcher/slurm/slurm_options.hpp"

namespace dllaunch {
namespace {

using Strings = std::vector<std::string>;

/// Options in a row contradict each other, besides those that Slurm refuses together: the last one
/// counts.
constexpr std::array<std::array<std::string_view, 4>, 2> one_of = {{
    {"--requeue", "--no-requeue", "", ""},
    {"--gpus-per-node", "--gpus", "--gpus-per-socket", "--gpus-per-task"},
}};

/// The job file key for an option that the plan depends on. Overriding it elsewhere would make the
/// plan wrong.
std::string_view key_of(std::string_view option) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> keys = {{
      {"--nodes", "resources.nodes"},
      {"--ntasks", "resources.ranks_per_node"},
      {"--ntasks-per-node", "resources.ranks_per_node"},
      {"--cpus-per-task", "resources.cpus_per_rank"},
      {"--gpus-per-node", "resources.gpus_per_node"},
      {"--partition", "resources.partition"},
      {"--constraint", "resources.constraint"},
      {"--array", "array"},
  }};
  const auto found =
      std::ranges::find_if(keys, [&](const auto& row) { return row.first == option; });
  return found == keys.end() ? std::string_view() : found->second;
}

/// The GPU count: 4 in "h100:4" and in "4".
std::string_view count_in(std::string_view value) {
  const auto colon = value.rfind(':');
  return colon == std::string_view::npos ? value : value.substr(colon + 1);
}

/// The full name, with dashes, of the option in "!-p", "!--open-mode=append".
std::string removed_name(std::string_view text, SlurmProgram program) {
  text = text.substr(0, text.find_first_of("= "));
  if (text.starts_with("--")) {
    std::string name(text);
    std::ranges::replace(name, '_', '-');
    return name;
  }
  for (const auto& option : slurm_options()) {
    if (option.serves(program) && option.letter != '\0' && text.size() == 2 &&
        text[1] == option.letter)
      return "--" + std::string(option.name);
  }
  return std::string(text);
}

/// Edits one list of options.
class Edit {
 public:
  Edit(OptionLines ours, SlurmProgram program, std::string_view where)
      : where_(where), program_(program) {
    edited_.ours = std::move(ours);
  }

  void remove(std::string_view text) {
    const auto name = removed_name(text, program_);
    const auto gone =
        std::erase_if(edited_.ours, [&](const auto& option) { return option.first == name; });
    if (gone > 0) return;
    Strings known;
    for (const auto& option : edited_.ours) known.push_back(option.first);
    const auto nearest = nearest_name(name, known);
    edited_.warnings.push_back(fmt::format("{}: there is no {} to remove{}", where_, name,
                                           nearest ? fmt::format("; write !{}", *nearest) : ""));
  }

  /// The index in `ours` of an equivalent option; ours.size() if there is none.
  std::size_t find(std::string_view name, std::string_view value) const {
    const auto& ours = edited_.ours;
    const auto found = std::ranges::find_if(
        ours, [&](const auto& option) { return decide_the_same(option.first, name, value); });
    return static_cast<std::size_t>(found - ours.begin());
  }

  void warn_of_a_stale_plan(const std::string& name, const std::string& value) {
    const auto key = key_of(name);
    if (key.empty()) return;
    const auto at = find(name, value);
    const bool there = at < edited_.ours.size() && edited_.ours[at].first == name;
    if (there && count_in(edited_.ours[at].second) == count_in(value)) return;
    // srun takes its counts from sbatch's options; the plan depends on no srun option that it did
    // not write.
    if (!there && program_ == SlurmProgram::srun) return;
    edited_.warnings.push_back(fmt::format(
        "{}: {} changes the job but not the plan{}: set {} instead", where_,
        option_word({name, value}),
        there ? fmt::format(", which counts on {}", option_word(edited_.ours[at])) : "", key));
  }

  void replace(std::size_t at, std::string name, std::string value) {
    edited_.ours[at] = {std::move(name), std::move(value)};
  }
  void drop(std::size_t at) {
    edited_.ours.erase(edited_.ours.begin() + static_cast<std::ptrdiff_t>(at));
  }
  std::size_t size() const { return edited_.ours.size(); }
  void add(std::string word) { edited_.more.push_back(std::move(word)); }
  OverriddenOptions take() { return std::move(edited_); }

 private:
  OverriddenOptions edited_;
  std::string_view where_;
  SlurmProgram program_;
};

/// "-p gpu" and "--mail-type END" are two words on one line.
std::vector<std::string_view> words_of_line(std::string_view line) {
  const auto blank = line.find(' ');
  const auto equals = line.find('=');
  if (blank == std::string::npos || equals < blank) return {line};
  const auto value = line.find_first_not_of(' ', blank);
  std::vector<std::string_view> words = {line.substr(0, blank)};
  if (value != std::string::npos) words.push_back(line.substr(value));
  return words;
}

}  // namespace

bool decide_the_same(std::string_view a, std::string_view b, std::string_view b_value) {
  if (a == b) return true;
  const auto excluded = [&](const ExclusiveOptions& pair) {
    return (a.substr(2) == pair.one && b.substr(2) == pair.other && excludes(pair, "", b_value)) ||
           (a.substr(2) == pair.other && b.substr(2) == pair.one && pair.other != "gres");
  };
  return std::ranges::any_of(exclusive_options(), excluded) ||
         std::ranges::any_of(one_of, [&](const auto& row) {
           return std::ranges::find(row, a) != row.end() && std::ranges::find(row, b) != row.end();
         });
}

std::optional<std::pair<std::string, std::string>> option_of_line(const std::string& line) {
  const auto words = words_of_line(line);
  // "-p gpu -A bio"
  if (words.size() == 2 && words[1].find(" -") != std::string::npos) return std::nullopt;
  const auto parsed = read_slurm_options(words, SlurmProgram::sbatch);
  if (parsed.options.size() != 1 || !parsed.problems.empty() || !parsed.others.empty() ||
      !parsed.complete)
    return std::nullopt;
  return std::pair("--" + parsed.options[0].name, std::string(value_of(parsed.options[0], words)));
}

std::string option_word(const std::pair<std::string, std::string>& option) {
  return option.second.empty() ? option.first : option.first + "=" + option.second;
}

OverriddenOptions override_sbatch(OptionLines ours, const Strings& extras) {
  Edit edit(std::move(ours), SlurmProgram::sbatch, "resources.sbatch_extra");
  for (const auto& extra : extras) {
    if (extra.starts_with("!-")) {
      edit.remove(std::string_view(extra).substr(1));
      continue;
    }
    auto option = option_of_line(extra);
    if (!option) {
      edit.add(extra);
      continue;
    }
    edit.warn_of_a_stale_plan(option->first, option->second);
    const auto at = edit.find(option->first, option->second);
    if (at < edit.size())
      edit.replace(at, option->first, option->second);
    else
      edit.add(words_of_line(extra).size() == 1 ? extra
                                                : option_word({option->first, option->second}));
  }
  return edit.take();
}

OverriddenOptions override_srun(OptionLines ours, const Strings& extras) {
  Edit edit(std::move(ours), SlurmProgram::srun, "resources.srun_extra");
  std::vector<std::string_view> words;
  for (const auto& extra : extras) {
    if (extra.starts_with("!-")) {
      edit.remove(std::string_view(extra).substr(1));
      continue;
    }
    edit.add(extra);
    words.emplace_back(extra);
  }
  const auto parsed = read_slurm_options(words, SlurmProgram::srun);
  for (const auto& option : parsed.options) {
    const auto name = "--" + option.name;
    const std::string value(value_of(option, words));
    edit.warn_of_a_stale_plan(name, value);
    if (const auto at = edit.find(name, value); at < edit.size()) edit.drop(at);
  }
  return edit.take();
}

}  // namespace dllaunch
