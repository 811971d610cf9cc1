#include "launcher/init/mpirun_words.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "launcher/slurm/slurm_options.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

enum class Means { ranks, ranks_per_node, variable, named_variable, place, setting };

struct MpirunOption {
  std::string_view name;  // without dashes
  std::size_t values;
  Means means;
};

constexpr std::array<MpirunOption, 35> mpirun_options = {{
    {"np", 1, Means::ranks},
    {"n", 1, Means::ranks},
    {"N", 1, Means::ranks_per_node},
    {"npernode", 1, Means::ranks_per_node},
    {"ppn", 1, Means::ranks_per_node},
    {"perhost", 1, Means::ranks_per_node},
    {"x", 1, Means::variable},
    {"genv", 2, Means::named_variable},
    {"env", 2, Means::named_variable},
    {"genvall", 0, Means::place},
    {"genvlist", 1, Means::place},
    {"hostfile", 1, Means::place},
    {"machinefile", 1, Means::place},
    {"f", 1, Means::place},
    {"host", 1, Means::place},
    {"hosts", 1, Means::place},
    {"H", 1, Means::place},
    {"map-by", 1, Means::place},
    {"bind-to", 1, Means::place},
    {"rank-by", 1, Means::place},
    {"bootstrap", 1, Means::place},
    {"launcher", 1, Means::place},
    {"rmk", 1, Means::place},
    {"report-bindings", 0, Means::place},
    {"display-map", 0, Means::place},
    {"oversubscribe", 0, Means::place},
    {"allow-run-as-root", 0, Means::place},
    {"tag-output", 0, Means::place},
    {"prepend-rank", 0, Means::place},
    {"l", 0, Means::place},
    {"mpi", 0, Means::place},
    {"mca", 2, Means::setting},
    {"prefix", 1, Means::setting},
    {"iface", 1, Means::setting},
    {"network-interface", 1, Means::setting},
}};

/// Puts what an option means into `read`. `first` and `second` are its values.
void take(const MpirunOption& option, const std::string& first, const std::string& second,
          MpirunWords& read) {
  const auto equals = first.find('=');
  switch (option.means) {
    case Means::ranks:
      read.ranks = parse_number<long>(first).value_or(-1);
      break;
    case Means::ranks_per_node:
      read.ranks_per_node = parse_number<long>(first).value_or(-1);
      break;
    case Means::variable:
      // Without a value srun hands it on anyway.
      if (equals != std::string::npos)
        read.variables.emplace_back(first.substr(0, equals), first.substr(equals + 1));
      break;
    case Means::named_variable:
      read.variables.emplace_back(first, second);
      break;
    case Means::setting:
      read.dropped.push_back(
          fmt::format("{} {}{}{}", option.name, first, second.empty() ? "" : " ", second));
      break;
    case Means::place:
      break;
  }
}

}  // namespace

MpirunWords read_mpirun_words(std::span<const std::string> words) {
  MpirunWords read;
  std::size_t at = 0;
  while (at < words.size() && words[at].starts_with('-') && words[at] != "--") {
    const auto equals = words[at].find('=');
    std::string_view name = std::string_view(words[at]).substr(0, equals);
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    const auto option = std::ranges::find(mpirun_options, name, &MpirunOption::name);
    if (option == mpirun_options.end()) {
      read.refusal = fmt::format("mpirun has the option {}, which is unknown here", words[at]);
      return read;
    }
    const bool joined = equals != std::string::npos && option->values == 1;
    const auto value = [&](std::size_t i) {
      return at + i < words.size() && i <= option->values ? words[at + i] : std::string();
    };
    take(*option, joined ? words[at].substr(equals + 1) : value(1), value(2), read);
    at += joined ? 1 : 1 + option->values;
  }
  if (at < words.size() && words[at] == "--") ++at;
  read.program = std::min(at, words.size());
  if (std::ranges::find(words, std::string(":")) != words.end())
    read.refusal = "mpirun starts several programs";
  if (read.program == words.size()) read.refusal = "mpirun names no program";
  for (const auto& [variable, value] : read.variables)
    if ((variable + value).find(unknown_piece) != std::string::npos)
      read.refusal = "mpirun sets a variable that is known only when the script runs";
  return read;
}

}  // namespace dllaunch
