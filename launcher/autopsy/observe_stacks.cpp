#include "launcher/autopsy/observe_stacks.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/core.h>

#include "launcher/autopsy/flight_record.hpp"
#include "launcher/autopsy/native_stacks.hpp"
#include "launcher/autopsy/python_stacks.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/doctor/proc_text.hpp"
#include "launcher/os/descendants.hpp"
#include "launcher/slurm/client.hpp"
#include "support/isolated_call.hpp"
#include "support/regular_file.hpp"
#include "topology/discovery/cgroup_memory.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr std::size_t most_processes = 256;
constexpr std::size_t most_of_rank = 64;
constexpr std::size_t most_threads = 32;
constexpr std::size_t at_once = 32;
constexpr std::size_t most_dump_bytes = std::size_t{16} << 20;
constexpr double oldest_dump_s = 120;

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

/// Fields of /proc/PID/stat, from the third on: the second, a name, may contain anything.
std::vector<std::string> fields_of_stat(int pid) {
  const std::string text = text_of(fmt::format("/proc/{}/stat", pid));
  std::istringstream rest(text.substr(std::min(text.rfind(')') + 1, text.size())));
  return {std::istream_iterator<std::string>(rest), {}};
}

double number_in(const std::vector<std::string>& fields, std::size_t i) {
  return i < fields.size() ? std::strtod(fields[i].c_str(), nullptr) : 0;
}

/// User and system time, fields 14 and 15 of proc(5).
double cpu_seconds(const std::vector<std::string>& fields) {
  return (number_in(fields, 11) + number_in(fields, 12)) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

ThreadStack look_at_thread(int pid, int id) {
  const std::string folder = fmt::format("/proc/{}/task/{}", pid, id);
  ThreadStack thread{.id = id, .kernel = text_of(folder + "/wchan")};
  if (const auto status = parse_proc_status(text_of(folder + "/status"))) {
    thread.name = shown_line(status->name);
    thread.state = std::string(1, status->state);
  }
  if (thread.kernel == "0") thread.kernel.clear();
  return thread;
}

std::vector<int> threads_of(int pid) {
  std::vector<int> ids = {pid};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
    const int id = std::atoi(entry.path().filename().c_str());
    if (id > 0 && id != pid && ids.size() < most_threads) ids.push_back(id);
  }
  return ids;
}

/// What can be read even of a process whose memory map is locked: a thread that is stuck in a page
/// fault of a dead file system keeps that lock.
ProcessStacks outline_of(const std::string& host, int rank, int pid, int parent) {
  const auto fields = fields_of_stat(pid);
  ProcessStacks process{.rank = rank, .host = host, .pid = pid, .parent = parent};
  process.cpu_s = cpu_seconds(fields);
  process.resident_bytes = static_cast<std::uint64_t>(number_in(fields, 21)) *
                           static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  process.threads.push_back({.id = pid});
  if (!fields.empty()) process.threads.front().state = printable(fields.front());
  return process;
}

/// Reads the rest, which may block this process.
void look_closely(ProcessStacks& process, Clock::time_point) {
  process.command = shown_line(command_in(text_of(fmt::format("/proc/{}/cmdline", process.pid))));
  if (const auto memory = cgroup_memory(std::to_string(process.pid))) {
    process.memory_limit_bytes = static_cast<std::uint64_t>(memory->limit_bytes);
    process.memory_used_bytes = static_cast<std::uint64_t>(memory->used_bytes);
  }
  process.threads.clear();
  for (const int id : threads_of(process.pid)) {
    process.threads.push_back(look_at_thread(process.pid, id));
  }
}

/// Root could read everybody's processes: a job's are its user's. Returns what keeps it closed,
/// "alice's"; empty: it is this user's to read.
std::string why_closed(int pid) {
  struct stat info {};
  const auto folder = fmt::format("/proc/{}", pid);
  if (stat(folder.c_str(), &info) != 0) return "";
  if (info.st_uid != geteuid()) return user_name(info.st_uid) + "'s";
  // The kernel shows root as the owner of what a process's user may not read of it.
  const bool closed = stat((folder + "/environ").c_str(), &info) == 0 && info.st_uid != geteuid();
  return closed ? "root's to read: it has changed its user, or its file may not be read" : "";
}

/// Its memory map may be locked, or is another user's: nothing more is asked of it.
void give_up(ProcessStacks& process, const std::string& why) {
  process.why_not = "its stacks cannot be read: " + why;
  process.threads.front().why_not = process.why_not;
}

/// The shim, whose environment can be read, stays with a program whose own cannot.
int program_of(int pid, const std::vector<Descendant>& of_machine) {
  if (name_of(pid) != "dllaunch") return pid;
  const auto child = std::ranges::find_if(of_machine, [pid](const Descendant& each) {
    return each.parent == pid && !each.zombie && !why_closed(each.pid).empty();
  });
  return child == of_machine.end() ? pid : child->pid;
}

