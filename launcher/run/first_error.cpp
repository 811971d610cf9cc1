#include "launcher/run/first_error.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <limits>
#include <tuple>
#include <vector>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/split.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/run/log_line.hpp"
#include "launcher/run/rank_logs.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view traceback = "Traceback (most recent call last):";

bool holds_any(std::string_view line, auto& phrases) {
  return std::any_of(phrases.begin(), phrases.end(), [&](std::string_view phrase) {
    return line.find(phrase) != std::string_view::npos;
  });
}

/// Whether the line reports another rank's death.
bool is_echo(std::string_view line) {
  static constexpr std::array<std::string_view, 15> phrases = {"Connection reset by peer",
                                                               "Connection closed by peer",
                                                               "Broken pipe",
                                                               "Connection refused",
                                                               "remote process exited",
                                                               "ncclRemoteError",
                                                               "Socket Timeout",
                                                               "ChildFailedError",
                                                               "failed to connect to",
                                                               "Read error [",
                                                               "Application timeout caused",
                                                               "received signal 15",
                                                               "SIGTERM",
                                                               "Terminated",
                                                               "StoreError"};
  return holds_any(line, phrases);
}

bool is_report(std::string_view line) {
  static constexpr std::array<std::string_view, 24> phrases = {"CUDA error",
                                                               "CUDA out of memory",
                                                               "OutOfMemoryError",
                                                               "NCCL error",
                                                               "ncclSystemError",
                                                               "ncclUnhandledCudaError",
                                                               "HIP error",
                                                               "HIP out of memory",
                                                               "hipError",
                                                               "RCCL error",
                                                               "Segmentation fault",
                                                               "Bus error",
                                                               "Illegal instruction",
                                                               "Floating point exception",
                                                               "MPI_ABORT was invoked",
                                                               "terminate called",
                                                               "what():",
                                                               "Fatal Python error",
                                                               "core dumped",
                                                               "dllaunch: error:",
                                                               "*** Process received signal ***",
                                                               "panic:",
                                                               "oom-kill event",
                                                               "Out Of Memory"};
  if (holds_any(line, phrases)) return true;
  return line.find("Assertion ") != std::string_view::npos &&
         line.find("failed") != std::string_view::npos;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// Returns the exception that ends the traceback at lines[at], and moves `at` to it. PyTorch
/// prefixes each line with "[rank3]: ".
std::string_view exception_of(const std::vector<std::string_view>& lines, std::size_t& at) {
  const auto prefix = lines[at].substr(0, lines[at].find(traceback));
  for (std::size_t i = at + 1; i < lines.size(); ++i) {
    if (!lines[i].starts_with(prefix)) break;
    const auto text = lines[i].substr(prefix.size());
    if (is_blank(text) || text[0] == ' ' || text[0] == '\t') continue;
    at = i;
    return text;
  }
  return {};
}

std::string fit_to_show(std::string_view line) {
  constexpr std::size_t most = 400;
  auto shown = shown_line(line);
  shown.erase(0, std::min(shown.find_first_not_of(" \t"), shown.size()));
  return shown.size() > most ? std::string(first_bytes(shown, most)) + "..." : shown;
}

constexpr std::size_t most_logs = 1024;

/// A file shorter than before is a new file.
std::size_t grown_by(const std::string& path, const LogSizes& before) {
  std::error_code error;
  const auto now = fs::file_size(path, error);
  const auto known = before.find(path);
  if (error || known == before.end() || known->second > now)
    return std::numeric_limits<std::size_t>::max();
  // Includes the preceding newline, up to which file_end() cuts.
  return static_cast<std::size_t>(now - known->second) + 1;
}

struct Candidate {
  FirstError error;
  ErrorWeight weight = ErrorWeight::mention;
  bool named = false;  // srun or mpirun reported this rank's death
  double time_s = 0;   // last modification of the log

  auto order() const {
    return std::tuple(-static_cast<int>(weight), named ? 0 : 1, time_s, error.rank);
  }
};

}  // namespace

