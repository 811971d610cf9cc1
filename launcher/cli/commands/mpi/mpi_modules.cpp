#include "launcher/cli/commands/mpi/mpi_modules.hpp"

#include <fmt/core.h>

#include "launcher/plan/program_paths.hpp"
#include "runtime/rank/mpi_module_file.hpp"

namespace dllaunch {

Json describe_mpi_module(System& system, const std::string& path) {
  const auto failed = [&](const std::string& why) {
    return Json{{"path", path}, {"problem", why}};
  };
  const auto programs = program_paths("");
  if (!programs) return failed(programs.error().what);
  const auto output =
      system.run({programs->dltrain, "--describe-mpi", path}, std::chrono::seconds(20));
  if (!output) return failed(output.error().what);
  Json described = Json::parse(output->out, nullptr, /*allow_exceptions=*/false);
  if (output->exit_code == 0 && described.is_object()) return described;
  return failed(fmt::format("dltrain exited with {} when it loaded the MPI module {}: {}",
                            output->exit_code, path,
                            output->err.substr(0, output->err.find('\n'))));
}

Json mpi_modules(System& system) {
  Json all = Json::array();
  const auto lookup = [&](const std::string& name) { return system.environment(name); };
  for (const std::string& place : mpi_module_places(lookup)) {
    const bool named = lookup(mpi_module_variable).has_value();
    if (named || system.look_at(place).exists) all.push_back(describe_mpi_module(system, place));
  }
  return all;
}

}  // namespace dllaunch