NodeStacks list_processes(const std::string& host, const std::vector<RankProgram>& ranks) {
  NodeStacks node{.host = host};
  const auto of_machine = processes_here();
  for (const RankProgram& rank : ranks) {
    const int program = program_of(rank.pid, of_machine);
    std::vector<Descendant> all = descendants_of(program, of_machine);
    all.insert(all.begin(), {.pid = program, .parent = 0});
    std::size_t taken = 0;
    for (const Descendant& each : all) {
      const bool full = taken == most_of_rank || node.processes.size() == most_processes;
      const auto closed = why_closed(each.pid);
      if (!each.zombie && (full || (!closed.empty() && each.pid != program))) {
        ++node.left_out;
        continue;
      }
      auto process = outline_of(host, rank.rank, each.pid, each.parent);
      const bool ended = process.main_state() == "?" || process.main_state() == "Z";
      if (each.zombie || ended) continue;
      if (!closed.empty()) give_up(process, fmt::format("process {} is {}", each.pid, closed));
      ++taken;
      node.processes.push_back(std::move(process));
    }
  }
  return node;
}

bool is_given_up(const ProcessStacks& process) {
  return process.threads.empty() || !process.threads.front().why_not.empty();
}

/// Runs read(process, until) for each in a child and keeps what it changed, or tells failed() why
/// not. One that takes all its time takes none from those after it.
void read_apart(std::vector<ProcessStacks*> processes, Clock::time_point deadline,
                const std::function<void(ProcessStacks&, Clock::time_point)>& read,
                void (*failed)(ProcessStacks&, const std::string&) = give_up,
                bool bounded_memory = false) {
  for (std::size_t from = 0; from < processes.size(); from += at_once) {
    const std::size_t count = std::min(at_once, processes.size() - from);
    const auto turns = std::ptrdiff_t((processes.size() - from + at_once - 1) / at_once);
    const auto share = (deadline - Clock::now()) / turns;
    const auto until = Clock::now() + share * 4 / 5;  // the rest is for the answer's way
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(share);
    std::vector<IsolatedCall> calls;
    for (std::size_t i = 0; i < count; ++i) {
      calls.push_back({.work = [&, i]() -> Result<std::string> {
                         ProcessStacks& process = *processes[from + i];
                         read(process, until);
                         return write_fields(process).dump(-1, ' ', /*ensure_ascii=*/false,
                                                           Json::error_handler_t::replace);
                       },
                       .deadline = std::max(left, std::chrono::milliseconds(1)),
                       .bounded_memory = bounded_memory});
    }
    const auto answers = isolated_calls(calls);
    for (std::size_t i = 0; i < count; ++i) {
      ProcessStacks& process = *processes[from + i];
      const Json document =
          answers[i] ? Json::parse(*answers[i], nullptr, /*allow_exceptions=*/false) : Json();
      if (document.is_object()) {
        process = read_what_fits<ProcessStacks>(document);
      } else {
        failed(process, answers[i] ? "a damaged answer" : answers[i].error().what);
      }
    }
  }
}

/// The symbols of a library of some hundred MB, as JAX's, take a second and more.
void read_native(std::vector<ProcessStacks>& processes, Clock::time_point deadline) {
  std::vector<ProcessStacks*> readable;
  for (ProcessStacks& process : processes) {
    if (!is_given_up(process)) readable.push_back(&process);
  }
  const auto lack = [](ProcessStacks& process, const std::string& why) {
    for (ThreadStack& thread : process.threads) thread.why_not = why;
  };
  read_apart(
      std::move(readable), deadline,
      [](ProcessStacks& process, Clock::time_point until) {
        read_native_stacks(process.pid, process.threads, until);
      },
      lack);
}

/// One after the other within a rank: forked processes write into one memory file.
void read_python(System& system, std::vector<ProcessStacks>& processes,
                 Clock::time_point deadline) {
  std::vector<std::vector<ProcessStacks*>> turns;  // the n-th Python of each rank
  std::size_t turn = 0;
  int rank = -1;
  for (ProcessStacks& process : processes) {
    if (std::exchange(rank, process.rank) != process.rank) turn = 0;
    const std::string_view state = process.main_state();
    if (state == "T" || state == "t") continue;  // it would answer when it runs on
    if (is_given_up(process)) continue;
    if (turn == turns.size()) turns.emplace_back();
    turns[turn++].push_back(&process);
  }
  for (auto& together : turns) {
    // One that does not answer must not take all the time from those after it.
    read_apart(
        std::move(together), Clock::now() + (deadline - Clock::now()) * 4 / 5,
        [&](ProcessStacks& process, Clock::time_point until) {
          if (!is_python(process.pid)) return;
          auto stacks = read_python_stacks(system, process.pid, until);
          if (stacks) {
            process.python = *std::move(stacks);
          } else {
            process.why_not = stacks.error().what;
          }
        },
        [](ProcessStacks& process, const std::string& why) { process.why_not = why; });
  }
}

