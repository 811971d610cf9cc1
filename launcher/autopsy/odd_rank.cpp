#include "launcher/autopsy/odd_rank.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "launcher/autopsy/flight_record.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/base/utf8.hpp"

namespace dllaunch {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Collectives of Python libraries are functions of these files.
bool is_of_collectives(const StackFrame& frame) {
  static constexpr std::array files = {"distributed_c10d.py", "mpi_ops.py", "functional_ops.py",
                                       "_functional_collectives.py", "collective.py"};
  return frame.language == Language::python && std::ranges::find(files, frame.file) != files.end();
}

/// JAX and TensorFlow run collectives on threads of their own, for whose results the main one
/// waits.
std::string result_waited_for(const StackFrame& frame) {
  if (frame.function == "quick_execute") return "a TensorFlow function (quick_execute)";
  return frame.function == "block_until_ready" ? frame.function : "";
}

/// The name by which a user knows what this frame waits in; empty: nothing.
std::string collective_in(const StackFrame& frame) {
  if (is_of_collectives(frame)) return frame.function;
  if (frame.language == Language::python) return result_waited_for(frame);
  const std::string_view name = frame.function;
  for (const std::string_view prefix : {"MPI_", "PMPI_", "nccl", "gloo::", "horovod::"}) {
    if (name.starts_with(prefix)) return frame.function.substr(prefix == "PMPI_" ? 1 : 0);
  }
  if (contains(name, "c10d::Reducer::")) return "the reduction of gradients (DDP)";
  if (name.starts_with("c10d::")) return frame.function;
  if (name.starts_with("dllaunch::") && contains(name, "Communicator")) return frame.function;
  return "";
}

std::string collective_in(const Stack& frames) {
  for (const StackFrame& frame : frames) {
    // A wrapper of PyTorch's, around every collective.
    if (frame.function == "wrapper" || frame.function == "wait") continue;
    if (auto found = collective_in(frame); !found.empty()) return found;
  }
  return "";
}

/// Frames of Python's own library that wait for something: what called them says more.
bool is_of_waiting(const StackFrame& frame) {
  static constexpr std::array files = {
      "threading.py",  "queue.py",   "queues.py",     "connection.py",  "selectors.py", "socket.py",
      "popen_fork.py", "process.py", "subprocess.py", "synchronize.py", "_base.py",     "ssl.py"};
  return std::ranges::find(files, frame.file) != files.end() || frame.file.starts_with("<frozen");
}

/// Frames that say only that a program waits, or that Python runs.
bool is_of_runtime(const StackFrame& frame) {
  return frame.function == "?" || frame.file.starts_with("libc.so") ||
         frame.file.starts_with("ld-linux") || frame.file.starts_with("python3") ||
         frame.file.starts_with("libpython");
}

bool waits_for_lock(const ThreadStack& thread) {
  return std::ranges::any_of(thread.frames, [](const StackFrame& frame) {
    return frame.function == "PyThread_acquire_lock_timed" ||
           frame.function == "pthread_mutex_lock" || contains(frame.function, "lll_lock_wait");
  });
}

bool waits_for_gil(const ThreadStack& thread) {
  return std::ranges::any_of(thread.frames, [](const StackFrame& frame) {
    return frame.function == "take_gil" || frame.function == "PyEval_RestoreThread" ||
           frame.function == "PyEval_AcquireThread";
  });
}

/// A data loader's worker that has something to do, if one can be told.
const ProcessStacks* worker_of(const ProcessStacks& program, const std::vector<NodeStacks>& nodes) {
  const ProcessStacks* found = nullptr;
  for (const NodeStacks& node : nodes) {
    for (const ProcessStacks& worker : node.processes) {
      if (worker.rank != program.rank || worker.parent == 0 || worker.main_stack().empty())
        continue;
      const bool idle = telling_frame(worker.main_stack()).function == "_worker_loop";
      if (worker.main_state() == "T" || !idle) return &worker;
      if (found == nullptr) found = &worker;
    }
  }
  return found;
}

std::string loader_pattern(const ProcessStacks& program, const std::vector<NodeStacks>& nodes) {
  const ProcessStacks* const worker = worker_of(program, nodes);
  if (worker == nullptr) return "waits for its data loader";
  const std::string_view state = worker->main_state();
  return fmt::format("waits for its data loader, whose worker {} is in {}{}", worker->pid,
                     frame_text(telling_frame(worker->main_stack())),
                     state == "D"                   ? ", blocked by a file system"
                     : state == "T" || state == "t" ? ", stopped"
                                                    : "");
}

/// What is known of this rank's processes by itself, with a name; empty: nothing.
std::string pattern_in(const ProcessStacks& program, const std::vector<NodeStacks>& nodes) {
  const std::string_view state = program.main_state();
  if (state == "T" || state == "t") return "is stopped (by a signal or a debugger)";
  const auto loads = [](const StackFrame& frame) { return contains(frame.file, "dataloader"); };
  if (std::ranges::any_of(program.main_stack(), loads)) return loader_pattern(program, nodes);
  if (state == "D") {
    return "is blocked in the kernel, as by a file system that does not answer" +
           (program.threads.front().kernel.empty() ? ""
                                                   : " (" + program.threads.front().kernel + ")");
  }
  if (!program.threads.empty() && waits_for_gil(program.threads.front())) {
    return "waits for the GIL, which another of its threads keeps";
  }
  // Threads of queues and pools wait for locks too, but there their library does.
  const auto own = std::ranges::count_if(program.python, [](const Stack& stack) {
    return !stack.empty() && !is_of_waiting(stack.back());
  });
  if (std::ranges::count_if(program.threads, waits_for_lock) > 1 &&
      waits_for_lock(program.threads.front()) && (program.python.empty() || own > 1)) {
    return "waits for a lock, as does another of its threads: a deadlock if each has the other's";
  }
  return "";
}

/// Near its limit, memory is looked for ever longer, before the kernel kills. Slurm's cgroup is
/// that of all ranks on the node.
bool is_nearly_out_of_memory(const ProcessStacks& program) {
  constexpr double most = 0.97;
  constexpr double least_left_bytes = 1e9;
  const auto limit = static_cast<double>(program.memory_limit_bytes);
  const auto used = static_cast<double>(program.memory_used_bytes);
  return limit > 0 && used >= most * limit && limit - used < least_left_bytes;
}

std::string gigabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) * 1e-9);
}

