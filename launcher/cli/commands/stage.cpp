// Inside a job: copies data and programs to every node's local disk, and removes them at the end.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/os/stop_signals.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/staging/container_shim.hpp"
#include "launcher/staging/stage_job.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view stage_examples =
    R"(  DLLAUNCH_STAGE=$(dllaunch stage --folder)   in a batch script: the folder for its copies
  coproc srun --overlap --ntasks-per-node=1 \
    dllaunch stage --keep "$DLLAUNCH_STAGE"
                                              removes them when the job ends, however it ends
  dllaunch stage --to "$DLLAUNCH_STAGE" -- /scratch/imagenet.tar
)";

struct StageOptions {
  bool folder = false;
  std::string keep;
  std::string shim;
  bool here = false;
  bool make = false;
  std::vector<std::string> parcels;
  StageJob job;
};

Result<std::string> job_id(System& system) {
  const auto id = system.environment("SLURM_JOB_ID");
  if (id && !id->empty()) return *id;
  return Error{ErrorKind::unavailable, "staging needs a Slurm job, and SLURM_JOB_ID is not set",
               "use salloc or a batch script"};
}

/// A copy that was under way when Slurm ended the job may go on for a moment, so this tries again.
Result<Ok> remove_in_the_end(const std::string& folder) {
  constexpr int tries = 50;
  constexpr int pause_ms = 100;
  auto removed = remove_stage(folder);
  for (int i = 1; i < tries && !removed; ++i) {
    poll(nullptr, 0, pause_ms);
    removed = remove_stage(folder);
  }
  return removed;
}

/// Says that it is ready. Keeps the copies until standard input is closed or Slurm ends the step,
/// then removes them. With `make` it creates the folder itself, so that no other process creates it
/// after the removal.
Result<int> keep(const std::string& folder, bool make, System& system) {
  const StopSignals signals;
  // Meant for the ranks, but sent to every step of the job.
  for (const int meant_for_ranks : {SIGUSR1, SIGUSR2}) std::signal(meant_for_ranks, SIG_IGN);
  if (make) {
    if (auto made = make_stage_folder(system, folder); !made) return std::move(made).error();
  }
  system.print("kept: " + folder + "\n");
  std::fflush(stdout);
  pollfd input{STDIN_FILENO, POLLIN, 0};
  std::array<char, 256> text{};
  while (signals.count() == 0) {
    constexpr int look_ms = 1000;  // a signal may have come just before
    const int ready = poll(&input, 1, look_ms);
    if (ready > 0 && read(STDIN_FILENO, text.data(), text.size()) <= 0) break;
  }
  auto removed = remove_in_the_end(folder);
  if (!removed) return std::move(removed).error();
  return exit_code::success;
}

Result<int> stage_all(StageOptions options, System& system) {
  auto& job = options.job;
  const auto paths = program_paths("");
  if (!paths) return paths.error();
  job.dllaunch = paths->dllaunch;
  job.nodes =
      std::max(1, std::atoi(system.environment("SLURM_JOB_NUM_NODES").value_or("1").c_str()));
  const auto began = std::chrono::steady_clock::now();
  auto done = stage_on_all_nodes(system, job);
  if (!done) return std::move(done).error();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  system.log(fmt::format(
      "dllaunch: staged in {} on each node: sources {}, programs {}, nodes {}, {:.1f} s\n",
      job.request.folder, job.request.sources.size(), job.programs.size(), job.nodes,
      seconds.count()));
  return exit_code::success;
}

Result<Ok> stage_here(const StageOptions& options, System& system) {
  auto request = options.job.request;
  if (options.make) {
    auto made = request.made ? Ok{} : make_stage_folder(system, request.folder);
    return made ? make_parcel_folder(system, request.folder) : made;
  }
  for (const auto& word : options.parcels) {
    auto parcel = parcel_of(word);
    if (!parcel) return std::move(parcel).error();
    request.parcels.push_back(*std::move(parcel));
  }
  return stage_on_this_node(system, request);
}

Result<int> stage(const StageOptions& options, System& system) {
  if (options.folder) {
    const auto id = job_id(system);
    if (!id) return id.error();
    std::string passed_over;
    const auto disk = node_disk(system, &passed_over);
    if (!passed_over.empty())
      system.log(fmt::format("dllaunch: warning: stage: {}, and not in {}\n", disk, passed_over));
    system.print(stage_folder(disk, own_stage_id(*id)) + "\n");
    return exit_code::success;
  }
  if (!options.keep.empty()) return keep(options.keep, options.make, system);
  if (!options.shim.empty()) {
    auto copied = copy_container_shim(options.shim);
    if (!copied) return std::move(copied).error();
    return exit_code::success;
  }
  if (options.job.request.folder.empty())
    return Error{ErrorKind::bad_request, "stage: --to FOLDER is missing",
                 "--to \"$DLLAUNCH_STAGE\""};
  if (!options.here) return stage_all(options, system);
  auto done = stage_here(options, system);
  if (!done) return std::move(done).error();
  return exit_code::success;
}

CommandBody declare_stage(CommandOptions& app) {
  auto options = std::make_shared<StageOptions>();
  auto& job = options->job;
  app.add_flag("--folder", options->folder, "print the folder of this job; create nothing");
  app.add_option("--keep", options->keep, "on every node: remove FOLDER when standard input ends")
      ->type_name("FOLDER");
  app.add_option("--to", job.request.folder, "copy the sources there, on every node of the job")
      ->type_name("FOLDER");
  app.add_flag("--broadcast", job.broadcast,
               "read each source once and send it by sbcast; else each node reads it");
  app.add_option("--program", job.programs, "also copy this program and its libraries")
      ->type_name("PATH")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--shim", options->shim,
                 "copy dllaunch, its libraries and their loader to FOLDER, for a container")
      ->type_name("FOLDER");
  app.add_option("--run-dir", job.request.run_dir, "the run's directory: plan.json and train.json")
      ->type_name("DIR");
  app.add_flag("--here", options->here, "on this node alone");
  app.add_flag("--make", options->make, "only make the folder, for parcels to be sent there")
      ->group("");  // with --keep: and then keep it
  app.add_flag("--made", job.request.made, "the folder was made by --make")->group("");
  app.add_option("--parcel", options->parcels, "what was sent there, with its checksum")
      ->type_name("NAME=CHECKSUM")
      ->take_all()
      ->allow_extra_args(false)
      ->group("");
  app.add_option("SOURCE", job.request.sources, "directories, archives or files, after --");
  return [options](System& system) { return stage(*options, system); };
}

}  // namespace

extern const Command stage_command;
const Command stage_command{"stage", "copy data to each node's own disk before the ranks start",
                            stage_examples, declare_stage};

}  // namespace dllaunch
