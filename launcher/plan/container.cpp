#include "launcher/plan/container.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "launcher/base/split.hpp"
#include "launcher/plan/plan.hpp"

namespace dllaunch {
namespace {

using Strings = std::vector<std::string>;

/// enroot passes on no variables by default. Passes all except those with paths of the host.
constexpr const char* enroot_with_our_variables =
    "for name in $(compgen -e); do case $name in "
    "PATH|HOME|SHELL|PWD|OLDPWD|SHLVL|HOSTNAME|TMPDIR|XDG_*|LD_*|ENROOT_*|_) ;; "
    "*) with+=(--env \"$name\") ;; esac; done; "
    "if [ -n \"$DLLAUNCH_STAGE\" ]; then with+=(--mount \"$DLLAUNCH_STAGE:$DLLAUNCH_STAGE\"); fi; "
    "exec enroot start \"${with[@]}\" \"$@\"";

struct Mount {
  std::string from;
  std::string to;
  bool read_only = false;
};

Error bad_path(const std::string& path, std::string_view why, std::string hint) {
  return {ErrorKind::bad_request, fmt::format("environment.container: '{}' {}", path, why),
          std::move(hint)};
}

/// HOST, HOST:INSIDE, HOST:INSIDE:ro
Result<Mount> read_mount(const std::string& text) {
  const auto parts = split_at(text, ':');
  const bool mode = parts.size() == 3 && (parts[2] == "ro" || parts[2] == "rw");
  const bool known = parts.size() == 1 || parts.size() == 2 || mode;
  if (!known || parts[0].empty() || (parts.size() > 1 && parts[1].empty()))
    return bad_path(text, "is not a mount", "write it as HOST, HOST:INSIDE or HOST:INSIDE:ro");
  return Mount{.from = std::string(parts[0]),
               .to = std::string(parts.size() > 1 ? parts[1] : parts[0]),
               .read_only = mode && parts[2] == "ro"};
}

/// The run directory, the current folder, and the job file's mounts. Colons and commas separate
/// paths in every runtime's options, blanks in enroot's tables.
Result<std::vector<Mount>> mounts_of(const LaunchPlan& plan) {
  const bool enroot = plan.container->runtime == "enroot";
  std::vector<Mount> mounts;
  for (const auto& path : {plan.paths.run_dir, plan.paths.work_dir}) {
    if (path.find_first_of(enroot ? ":, \t" : ":,") != std::string::npos)
      return bad_path(path, "has a character that mounts cannot carry",
                      "work in a folder, and with a --run-dir, without colons, commas and blanks");
    mounts.push_back({.from = path, .to = path});
  }
  // Filled in by the shim, or with Pyxis by the script.
  if (plan.stage.wanted())
    mounts.push_back({.from = std::string(stage_mark), .to = std::string(stage_mark)});
  for (const auto& text : plan.container->mounts) {
    if (text.find_first_of(enroot ? ", \t" : ",") != std::string::npos)
      return bad_path(text, "has a character that mounts cannot carry",
                      "one mount an entry, without commas (enroot: nor blanks)");
    auto mount = read_mount(text);
    if (!mount) return std::move(mount).error();
    mounts.push_back(*std::move(mount));
  }
  return mounts;
}

/// Apptainer's option for the GPU driver's libraries.
std::string gpu_option(int gpus, const std::string& device, const LaunchPlan& plan) {
  if (device == "hip") return "--rocm";
  if (device == "cuda") return "--nv";
  if (gpus == 0) return "";
  const auto& seen = plan.topology.gpus;
  const bool amd = std::ranges::any_of(seen, [](const Gpu& gpu) { return gpu.vendor == "amd"; });
  return amd ? "--rocm" : "--nv";
}

std::string image_of(const LaunchPlan& plan) {
  const auto fetched = fetched_image(plan);
  const auto& image = fetched.empty() ? plan.container->image : fetched;
  return image.starts_with('-') ? "./" + image : image;
}

Strings apptainer(const std::vector<Mount>& mounts, const std::string& gpu,
                  const LaunchPlan& plan) {
  Strings argv = {plan.container->runtime, "exec"};
  if (!gpu.empty()) argv.push_back(gpu);
  for (const auto& mount : mounts) {
    const bool same = mount.from == mount.to && !mount.read_only;
    argv.emplace_back("--bind");
    argv.push_back(
        same ? mount.from
             : fmt::format("{}:{}{}", mount.from, mount.to, mount.read_only ? ":ro" : ""));
  }
  // --cwd in new versions, which still accept the old name.
  argv.insert(argv.end(), {"--pwd", plan.paths.work_dir, image_of(plan)});
  return argv;
}

Strings enroot(const std::vector<Mount>& mounts, const LaunchPlan& plan) {
  Strings argv = {"bash", "-c", enroot_with_our_variables, "enroot"};
  for (const auto& mount : mounts) {
    argv.emplace_back("--mount");
    argv.push_back(fmt::format("{}:{}{}", mount.from, mount.to,
                               mount.read_only ? ":none:x-create=auto,rbind,ro" : ""));
  }
  // enroot has no option for the working directory.
  argv.insert(argv.end(), {"--", image_of(plan), "sh", "-c", "cd -- \"$0\" && exec \"$@\"",
                           plan.paths.work_dir});
  return argv;
}

}  // namespace

std::string container_shim(const LaunchPlan& plan) {
  return task_dir(plan) + "/shim";
}

std::string fetched_image(const LaunchPlan& plan) {
  const bool here = plan.container && !plan.pyxis && plan.launcher == Launcher::slurm;
  if (!here || plan.container->image.find("://") == std::string::npos) return "";
  return plan.paths.run_dir + (plan.container->runtime == "enroot" ? "/image.sqsh" : "/image.sif");
}

Result<Ok> enter_container(int gpus, const std::string& device, LaunchPlan& plan) {
  if (!plan.container) return Ok{};
  const auto mounts = mounts_of(plan);
  if (!mounts) return mounts.error();
  if (plan.pyxis) return Ok{};
  auto argv = plan.container->runtime == "enroot"
                  ? enroot(*mounts, plan)
                  : apptainer(*mounts, gpu_option(gpus, device, plan), plan);
  auto& program = plan.start.program;
  program.insert(program.begin(), argv.begin(), argv.end());
  return Ok{};
}

std::vector<std::pair<std::string, std::string>> pyxis_options(const LaunchPlan& plan) {
  if (!plan.pyxis || !plan.container) return {};
  const auto mounts = mounts_of(plan);
  std::string list;
  // enter_container has refused invalid mounts.
  for (const auto& mount : mounts ? *mounts : std::vector<Mount>{})
    list += fmt::format("{}{}:{}{}", list.empty() ? "" : ",", mount.from, mount.to,
                        mount.read_only ? ":ro" : "");
  return {{"--container-image", plan.container->image},
          {"--container-mounts", list},
          {"--container-workdir", plan.paths.work_dir}};
}

}  // namespace dllaunch
