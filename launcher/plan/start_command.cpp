#include "launcher/plan/start_command.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace dllaunch {
namespace {

using Argv = std::vector<std::string>;

/// The position of the shim in argv: dllaunch, or the loader that starts it in a container.
Argv::const_iterator find_shim(const Argv& argv) {
  constexpr std::array<std::string_view, 2> mark = {"exec", "--run-dir"};
  const auto exec = std::search(argv.begin(), argv.end(), mark.begin(), mark.end());
  const auto before = exec - argv.begin();
  if (exec == argv.end() || before < 2) return argv.end();
  const bool by_loader = before > 4 && *(exec - 3) == "--library-path";
  return exec - (by_loader ? 4 : 1);
}

}  // namespace

Starter StartCommand::kind() const {
  if (starter.empty()) return Starter::none;
  if (starter == "srun") return Starter::srun;
  if (starter == "mpirun") return Starter::mpirun;
  if (!options.empty() && options.front() == "spawn") return Starter::spawn;
  return starter == "aprun" ? Starter::aprun : Starter::other;
}

Argv StartCommand::argv() const {
  Argv argv;
  if (!starter.empty()) argv.push_back(starter);
  for (const auto* part : {&options, &shim, &program})
    argv.insert(argv.end(), part->begin(), part->end());
  return argv;
}

StartCommand start_command_of(const Argv& argv) {
  if (argv.empty()) return {};
  const auto shim = find_shim(argv);
  const auto dashes = std::find(shim, argv.end(), "--");
  const auto program = dashes == argv.end() ? dashes : dashes + 1;
  return {.starter = argv.front(),
          .options = {argv.begin() + 1, shim},
          .shim = {shim, program},
          .program = {program, argv.end()}};
}

}  // namespace dllaunch