double seconds_of(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// When the process began, in Unix seconds; field 22 of proc(5).
double start_of(int pid) {
  timespec now{};
  timespec since_boot{};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return seconds_of(now) - seconds_of(since_boot) +
         number_in(fields_of_stat(pid), 19) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// Where PyTorch writes the dump of its flight recorder, but for the rank's number at the end. Its
/// own place is the same for all jobs of a user, and may hang with its file system: only where a
/// variable speaks of dumps is it looked at.
std::vector<std::string> dumps_of(int pid) {
  std::vector<std::string> prefixes;
  for (const char* name : {"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"}) {
    if (const auto prefix = variable_of(pid, name)) prefixes.push_back(*prefix);
  }
  if (!prefixes.empty()) return prefixes;
  static constexpr std::array asks = {"TORCH_FR_BUFFER_SIZE", "TORCH_FR_DUMP_ON_TIMEOUT",
                                      "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DUMP_ON_TIMEOUT"};
  const auto is_set = [pid](const char* name) { return variable_of(pid, name).has_value(); };
  if (std::ranges::none_of(asks, is_set)) return {};
  if (const auto cache = variable_of(pid, "XDG_CACHE_HOME")) {
    prefixes.push_back(*cache + "/torch/comm_lib_trace_rank_");
  } else if (const auto home = variable_of(pid, "HOME")) {
    prefixes.push_back(*home + "/.cache/torch/comm_lib_trace_rank_");
  }
  prefixes.emplace_back("/tmp/nccl_trace_rank_");  // before PyTorch 2.8
  return prefixes;
}

/// Returns what this user wrote there since the process began, and not long ago. bad_request: it is
/// too long, or not a dump.
Result<std::vector<RecordedGroup>> flight_record_at(const std::string& path, double since_s) {
  using Groups = std::vector<RecordedGroup>;
  const int file = open_regular_file(path);
  if (file < 0) return Groups();
  struct stat info {};
  const bool known = fstat(file, &info) == 0 && info.st_uid == geteuid();
  const double written_s = seconds_of(info.st_mtim);
  const bool fresh = written_s >= std::max(since_s - 1, unix_seconds() - oldest_dump_s);
  const auto bytes = known && fresh ? static_cast<std::size_t>(info.st_size) : 0;
  std::string text(bytes <= most_dump_bytes ? bytes : 0, '\0');
  const ssize_t got = read(file, text.data(), text.size());
  close(file);
  if (bytes == 0) return Groups();
  if (bytes > most_dump_bytes) {
    return Error{ErrorKind::bad_request,
                 fmt::format("it has {} MiB, of which at most {} are read", bytes >> 20,
                             most_dump_bytes >> 20),
                 "lower TORCH_FR_BUFFER_SIZE"};
  }
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  auto groups = read_flight_record(text);
  if (!groups) return groups;
  for (RecordedGroup& group : *groups) group.written_s = written_s;
  return groups;
}

void read_records(std::vector<ProcessStacks>& processes, Clock::time_point deadline) {
  std::vector<ProcessStacks*> pythons;  // a rank's program that is one
  for (ProcessStacks& process : processes) {
    const bool python = !process.python.empty() || !process.why_not.empty();
    if (process.parent == 0 && python && !is_given_up(process)) pythons.push_back(&process);
  }
  read_apart(
      std::move(pythons), deadline,
      [](ProcessStacks& process, Clock::time_point) {
        const double since_s = start_of(process.pid);
        for (const std::string& prefix : dumps_of(process.pid)) {
          const char* const from = prefix.starts_with('/') ? "root" : "cwd/";
          auto groups = flight_record_at(
              fmt::format("/proc/{}/{}{}{}", process.pid, from, prefix, process.rank), since_s);
          if (groups) {
            process.recorded = *std::move(groups);
          } else {
            process.record_why_not =
                fmt::format("{}{}: {}", shown_line(prefix), process.rank, groups.error().what);
          }
          if (!process.recorded.empty()) return;
        }
      },
      [](ProcessStacks& process, const std::string& why) { process.record_why_not = why; },
      /*bounded_memory=*/true);
}

}  // namespace

NodeStacks observe_stacks(System& system, const std::vector<RankProgram>& ranks,
                          std::chrono::milliseconds limit) {
  const auto start = Clock::now();
  NodeStacks node = list_processes(system.host_name(), ranks);
  std::vector<ProcessStacks*> all;
  for (ProcessStacks& process : node.processes)
    if (!is_given_up(process)) all.push_back(&process);
  // Python's first: they say more, and take less time.
  read_apart(all, start + limit / 4, look_closely);
  read_python(system, node.processes, start + limit / 2);
  read_records(node.processes, Clock::now() + limit / 8);
  read_native(node.processes, start + limit);
  const double observed_s = std::chrono::duration<double>(Clock::now() - start).count();
  for (ProcessStacks& process : node.processes) {
    const double used_s = cpu_seconds(fields_of_stat(process.pid)) - process.cpu_s;
    process.busy = std::max(0.0, used_s / observed_s);
  }
  return node;
}

}  // namespace dllaunch
