// dltrain: one rank of the built-in trainer.
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <typeinfo>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "runtime/activity/observed_communicator.hpp"
#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/host/transports.hpp"
#include "runtime/communicators/mpi/mpi_module.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "runtime/rank/binding.hpp"
#include "runtime/rank/measured.hpp"
#include "runtime/rank/rank_env.hpp"
#include "runtime/rank/transport.hpp"
#include "runtime/timeline/timeline.hpp"
#include "runtime/watchdog/start_watch.hpp"
#include "runtime/watchdog/watchdog.hpp"
#include "support/fatal.hpp"
#include "support/json.hpp"
#include "support/run_file.hpp"
#include "trainer/checkpoints/fence.hpp"
#include "trainer/commands/bench_command.hpp"
#include "trainer/commands/describe_stages.hpp"
#include "trainer/commands/make_data.hpp"
#include "trainer/config/config.hpp"
#include "trainer/config/gpu_gradients.hpp"
#include "trainer/integrity/drill.hpp"
#include "trainer/pipeline/schedule.hpp"
#include "trainer/reports/events.hpp"
#include "trainer/training/stop_signal.hpp"
#include "trainer/training/timeline_signal.hpp"
#include "trainer/training/train.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view help = R"(dltrain --config FILE [--run-dir DIR]

One rank of dllaunch's built-in trainer. FILE is RUN/train.json, the resolved `train:` block of a
job file; events.jsonl, checkpoints/, tensorboard/ and tables are written beside it, or in DIR.
`dllaunch run` writes the file and starts the ranks; alone, this is one rank on this machine.

Examples:
  dltrain --config runs/a/train.json                    one rank
  mpirun -np 2 dltrain --config runs/a/train.json       two ranks
  echo '{"model": "lenet", "dataset": {"kind": "synthetic"}}' > a/train.json
  dltrain --config a/train.json                         absent keys take their defaults
  dltrain --describe                                    every key, as a JSON Schema

Options:
  --config FILE   what to train
  --run-dir DIR   directory for all output [the folder of FILE]
  --describe      print the JSON Schema of the `train:` block
  --bench-allreduce COMMUNICATOR MIN_BYTES MAX_BYTES ITERATIONS table|json [NODES,...]
                  what `dllaunch bench allreduce` runs on every rank
  --make-data FOLDER IMAGES SIZE CLASSES CHANNELS [quiet]
                  what `dllaunch data make synthetic` runs
  --describe-stages TRAIN_JSON RANKS [MEMORY_BYTES]
                  what `dllaunch plan` runs for a pipeline: what each rank holds, as JSON
  --describe-mpi FILE
                  print which MPI a module is for and what it finds here, as JSON
  --version       print the version
  -h, --help      print this

SIGUSR2, SIGTERM and SIGINT: write a checkpoint after the current step and stop, exit 0.
SIGUSR1: start or stop the timeline (timeline/ beside events.jsonl).
Exit codes: 0 trained or stopped on request, 1 failed, 2 bad configuration or data, 3 the machine
lacks something, 70 a peer, device or library is gone, 93 a later start of the run took over
its directory (DLLAUNCH_GENERATION is this one's fencing token): nothing more was written.
)";

constexpr int exit_failed = 1;
constexpr int exit_bad_request = 2;
constexpr int exit_unavailable = 3;
constexpr int exit_taken_over = 93;  // the launcher never requeues it

int exit_code(const Error& error) {
  switch (error.kind) {
    case ErrorKind::bad_request:
      return exit_bad_request;
    case ErrorKind::unsatisfiable:
    case ErrorKind::unavailable:
      return exit_unavailable;
    case ErrorKind::timeout:
      return exit_failed;
  }
  return exit_failed;
}

/// Logs one error line per line of `what`, then the hint.
int report(const Error& error) {
  std::string text;
  for (std::size_t begin = 0; begin <= error.what.size();) {
    const std::size_t end = std::min(error.what.find('\n', begin), error.what.size());
    text += fmt::format("dltrain: error: {}\n", error.what.substr(begin, end - begin));
    begin = end + 1;
  }
  if (error.what.empty()) text.clear();  // another rank reports it
  if (!error.hint.empty()) text += fmt::format("  try: {}\n", error.hint);
  std::fputs(text.c_str(), stderr);
  return exit_code(error);
}

