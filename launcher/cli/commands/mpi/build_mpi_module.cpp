// Compiles dltrain's MPI module with the compiler of the MPI that is here.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "launcher/base/shell_quote.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/mpi/mpi_modules.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/scratch_folder.hpp"
#include "runtime/rank/mpi_module_file.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view build_mpi_module_examples =
    R"(  module load openmpi && dllaunch build-mpi-module    for the MPI that is loaded
  dllaunch build-mpi-module --compiler mpicc_abi      for every MPI with the standard ABI
  dllaunch build-mpi-module --compiler cc             Cray: the wrapper of the PrgEnv modules
  dllaunch info                                       says which MPI the module fits
)";

struct BuildMpiModuleArguments {
  std::string compiler = {};
  std::string output = {};
};

Result<std::string> choose_compiler(const BuildMpiModuleArguments& options, System& system) {
  if (!options.compiler.empty()) return options.compiler;
  if (system.find_program("mpicc")) return std::string("mpicc");
  // Elsewhere cc knows no MPI.
  if (system.environment("CRAYPE_VERSION") && system.find_program("cc")) return std::string("cc");
  return Error{ErrorKind::unavailable, "there is no mpicc on PATH",
               "load an MPI (module load openmpi), or name its compiler: --compiler PATH"};
}

Result<std::string> choose_output(const BuildMpiModuleArguments& options, System& system) {
  if (!options.output.empty()) return fs::absolute(options.output).string();
  auto own = own_mpi_module([&](const std::string& name) { return system.environment(name); });
  if (!own.empty()) return own;
  return Error{ErrorKind::bad_request, "HOME is not set", "--output FILE"};
}

Result<Ok> compile(const std::string& compiler, const std::string& output, System& system) {
  const ScratchFolder sources(temporary_folder());
  const std::string source = sources.path() + "/dltrain_mpi.c";
  for (const auto& [file, text] : {std::pair(source, mpi_module_source()),
                                   std::pair(sources.path() + "/mpi_table.h", mpi_module_table())})
    if (auto written = write_file(file, std::string(text)); !written) return written;
  const auto ended =
      system.run({compiler, "-std=c99", "-O2", "-fPIC", "-shared", "-o", output, source},
                 std::chrono::seconds(60));
  if (!ended) return ended.error();
  if (ended->exit_code == 0) return Ok{};
  system.log(ended->err);
  return Error{ErrorKind::unavailable,
               fmt::format("{} cannot compile the MPI module: it exited with {}", compiler,
                           ended->exit_code),
               "name the C compiler of an MPI: --compiler PATH"};
}

/// The module replaces an older one only if it can be used here.
Result<Json> make(const std::string& compiler, const std::string& output, System& system) {
  const std::string made = output + ".new";
  const auto compiled = compile(compiler, made, system);
  if (!compiled) return compiled.error();
  const Json described = describe_mpi_module(system, made);
  if (described.contains("problem")) {
    return Error{ErrorKind::unavailable, described["problem"].get<std::string>(),
                 "load the MPI whose compiler this is"};
  }
  std::error_code problem;
  fs::rename(made, output, problem);
  if (!problem) return described;
  return Error{ErrorKind::unavailable,
               fmt::format("cannot write {}: {}", output, problem.message()), "--output FILE"};
}

Result<int> build(const BuildMpiModuleArguments& options, System& system) {
  const auto compiler = choose_compiler(options, system);
  if (!compiler) return compiler.error();
  const auto output = choose_output(options, system);
  if (!output) return output.error();
  std::error_code problem;
  const auto folder = fs::path(*output).parent_path();
  fs::create_directories(folder, problem);
  if (problem) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot make {}: {}", folder.string(), problem.message()),
                 "--output FILE"};
  }
  const auto module = make(*compiler, *output, system);
  fs::remove(*output + ".new", problem);
  if (!module) return module.error();
  system.print(fmt::format("{}: for {}; the library here is {}\n", *output,
                           (*module)["fits"].get<std::string>(),
                           (*module)["library"].get<std::string>()));
  const auto used =
      find_mpi_module([&](const std::string& name) { return system.environment(name); });
  if (used != *output)
    system.print(fmt::format("  export {}={}\n", mpi_module_variable, shell_quote(*output)));
  return exit_code::success;
}

CommandBody declare_build_mpi_module(CommandOptions& app) {
  auto options = std::make_shared<BuildMpiModuleArguments>();
  app.add_option("--compiler", options->compiler,
                 "the C compiler of an MPI [mpicc; cc where Cray's modules are loaded]")
      ->type_name("PROGRAM");
  app.add_option("--output", options->output,
                 "the module [~/.local/lib/dllaunch/libdltrain_mpi.so, where dltrain looks first]")
      ->type_name("FILE");
  return [options](System& system) { return build(*options, system); };
}

}  // namespace

extern const Command build_mpi_module_command;
const Command build_mpi_module_command{"build-mpi-module",
                                       "compile dltrain's MPI module for this machine",
                                       build_mpi_module_examples, declare_build_mpi_module};

}  // namespace dllaunch
