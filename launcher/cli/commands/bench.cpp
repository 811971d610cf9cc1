// Measurements of this machine, or of the nodes of a Slurm allocation.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/base/nearest_name.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cluster/facts.hpp"
#include "launcher/job/job_schema.hpp"
#include "launcher/plan/mpi_plugin.hpp"
#include "launcher/plan/program_paths.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view bench_examples =
    R"(  dllaunch bench allreduce                                  two ranks here, 4 B to 64 MiB
  dllaunch bench allreduce --ranks 4 --communicator mpi     the MPI library's own allreduce
  salloc -N 2 --ntasks-per-node 4 dllaunch bench allreduce  the ranks of an allocation
  dllaunch bench allreduce --min-bytes 1048576 --json
  salloc -N 2 dllaunch bench allreduce --project 16,64      predict 16 and 64 nodes
)";

struct BenchArguments {
  std::string what;
  std::optional<int> ranks;
  std::string communicator = "auto";
  std::size_t min_bytes = 4;
  std::size_t max_bytes = std::size_t{64} << 20;
  int iterations = 20;
  std::vector<int> project;
  bool json = false;
};

/// Checked against the job file's schema, to report an error once and not per rank.
Result<Ok> check_communicator(const std::string& name) {
  const Json* names =
      job_schema().at_path({"properties", "runtime", "properties", "allreduce", "enum"});
  std::vector<std::string> known;
  for (const Json& choice : names != nullptr ? *names : Json())
    known.push_back(choice.get<std::string>());
  if (std::find(known.begin(), known.end(), name) != known.end()) return Ok{};
  const auto nearest = nearest_name(name, known);
  return Error{ErrorKind::bad_request,
               fmt::format("unknown communicator '{}'{}", name,
                           nearest ? fmt::format("; did you mean '{}'?", *nearest) : ""),
               fmt::format("use one of: {}", fmt::join(known, ", "))};
}

/// Checked here for the same reason. fp32 is reduced, so sizes are multiples of 4.
Result<Ok> check_sizes(const BenchArguments& options) {
  if (options.min_bytes < 4 || options.min_bytes % 4 != 0) {
    return Error{
        ErrorKind::bad_request,
        fmt::format("--min-bytes is {}, but must be a multiple of 4: an fp32 value has 4 bytes",
                    options.min_bytes),
        ""};
  }
  if (options.max_bytes < options.min_bytes) {
    return Error{ErrorKind::bad_request,
                 fmt::format("--max-bytes is {}, less than --min-bytes {}", options.max_bytes,
                             options.min_bytes),
                 ""};
  }
  if (options.communicator == "solo" && options.ranks.value_or(2) > 1) {
    return Error{ErrorKind::bad_request, "communicator solo is for one rank only", "--ranks 1"};
  }
  return Ok{};
}

/// Inside an allocation, but not inside a step of it.
bool has_allocation(System& system) {
  return system.environment("SLURM_JOB_ID").has_value() &&
         !system.environment("SLURM_STEP_ID").has_value();
}

std::vector<std::string> start_here(const BenchArguments& options, const std::string& dllaunch,
                                    System& system) {
  const auto ranks = std::to_string(options.ranks.value_or(2));
  if (options.communicator != "mpi" && !system.find_program("mpirun"))
    return {dllaunch, "spawn", "--np", ranks, "--"};
  // The shim binds by GPU and NUMA node; mpirun's default would bind each rank to one core.
  return {"mpirun", "--np", ranks, "--bind-to", "none", "--oversubscribe", "--"};
}

Result<std::vector<std::string>> start_in_allocation(const BenchArguments& options,
                                                     System& system) {
  const auto facts = observe(system);
  if (!facts) return facts.error();
  const auto mpi = facts->slurm ? mpi_of_trainer(*facts->slurm) : std::nullopt;
  std::vector<std::string> argv;
  if (mpi || options.communicator != "mpi") {
    argv = {"srun", "--mpi=" + mpi.value_or("none"), "--cpu-bind=none", "--kill-on-bad-exit=1"};
    if (options.ranks) argv.push_back(fmt::format("--ntasks={}", *options.ranks));
  } else {
    argv = {"mpirun", "--bind-to", "none"};
    if (options.ranks) argv.insert(argv.end(), {"--np", std::to_string(*options.ranks)});
    argv.emplace_back("--");
  }
  return argv;
}