int show(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0
             ? 0
             : exit_failed;
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

/// Progress goes to stdout, warnings to stderr, one line each.
void start_logging() {
  spdlog::set_default_logger(spdlog::stdout_logger_mt("progress"));
  spdlog::stderr_logger_mt("warnings");
  spdlog::set_pattern("%H:%M:%S %v");
  spdlog::get("warnings")->set_pattern("dltrain: warning: %v");
  spdlog::flush_on(spdlog::level::info);
}

int report(const TrainReport& finished) {
  if (finished.status == TrainStatus::completed || finished.status == TrainStatus::cancelled) {
    return 0;
  }
  if (!finished.error) return exit_failed;
  if (finished.status == TrainStatus::taken_over) {
    const std::string line =
        fmt::format("dltrain: stopped: {}; nothing more is written\n", finished.error->what);
    if (!finished.error->what.empty()) std::fputs(line.c_str(), stderr);
    return exit_taken_over;
  }
  // A bad image has the same exit code whether it is found while measuring or in a step.
  const int code = report(*finished.error);
  return code == exit_bad_request ? code : exit_failed;
}

/// Returns OMP_NUM_THREADS, set per rank by the launcher or by the user; 0 if unset. Of a list for
/// nested levels ("4,2") the first number counts.
int threads_asked_for() {
  const auto value = process_environment()("OMP_NUM_THREADS");
  int threads = 0;
  if (value) std::from_chars(value->data(), value->data() + value->size(), threads);
  return std::max(threads, 0);
}

/// Returns the CPUs that this rank is bound to; 0: unknown.
int cpus_here() {
  const auto cpus = current_binding();
  return cpus ? cpus->size() : 0;
}

/// Only of the first start of a run: what is computed again must not be flipped again.
Result<std::optional<Drill>> drill_asked_for(std::optional<std::int64_t> fencing_token, int ranks) {
  const auto text = process_environment()(drill_variable);
  if (!text || text->empty() || fencing_token.value_or(1) > 1) return std::optional<Drill>();
  auto drill = parse_drill(*text, ranks);
  return drill ? Result(std::optional(*drill)) : std::move(drill).error();
}

/// Runs on a thread that may outlive the loggers, so it does not use them.
void tell_alarm(const std::string& who, const std::string& line) {
  const std::string whole = fmt::format("dltrain: warning: {}: {}\n", who, line);
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

/// Writes one complete line to stderr, and an event. Any rank may call this.
void tell_stall(const StallNotice& notice, const std::filesystem::path& run_dir, Fence& fence) {
  const std::string line = notice.line + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  if (!fence.may_write()) return;
  auto events = EventLog::open(run_dir / "events.jsonl", fence.fencing_token());
  if (!events) return;
  events->stall({.state = std::string(to_string(notice.state)),
                 .late_ranks = notice.late_ranks,
                 .collective = notice.collective,
                 .seconds = notice.seconds,
                 .line = notice.line});
}

/// Of a wrong number of ranks, which prepare() refuses, anything.
StagePlace place_of(const RankEnv& env, const TrainConfig& config) {
  const int stages = config.runtime.pipeline.stages;
  if (env.world_size % stages != 0) return {};
  return place_in_pipeline(env.rank, env.world_size, stages);
}

TimelineOptions timeline_options(const Communicator& communicator, const StagePlace& place,
                                 const std::filesystem::path& run_dir, const Activity& activity,
                                 const std::atomic<unsigned>* switches) {
  return {.path = run_dir / "timeline" / timeline_file_name(communicator.rank()),
          .head = {.rank = communicator.rank(),
                   .ranks = communicator.size(),
                   .host = host_name(),
                   .communicator = std::string(communicator.name()),
                   .base_ns = activity.beacon().phase.load().since_ns,
                   .stage = place.stages > 1 ? place.stage + 1 : 0},
          .warn = [](std::string_view line) { spdlog::get("warnings")->warn(line); },
          .switches = switches};
}

StartWatchOptions start_watch_options(const RuntimeConfig& runtime, const RankEnv& env,
                                      const std::string& host) {
  const std::string who = fmt::format("rank {} on {}: ", env.rank, host);
  return {.stall_seconds = runtime.stall_seconds,
          .stall_abort_seconds = runtime.stall_abort_seconds,
          .say =
              [=, speaks = env.local_rank == 0](const std::string& line) {
                const std::string whole = who + line + "\n";
                if (speaks) std::fwrite(whole.data(), 1, whole.size(), stderr);
              },
          .give_up = [](const std::string& why) { die("stall", why); }};
}

OpenReplicas replicas_for(const TrainConfig& config, const RankEnv& env) {
  if (config.runtime.allreduce != "auto") return open_host_replicas;
  return [&env, on_gpu = reduces_on_gpu(config)](std::unique_ptr<Peers> group, std::string& why) {
    return open_automatic_group(std::move(group), env, on_gpu, why);
  };
}

/// "tcp", "mpi"; empty: one rank.
std::string transport_words(const RankEnv& env) {
  const auto transport = transport_of(env, process_environment());
  if (env.world_size == 1 || !transport) return "";
  return *transport == Transport::tcp ? "tcp" : "mpi";
}

/// A GPU's says what it needs; std::bad_alloc names nothing.
std::string words_of(const std::exception& problem) {
  if (typeid(problem) != typeid(std::bad_alloc)) return problem.what();
  return "out of memory on this node: a smaller batch_size or fewer dataset.workers need less";
}

int train_as_rank(const TrainConfig& config, const std::filesystem::path& run_dir,
                  const RankEnv& env, const std::shared_ptr<Fence>& fence,
                  const std::optional<Drill>& drill) {
  const auto* timeline_switches = config.stop_signal == "USR1" ? nullptr : &catch_timeline_signal();
  set_fatal_identity(env.rank, host_name());
  catch_warnings(config.stop_signal);
  // Covers the time before the watchdog runs. One rank per node reports, each exits by itself.
  std::optional<StartWatch> start_watch(std::in_place,
                                        start_watch_options(config.runtime, env, host_name()));
  std::string no_nccl;
  const bool on_gpu = reduces_on_gpu(config);  // with stages, among the ranks of each
  auto opened = config.runtime.allreduce == "auto"
                    ? open_automatic(env, on_gpu && config.runtime.pipeline.stages == 1, no_nccl)
                    : open_communicator(config.runtime.allreduce, env);
  if (!opened) return report(opened.error());
  Activity activity;
  std::unique_ptr<Watchdog> watchdog;  // also watches the communicator's shutdown
  ObservedCommunicator communicator(*std::move(opened), activity);
  catch_stop_signals(config.stop_signal);
  start_logging();
  const StagePlace place = place_of(env, config);
  watchdog = Watchdog::start(
      {.stall_seconds = config.runtime.stall_seconds,
       .stall_abort_seconds = config.runtime.stall_abort_seconds,
       .host = host_name(),
       .group = place.stage,
       // Captures copies: if writing hangs, its thread is left behind.
       .say = [run_dir, fence](const StallNotice& notice) { tell_stall(notice, run_dir, *fence); },
       .ending = stop_was_requested,
       // Open MPI's ranks must not outlive their mpirun; Slurm cleans up after its own.
       .end_with_parent = env.launcher == "openmpi"},
      communicator, activity);
  start_watch.reset();
  Timeline timeline(timeline_options(communicator, place, run_dir, activity, timeline_switches),
                    activity);
  activity.tell(&timeline);
  if (config.runtime.timeline) timeline.start();
  const TrainOptions options{
      .prepare = {.config = config,
                  .run_dir = run_dir,
                  .threads = threads_asked_for(),
                  .cpus = cpus_here(),
                  .ranks_on_node = env.local_world_size,
                  .warn = [](std::string_view line) { spdlog::get("warnings")->warn(line); },
                  .say = [](std::string_view line) { spdlog::info(line); },
                  .no_nccl = no_nccl,
                  .stop_requested = stop_was_requested,
                  .open_peers = [&env] { return open_peers(env); },
                  .open_replicas = replicas_for(config, env),
                  .activity = &activity,
                  .fence = fence.get()},
      .nodes = env.nodes > 0 ? std::optional<int>(env.nodes) : std::nullopt,
      .transport = transport_words(env),
      .bucket_sizes = measured_file(process_environment(), "bucket-sizes").value_or(""),
      .host = host_name(),
      .say = [](std::string_view line) { spdlog::info(line); },
      .on_gpu_alarm = [who = fmt::format("rank {} on {}", env.rank, host_name())](
                          const std::string& line) { tell_alarm(who, line); },
      .drill = drill,
      .on_clock = [&](const ClockBounds& bounds) { timeline.add_clock(bounds); },
      .stop_requested = stop_was_requested};
  // Not in main(): unwinding would destroy the communicator, which waits for its peers.
  const auto train_or_die = [&] {
    try {
      return train(options, communicator);
    } catch (const std::exception& problem) {
      die("dltrain", words_of(problem));
    }
  };
  auto finished = train_or_die();
  activity.tell(nullptr);
  return finished ? report(*finished) : report(finished.error());
}

/// No rank has started MPI yet, so ranks cannot agree. Errors in the common configuration file are
/// reported by rank 0, others by the rank concerned.
int report_early(const Error& error, const RankEnv& env, bool same_everywhere) {
  if (env.rank == 0 || !same_everywhere) return report(error);
  // mpirun and srun end all ranks when the first fails: let rank 0, which reports, be first.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return exit_code(error);
}

int train_from(const std::filesystem::path& file, const std::filesystem::path& run_dir) {
  auto env = read_rank_env(process_environment());
  if (!env) return report(env.error());
  auto fencing_token = read_fencing_token(process_environment());
  if (!fencing_token) return report_early(fencing_token.error(), *env, true);
  auto config = read_config(file);
  if (!config) return report_early(config.error(), *env, std::filesystem::exists(file));
  const auto directory = std::filesystem::absolute(run_dir);
  // The group that shares the run reads it.
  if (is_shared(directory)) umask(umask(0) | 022);
  const auto fence = *fencing_token
                         ? std::make_shared<Fence>(RunOwnership::told(directory, **fencing_token))
                         : std::make_shared<Fence>();
  auto drill = drill_asked_for(*fencing_token, env->world_size);
  if (!drill) return report_early(drill.error(), *env, true);
  return train_as_rank(*config, directory, *env, fence, *drill);
}

int bench(const std::vector<std::string>& words) {
  auto env = read_rank_env(process_environment());
  if (!env) return report(env.error());
  auto command = parse_bench(words);
  if (!command) return report_early(command.error(), *env, true);
  auto correct = run_bench(*command, *env);
  if (!correct) return report_early(correct.error(), *env, true);
  return *correct ? 0 : exit_failed;
}

int make(const std::vector<std::string>& words) {
  auto what = parse_make_data(words);
  if (!what) return report(what.error());
  const auto say = [&](std::string_view line) {
    if (!what->quiet) std::fputs(fmt::format("{}\n", line).c_str(), stderr);
  };
  auto made = make_data(*what, say);
  return made ? show(*made + "\n") : report(made.error());
}

int describe(const std::vector<std::string>& words) {
  auto question = parse_stages_question(words);
  if (!question) return report(question.error());
  auto described = describe_stages(*question);
  return described ? show(*described) : report(described.error());
}

int describe_mpi(const std::string& path) {
  const MpiModule module = open_mpi_module(path);
  Json described = {{"path", path}};
  if (!module.fits.empty()) described["fits"] = module.fits;
  if (!module.library.empty()) described["library"] = module.library;
  if (!module.problem.empty()) described["problem"] = module.problem;
  return show(described.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) +
              "\n");
}

int run(const std::vector<std::string>& args) {
  if (!args.empty() && args[0] == "--bench-allreduce") return bench({args.begin() + 1, args.end()});
  if (!args.empty() && args[0] == "--make-data") return make({args.begin() + 1, args.end()});
  if (!args.empty() && args[0] == "--describe-stages")
    return describe({args.begin() + 1, args.end()});
  if (args.size() == 1 && (args[0] == "--help" || args[0] == "-h")) return show(help);
  if (args.size() == 1 && args[0] == "--version") return show("dltrain " DLLAUNCH_VERSION "\n");
  if (args.size() == 1 && args[0] == "--describe") return show(describe_config());
  if (args.size() == 2 && args[0] == "--describe-mpi") return describe_mpi(args[1]);
  if (args.size() == 2 && args[0] == "--config")
    return train_from(args[1], std::filesystem::absolute(args[1]).parent_path());
  if (args.size() == 4 && args[0] == "--config" && args[2] == "--run-dir")
    return train_from(args[1], args[3]);
  return report({ErrorKind::bad_request,
                 fmt::format("expected --config FILE, got: {}", fmt::join(args, " ")),
                 "dltrain --help"});
}

}  // namespace
}  // namespace dllaunch

int main(int argc, char** argv) {
  prctl(PR_SET_NAME, "dltrain");  // in a bundle the kernel knows the loader's name
  try {
    return dllaunch::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& problem) {
    // Peers may wait in a collective: exit without finalising MPI.
    dllaunch::die("dltrain", dllaunch::words_of(problem));
  }
}
