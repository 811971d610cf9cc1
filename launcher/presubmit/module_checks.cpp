#include "launcher/presubmit/module_checks.hpp"

#include <fmt/core.h>

namespace dllaunch {
namespace {

constexpr std::chrono::seconds limit(60);
constexpr int no_module_command = 77;

/// Modules are passed as arguments, so that their names are never parsed as shell. Old versions
/// exit with 0 even on failure: a loaded module is in LOADEDMODULES.
constexpr std::string_view loader = R"(
if ! type module > /dev/null 2>&1; then
  for init in /etc/profile.d/{lmod,z00_lmod,modules}.sh; do
    if [ -r "$init" ]; then . "$init"; break; fi
  done
fi
type module > /dev/null 2>&1 || exit 77
module purge > /dev/null 2>&1
for name in "$@"; do
  before=$LOADEDMODULES
  module load "$name" > /dev/null 2>&1
  code=$?
  case ":$LOADEDMODULES:" in
    *":$name:"* | *":$name/"*) continue ;;
  esac
  if [ "$code" -ne 0 ] || [ "$LOADEDMODULES" = "$before" ]; then printf 'missing %s\n' "$name"; fi
done
printf 'done\n'
)";

}  // namespace

CheckFindings check_modules(const std::vector<std::string>& modules, System& system) {
  CheckFindings found;
  if (modules.empty()) return found;
  std::vector<std::string> argv = {"bash", "-lc", std::string(loader), "modules"};
  argv.insert(argv.end(), modules.begin(), modules.end());
  const auto output = system.run(argv, limit);
  if (output && output->exit_code == no_module_command) {
    add_error(found, ErrorKind::unavailable,
              "environment.modules: this machine has no `module` command",
              "remove environment.modules, or call dllaunch where `module avail` works");
    return found;
  }
  if (!output || output->out.find("done\n") == std::string::npos) {
    add_warning(
        found,
        fmt::format("environment.modules could not be checked: {}",
                    output ? "the shell that loads the modules ended early" : output.error().what),
        "try `module load` of each one in a shell");
    return found;
  }
  for (const auto& name : modules) {
    const auto line = "missing " + name + "\n";
    const bool missing =
        output->out.starts_with(line) || output->out.find("\n" + line) != std::string::npos;
    if (missing)
      add_error(found, ErrorKind::unsatisfiable,
                fmt::format("environment.modules: {} cannot be loaded here", name),
                fmt::format("`module avail` and `module load {}` say why", name));
  }
  return found;
}

}  // namespace dllaunch