/// The user's own settings win.
void prepare_environment(bool in_allocation) {
  if (::geteuid() == 0) {
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  if (in_allocation) {
    ::setenv("SLURM_PMIX_FENCE", "ring", 0);  // as plan_slurm.cpp says
    return;
  }
  // As launch/local.cpp says.
  for (const char* name : {"OMPI_MCA_ras", "OMPI_MCA_plm", "PRTE_MCA_ras", "PRTE_MCA_plm"})
    ::setenv(name, "^slurm", 0);
  ::setenv("OMPI_MCA_reachable", "weighted", 0);
}

/// Replaces this process by the program that starts the ranks; rank 0 prints the table.
Result<int> become(const std::vector<std::string>& argv, System& system) {
  if (!system.find_program(argv[0])) {
    return Error{ErrorKind::unavailable, argv[0] + " is not installed",
                 argv[0] == "mpirun"
                     ? "install it (apt-get install openmpi-bin) or load it (module load openmpi)"
                     : ""};
  }
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const auto& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return Error{ErrorKind::unavailable, fmt::format("{}: {}", argv[0], std::strerror(errno)), ""};
}

Result<int> bench(const BenchArguments& options, System& system) {
  if (options.what != "allreduce") {
    return Error{ErrorKind::bad_request, fmt::format("unknown benchmark '{}'", options.what),
                 "dllaunch bench allreduce"};
  }
  if (auto known = check_communicator(options.communicator); !known)
    return std::move(known).error();
  if (auto good = check_sizes(options); !good) return std::move(good).error();
  auto paths = program_paths("");
  if (!paths) return std::move(paths).error();
  const bool in_allocation = has_allocation(system);
  auto start = in_allocation
                   ? start_in_allocation(options, system)
                   : Result<std::vector<std::string>>(start_here(options, paths->dllaunch, system));
  if (!start) return std::move(start).error();
  std::vector<std::string> argv = *std::move(start);
  argv.insert(argv.end(), {paths->dllaunch, "exec", "--", paths->dltrain, "--bench-allreduce",
                           options.communicator, std::to_string(options.min_bytes),
                           std::to_string(options.max_bytes), std::to_string(options.iterations),
                           options.json ? "json" : "table"});
  if (!options.project.empty()) argv.push_back(fmt::format("{}", fmt::join(options.project, ",")));
  prepare_environment(in_allocation);
  return become(argv, system);
}

CommandBody declare_bench(CommandOptions& app) {
  auto options = std::make_shared<BenchArguments>();
  app.add_option("WHAT", options->what, "allreduce")->type_name("allreduce")->required();
  app.add_option("--ranks", options->ranks, "number of ranks [2; in an allocation, its tasks]")
      ->range(1, 1'000'000)
      ->type_name("N");
  app.add_option("--communicator", options->communicator, "one that `info` lists [auto]")
      ->type_name("COMMUNICATOR");
  app.add_option("--min-bytes", options->min_bytes, "smallest size [4]")->type_name("B");
  app.add_option("--max-bytes", options->max_bytes, "largest size [67108864]")->type_name("B");
  app.add_option("--iterations", options->iterations,
                 "calls in each of five repetitions; the fastest repetition counts [20]")
      ->range(1, 1'000'000)
      ->type_name("N");
  app.add_option("--project", options->project,
                 "predict this many nodes, by a model fitted to two or more")
      ->delimiter(',')
      ->range(2, 1'000'000)
      ->type_name("NODES");
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) { return bench(*options, system); };
}

}  // namespace

extern const Command bench_command;
const Command bench_command{"bench", "measure how fast ranks exchange gradients", bench_examples,
                            declare_bench};

}  // namespace dllaunch