std::optional<ErrorLine> error_in_log(std::string_view log) {
  std::optional<ErrorLine> found;
  constexpr std::size_t most_bytes = 1 << 20;  // of the end
  const auto lines = list_of_lines(log.substr(log.size() - std::min(log.size(), most_bytes)));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    const bool raised = line.find(traceback) != std::string_view::npos;
    if (raised) line = exception_of(lines, i);
    if (is_blank(line)) continue;
    const bool echo = is_echo(line);
    const bool report = raised || is_report(line);
    if (!report && !is_error_line(line)) continue;
    const auto weight = echo     ? ErrorWeight::echo
                        : report ? ErrorWeight::report
                                 : ErrorWeight::mention;
    // The last report; the first of mentions and echoes, which come in bursts.
    const bool better =
        !found || weight > found->weight ||
        (weight == ErrorWeight::report && line.find("core dumped") == std::string_view::npos &&
         line.find("terminate called") == std::string_view::npos);
    if (!better) continue;
    // A line of colour codes only is empty when shown.
    if (auto shown = fit_to_show(line); !shown.empty()) found = ErrorLine{weight, std::move(shown)};
  }
  return found;
}

LogSizes log_sizes(const RunDir& run) {
  LogSizes sizes;
  std::error_code error;
  for (fs::directory_iterator at(run.out(), error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    const auto size = at->file_size(unknown);
    if (!unknown && sizes.size() < most_logs) sizes.emplace(at->path().string(), size);
  }
  return sizes;
}

std::optional<FirstError> first_error(const RunDir& run, const DeadRank& dead, double since_s,
                                      const LogSizes& before) {
  constexpr std::size_t most_bytes = 65536;
  constexpr double clock_skew_s = 5;
  std::optional<Candidate> best;
  std::size_t looked_at = 0;
  std::error_code error;
  for (fs::directory_iterator at(run.out(), error), end; !error && at != end; at.increment(error)) {
    const auto source = log_source(at->path().filename().string());
    if (!source || ++looked_at > most_logs) continue;
    const std::string path = at->path().string();
    const double time_s = changed_at_s(path);
    if (time_s + clock_skew_s < since_s) continue;
    auto line = error_in_log(file_end(path, std::min(most_bytes, grown_by(path, before))));
    if (!line) continue;
    const auto labelled =
        source->rank >= 0 ? LabelledLine{source->rank, line->line} : split_label(line->line);
    Candidate candidate{.error = {.rank = labelled.rank,
                                  .node = source->node,
                                  .line = std::string(labelled.text),
                                  .log = path},
                        .weight = line->weight,
                        .named = dead.rank >= 0 && labelled.rank == dead.rank,
                        .time_s = time_s};
    if (!best || candidate.order() < best->order()) best = std::move(candidate);
  }
  if (!best) return std::nullopt;
  return best->error;
}

std::optional<FirstError> traceback_at_end(const RunDir& run, double since_s) {
  constexpr std::size_t most_bytes = 16384;
  std::size_t looked_at = 0;
  std::error_code error;
  for (fs::directory_iterator at(run.out(), error), end; !error && at != end; at.increment(error)) {
    const auto source = log_source(at->path().filename().string());
    if (!source || ++looked_at > most_logs) continue;
    const auto path = at->path().string();
    if (changed_at_s(path) < since_s) continue;
    const auto text = file_end(path, most_bytes);
    auto lines = list_of_lines(text);
    while (!lines.empty() && is_blank(lines.back())) lines.pop_back();
    for (std::size_t line = 0; line < lines.size(); ++line) {
      if (lines[line].find(traceback) == std::string_view::npos) continue;
      const auto raised = exception_of(lines, line);
      if (line + 1 < lines.size() || is_blank(raised)) continue;
      const auto labelled = split_label(lines[line]);
      return FirstError{.rank = source->rank >= 0 ? source->rank : labelled.rank,
                        .node = source->node,
                        .line = fit_to_show(source->rank >= 0 ? raised : labelled.text),
                        .log = path};
    }
  }
  return std::nullopt;
}

std::string describe(const FirstError& error) {
  std::string who = error.rank >= 0 ? fmt::format("rank {}", error.rank) : std::string();
  if (!error.node.empty()) who += (who.empty() ? "" : " on ") + error.node;
  return who.empty() ? error.line : who + ": " + error.line;
}

std::string advice_for(std::string_view line) {
  struct Advice {
    std::string_view phrase;
    std::string_view change;
  };
  static constexpr std::array<Advice, 20> known = {{
      {"could not connect IO",
       "srun cannot open its --output, --error or --input on that node: make the folder on every "
       "node, or leave it out of resources.srun_extra: each rank has its log in the run's out/"},
      {"CUDA out of memory", "the GPU's memory is full: lower the batch size, or use more GPUs"},
      {"HIP out of memory", "the GPU's memory is full: lower the batch size, or use more GPUs"},
      {"OutOfMemoryError", "the GPU's memory is full: lower the batch size, or use more GPUs"},
      {"invalid device ordinal",
       "it asks for a GPU that its node does not give it: use LOCAL_RANK, not RANK, as the device"},
      {"no kernel image is available", "the program was not built for this GPU's architecture"},
      {"driver version is insufficient", "the node's GPU driver is older than the program's CUDA"},
      {"ModuleNotFoundError",
       "the ranks' Python lacks it: set environment.activate or environment.modules"},
      {"ImportError",
       "the ranks' Python lacks it: set environment.activate or environment.modules"},
      {"cannot open shared object file",
       "a library is not found on the node: load its module in environment.modules"},
      {"No space left on device",
       "a disk is full: df -h on that node, or another output directory"},
      {"Disk quota exceeded", "your quota is used up: remove old runs, or write elsewhere"},
      {"Address already in use",
       "another process has that port: leave MASTER_PORT to dllaunch, which takes a free one"},
      {"Illegal instruction", "the program was built for another CPU: build it on such a node"},
      {"Bus error",
       "often a full /dev/shm: fewer data-loader workers, or a larger one in the container"},
      {"Too many open files", "raise the limit: `ulimit -n 65536` in environment.setup"},
      {"command not found", "load what provides it in environment.modules or environment.setup"},
      {"Permission denied", "check the owner and mode of what it names, on that node"},
      {"NCCL", "environment.variables: {NCCL_DEBUG: INFO} makes NCCL log more"},
      {"RCCL", "environment.variables: {NCCL_DEBUG: INFO} makes RCCL log more"},
  }};
  const auto found = std::find_if(known.begin(), known.end(), [&](const Advice& advice) {
    return line.find(advice.phrase) != std::string_view::npos;
  });
  return found == known.end() ? "" : std::string(found->change);
}

std::string advice_for(const DeadRank& dead) {
  switch (dead.signal) {
    case SIGKILL:
      return "unless a user killed it, the node ran out of memory (`dmesg -T | grep -i oom` there "
             "tells): lower the batch size, or use fewer ranks per node";
    case SIGBUS:
      return advice_for("Bus error");
    case SIGILL:
      return advice_for("Illegal instruction");
    case SIGSEGV:
    case SIGFPE:
    case SIGABRT:
      return "environment.setup: `ulimit -c unlimited` leaves a core file for gdb; of Python, "
             "environment.variables: {PYTHONFAULTHANDLER: '1'} shows where it was";
    default:
      break;
  }
  constexpr int not_executable = 126;
  constexpr int not_found = 127;
  if (dead.exit_code == not_executable)
    return "the shell found the command but may not run it: chmod +x, or name its interpreter";
  if (dead.exit_code == not_found) return advice_for("command not found");
  return "";
}

}  // namespace dllaunch
