#include "launcher/init/mpirun_words.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "launcher/slurm/slurm_options.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

enum class Means { ranks, ranks_per_node, variable, named_variable, mca, place, output, setting };

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
    {"genvall", 0, Means::setting},
    {"genvlist", 1, Means::setting},
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
    {"allow-run-as-root", 0, Means::setting},
    {"tag-output", 0, Means::output},
    {"prepend-rank", 0, Means::output},
    {"l", 0, Means::output},
    {"mpi", 0, Means::setting},
    {"mca", 2, Means::mca},
    {"prefix", 1, Means::setting},
    {"iface", 1, Means::setting},
    {"network-interface", 1, Means::setting},
}};

/// For people.
std::string shown(const std::string& word) {
  std::string text;
  for (const char c : word) text += c == unknown_piece ? "$..." : std::string(1, c);
  return text;
}

/// Puts what an option means into `read`. `first` and `second` are its values.
void take(const MpirunOption& option, const std::string& written, const std::string& first,
          const std::string& second, MpirunWords& read) {
  const auto equals = first.find('=');
  const auto drop = [&](std::string_view why) {
    read.dropped.push_back(fmt::format("{}: {}", written, why));
  };
  switch (option.means) {
    case Means::ranks:
    case Means::ranks_per_node: {
      auto& count = option.means == Means::ranks ? read.ranks : read.ranks_per_node;
      count = parse_number<long>(first).value_or(-1);
      if (count < 0) drop("it is known only when the script runs: the directives count the ranks");
      break;
    }
    case Means::variable:
      if (equals != std::string::npos)
        read.variables.emplace_back(first.substr(0, equals), first.substr(equals + 1));
      else
        drop("the ranks have all of the script's exports");
      break;
    case Means::named_variable:
      read.variables.emplace_back(first, second);
      break;
    case Means::mca:
      read.variables.emplace_back("OMPI_MCA_" + first, second);
      break;
    case Means::place:
      drop("dllaunch places and binds the ranks (binding:)");
      break;
    case Means::output:
      drop("each rank has a log of its own (`dllaunch logs`)");
      break;
    case Means::setting:
      drop("it concerns mpirun, and srun starts the ranks");
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
    const std::size_t taken = joined ? 1 : 1 + option->values;
    std::string written = shown(words[at]);
    for (std::size_t i = 1; i < taken; ++i) written += " " + shown(value(i));
    const bool sets = option->means == Means::variable || option->means == Means::named_variable;
    const bool known = (value(1) + value(2)).find(unknown_piece) == std::string::npos;
    if (sets && !known)
      read.exports.push_back({.begin = at + 1, .words = option->values});
    else
      take(*option, written, joined ? words[at].substr(equals + 1) : value(1), value(2), read);
    at += taken;
  }
  if (at < words.size() && words[at] == "--") ++at;
  read.program = std::min(at, words.size());
  if (std::ranges::find(words, std::string(":")) != words.end())
    read.refusal =
        "mpirun starts several programs: write each as one of `components` "
        "(docs/how-to/components.md)";
  if (read.program == words.size()) read.refusal = "mpirun names no program";
  return read;
}

}  // namespace dllaunch
