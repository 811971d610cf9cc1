#include "launcher/plan/program_paths.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include "launcher/job/trainer_backends.hpp"
#include "launcher/os/own_executable.hpp"

namespace dllaunch {

Result<Paths> program_paths(const std::string& run_dir) {
  auto program = own_executable();
  if (!program) return std::move(program).error();
  std::error_code problem;
  const auto here = std::filesystem::current_path(problem);
  if (problem)
    return Error{ErrorKind::unavailable,
                 "cannot determine the current folder: " + problem.message(),
                 "cd to one that exists"};
  // Resolve links now: they may point elsewhere when the job restarts.
  auto real = std::filesystem::weakly_canonical(here / run_dir, problem);
  if (problem) real = (here / run_dir).lexically_normal();
  return Paths{.dllaunch = *program,
               .dltrain = (std::filesystem::path(*program).parent_path() / "dltrain").string(),
               .run_dir = real.lexically_normal().string(),
               .work_dir = here.string(),
               .trainer_gpus = gpu_devices(trainer_backends())};
}

}  // namespace dllaunch
