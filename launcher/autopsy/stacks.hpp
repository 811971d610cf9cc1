// What the processes of a job are doing: their stacks, as values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/id_set.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {

enum class Language { native, python };

struct StackFrame {
  std::string function = {};
  std::string file = {};  // of the source, without its folder; of a native frame: else the library
  int line = 0;           // 0: unknown
  Language language = Language::native;

  bool operator==(const StackFrame&) const = default;
};

/// Outermost frame first.
using Stack = std::vector<StackFrame>;

struct ThreadStack {
  int id = 0;             // as of gettid()
  std::string name = {};  // at most 15 bytes
  std::string state =
      "?";  // a letter as in /proc: R running, S sleeping, D in the kernel, T stopped
  std::string kernel = {};   // where it waits in the kernel, "futex_wait_queue"; empty: not known
  Stack frames = {};         // native
  std::string why_not = {};  // why there are no frames
};

/// The collectives of one process group, as PyTorch's flight recorder of a rank knew them.
struct RecordedGroup {
  std::string group = {};       // as PyTorch numbers them: "0" has all ranks
  std::int64_t entered = 0;     // the number of the last one
  std::int64_t waits_in = 0;    // the first that has not ended; 0: none
  std::string collective = {};  // that one: "all_reduce"
  double since_s = 0;           // when it was entered, in Unix seconds
  double written_s = 0;         // when the record was
};

/// A process of a rank: its program, or a descendant of it.
struct ProcessStacks {
  int rank = 0;
  std::string host = {};
  int pid = 0;
  int parent = 0;            // 0: this is the rank's program
  std::string command = {};  // "python3 train.py"
  double cpu_s = 0;          // user and system time so far
  double busy = 0;           // CPUs in use while it was observed
  std::uint64_t resident_bytes = 0;
  // Of the cgroup that leaves it least, if one has a limit; used by all processes in there.
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t memory_used_bytes = 0;
  std::vector<ThreadStack> threads = {};     // the main thread first
  std::vector<Stack> python = {};            // of Python's threads, the main thread's first
  std::string why_not = {};                  // why Python's stacks are missing
  std::vector<RecordedGroup> recorded = {};  // of a rank's program that dumps its flight recorder
  std::string record_why_not = {};           // why a dump that is there says nothing

  /// What the main thread does, in the language of its program.
  const Stack& main_stack() const {
    static const Stack none;
    if (!python.empty()) return python.front();
    return threads.empty() ? none : threads.front().frames;
  }
  std::string_view main_state() const {
    return threads.empty() ? std::string_view("?") : std::string_view(threads.front().state);
  }
};

/// The answer of one node.
struct NodeStacks {
  std::string host = {};
  std::vector<ProcessStacks> processes = {};  // by rank; a rank's program before its descendants
  int left_out = 0;                           // processes beyond the bounds
};

constexpr std::string_view language_names[] = {"native", "python"};

template <typename Field>
void visit_fields(Field& field, StackFrame& frame) {
  field("function", frame.function);
  field("file", frame.file);
  field("line", frame.line);
  field("language", as_word(frame.language, language_names));
}

template <typename Field>
void visit_fields(Field& field, ThreadStack& thread) {
  field("id", thread.id);
  field("name", thread.name);
  field("state", thread.state);
  field.unless_empty("kernel", thread.kernel);
  field("frames", thread.frames);
  field.unless_empty("why_not", thread.why_not);
}

template <typename Field>
void visit_fields(Field& field, RecordedGroup& recorded) {
  field("group", recorded.group);
  field("entered", recorded.entered);
  field.unless_empty("waits_in", recorded.waits_in);
  field.unless_empty("collective", recorded.collective);
  field("since_s", recorded.since_s);
  field("written_s", recorded.written_s);
}

template <typename Field>
void visit_fields(Field& field, ProcessStacks& process) {
  field("rank", within(process.rank, 0, IdSet::max_id));
  field("host", process.host);
  field("pid", process.pid);
  field.unless_empty("parent", process.parent);
  field("command", process.command);
  field("cpu_s", process.cpu_s);
  field("busy", process.busy);
  field("resident_bytes", process.resident_bytes);
  field.unless_empty("memory_limit_bytes", process.memory_limit_bytes);
  field.unless_empty("memory_used_bytes", process.memory_used_bytes);
  field("threads", process.threads);
  field.unless_empty("python", process.python);
  field.unless_empty("why_not", process.why_not);
  field.unless_empty("recorded", process.recorded);
  field.unless_empty("record_why_not", process.record_why_not);
}

template <typename Field>
void visit_fields(Field& field, NodeStacks& node) {
  field("host", node.host);
  field("processes", node.processes);
  field.unless_empty("left_out", node.left_out);
}

}  // namespace dllaunch