std::string near_limit(const ProcessStacks& program) {
  return fmt::format(
      ", and the memory limit of its cgroup is near: {} of {} GB are used by all processes in it",
      gigabytes(program.memory_used_bytes), gigabytes(program.memory_limit_bytes));
}

std::map<int, const ProcessStacks*> programs_in(const std::vector<NodeStacks>& nodes) {
  std::map<int, const ProcessStacks*> programs;
  for (const NodeStacks& node : nodes) {
    for (const ProcessStacks& process : node.processes) {
      if (process.parent == 0) programs.emplace(process.rank, &process);
    }
  }
  return programs;
}

/// The ranks that differ from more than half, and how.
std::map<int, std::string> different_ranks(std::vector<StackGroup> groups) {
  // Of a rank whose stack could not be read, nothing is known.
  std::erase_if(groups, [](const StackGroup& group) { return group.frames.empty(); });
  std::map<int, std::string> odd;
  std::map<std::string, IdSet> of_collective;
  IdSet all_ranks;
  for (const StackGroup& group : groups) {
    of_collective[group.collective] |= group.ranks;
    all_ranks |= group.ranks;
  }
  const IdSet outside = of_collective.contains("") ? of_collective[""] : IdSet();
  const int waiting = all_ranks.size() - outside.size();
  const auto all = [&](const IdSet& ranks, const std::string& why) {
    for (const int rank : ranks.ids()) odd.emplace(rank, why);
  };
  if (waiting > 0 && !outside.empty() && outside.size() <= waiting) {
    all(outside, "is outside the collective in which the others wait");
    return odd;
  }
  if (waiting > 0 && waiting < outside.size()) {
    for (const auto& [collective, ranks] : of_collective) {
      if (!collective.empty())
        all(ranks, fmt::format("waits in {}, which the others have not begun", collective));
    }
    return odd;
  }
  if (waiting > 0 && of_collective.size() > 1) {
    const auto most = std::ranges::max_element(of_collective, {},
                                               [](const auto& each) { return each.second.size(); });
    for (const auto& [collective, ranks] : of_collective) {
      if (collective != most->first) {
        all(ranks, "waits in another collective, " + collective);
      }
    }
    return odd;
  }
  if (groups.empty() || 2 * groups.front().ranks.size() <= all_ranks.size()) return odd;
  for (std::size_t i = 1; i < groups.size(); ++i) {
    all(groups[i].ranks, groups[i].collective.empty()
                             ? "does something else than the others"
                             : "waits in the same collective, but from another place");
  }
  return odd;
}

}  // namespace

std::vector<OddRank> odd_ranks(const std::vector<NodeStacks>& nodes,
                               const std::vector<StackGroup>& groups) {
  const auto programs = programs_in(nodes);
  auto odd = different_ranks(groups);
  // PyTorch's record says more, as stacks of ranks that wait for GPUs are alike. But it may be old
  // or another job's: what the stacks contradict does not count.
  auto recorded = late_by_records(nodes);
  const auto is_odd = [&](const auto& late) { return odd.contains(late.first); };
  if (!odd.empty() && !std::ranges::all_of(recorded, is_odd)) recorded.clear();
  if (!recorded.empty()) odd = recorded;
  for (const auto& [rank, program] : programs) {
    const std::string pattern = pattern_in(*program, nodes);
    const bool alone = program->main_state() == "T" || program->main_state() == "t";
    if (pattern.empty() || (!alone && !odd.contains(rank))) continue;
    const auto record = recorded.find(rank);
    odd[rank] = record == recorded.end() ? pattern : pattern + "; it " + record->second;
  }
  std::vector<OddRank> named;
  for (const auto& [rank, why] : odd) {
    const ProcessStacks& program = *programs.at(rank);
    const bool full = is_nearly_out_of_memory(program);
    named.push_back({.rank = rank,
                     .host = program.host,
                     .frame = telling_frame(program.main_stack()),
                     .why = full ? why + near_limit(program) : why,
                     .tells_others = recorded.contains(rank)});
  }
  return named;
}

std::string collective_of(const ProcessStacks& program) {
  if (!program.python.empty()) {
    if (auto found = collective_in(program.python.front()); !found.empty()) return found;
  }
  return program.threads.empty() ? "" : collective_in(program.threads.front().frames);
}

std::string why_not(const ProcessStacks& program) {
  if (!program.threads.empty() && !program.threads.front().why_not.empty()) {
    return program.threads.front().why_not;
  }
  return program.why_not.empty() ? "its stack is not known" : program.why_not;
}

StackFrame telling_frame(const Stack& frames) {
  const bool python = !frames.empty() && frames.back().language == Language::python;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    if (python ? !is_of_waiting(*frame) : !is_of_runtime(*frame)) return *frame;
  }
  return frames.empty() || frames.back().function == "?" ? StackFrame{} : frames.back();
}

std::string frame_text(const StackFrame& frame) {
  constexpr std::size_t most_bytes = 120;  // names of templates have thousands
  std::string text(first_bytes(frame.function, most_bytes));
  if (text.size() < frame.function.size()) text += "...";
  const std::string line = frame.line == 0 ? "" : fmt::format(":{}", frame.line);
  if (!frame.file.empty()) text += fmt::format(" ({}{})", frame.file, line);
  return shown_line(text);  // a library may have any name
}

}  // namespace dllaunch
