#include "launcher/autopsy/native_stacks.hpp"

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "launcher/autopsy/function_name.hpp"
#include "launcher/autopsy/mapped_files.hpp"
#include "launcher/autopsy/registers.hpp"
#include "launcher/autopsy/thread_snapshot.hpp"
#include "support/shared_library.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_frames = 128;

/// libdw is opened by name: not every node has it, and only this needs it.
struct Library {
  decltype(dwfl_begin)* begin = nullptr;
  decltype(dwfl_end)* end = nullptr;
  decltype(dwfl_errmsg)* errmsg = nullptr;
  decltype(dwfl_linux_proc_report)* proc_report = nullptr;
  decltype(dwfl_linux_proc_find_elf)* find_elf = nullptr;
  decltype(dwfl_report_end)* report_end = nullptr;
  decltype(dwfl_attach_state)* attach_state = nullptr;
  decltype(dwfl_getthread_frames)* getthread_frames = nullptr;
  decltype(dwfl_thread_state_registers)* set_registers = nullptr;
  decltype(dwfl_thread_state_register_pc)* set_pc = nullptr;
  decltype(dwfl_frame_pc)* frame_pc = nullptr;
  decltype(dwfl_addrmodule)* addrmodule = nullptr;
  decltype(dwfl_module_info)* module_info = nullptr;
  decltype(dwfl_module_addrname)* addrname = nullptr;
  decltype(dwfl_module_getsrc)* getsrc = nullptr;
  decltype(dwfl_lineinfo)* lineinfo = nullptr;
  std::string missing;  // why it cannot be used; empty: it can

  Library() {
    const SharedLibrary file("libdw.so.1");
    const bool complete =
        file.opened() && file.find("dwfl_begin", begin) && file.find("dwfl_end", end) &&
        file.find("dwfl_errmsg", errmsg) && file.find("dwfl_linux_proc_report", proc_report) &&
        file.find("dwfl_linux_proc_find_elf", find_elf) &&
        file.find("dwfl_report_end", report_end) && file.find("dwfl_attach_state", attach_state) &&
        file.find("dwfl_getthread_frames", getthread_frames) &&
        file.find("dwfl_thread_state_registers", set_registers) &&
        file.find("dwfl_thread_state_register_pc", set_pc) &&
        file.find("dwfl_frame_pc", frame_pc) && file.find("dwfl_addrmodule", addrmodule) &&
        file.find("dwfl_module_info", module_info) && file.find("dwfl_module_addrname", addrname) &&
        file.find("dwfl_module_getsrc", getsrc) && file.find("dwfl_lineinfo", lineinfo);
    if (!complete) missing = "this node has no libdw.so.1 (elfutils) for native stacks";
  }
};

const Library& library() {
  static const Library opened;
  return opened;
}

/// What libdwfl asks of a thread.
struct Unwound {
  int pid = 0;
  int thread = 0;
  const ThreadSnapshot* snapshot = nullptr;
  std::vector<std::pair<std::uint64_t, bool>> counters;  // and whether each is of a call
};

pid_t next_thread(Dwfl*, void*, void**) {
  return 0;  // threads are asked for by number
}

bool get_thread(Dwfl*, pid_t, void* argument, void** thread_argument) {
  *thread_argument = argument;
  return true;
}

bool memory_read(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* argument) {
  const auto& unwound = *static_cast<const Unwound*>(argument);
  const ThreadSnapshot& snapshot = *unwound.snapshot;
  const std::uint64_t top = stack_pointer_of(snapshot.registers);
  const std::uint64_t at = address - top;
  if (address >= top && at + sizeof *result <= snapshot.stack.size()) {
    std::memcpy(result, snapshot.stack.data() + at, sizeof *result);
    return true;
  }
  return read_memory(unwound.pid, address, reinterpret_cast<std::byte*>(result), sizeof *result) ==
         sizeof *result;
}

bool set_initial_registers(Dwfl_Thread* thread, void* argument) {
  const auto& of = static_cast<const Unwound*>(argument)->snapshot->registers;
  const auto registers = dwarf_registers_of(of);
  static_assert(sizeof(Dwarf_Word) == sizeof(std::uint64_t));
  library().set_pc(thread, program_counter_of(of));
  return library().set_registers(thread, 0, static_cast<unsigned>(registers.size()),
                                 reinterpret_cast<const Dwarf_Word*>(registers.data()));
}

int keep_counter(Dwfl_Frame* frame, void* argument) {
  auto& counters = static_cast<Unwound*>(argument)->counters;
  Dwarf_Addr counter = 0;
  bool exact = false;
  if (!library().frame_pc(frame, &counter, &exact)) return DWARF_CB_ABORT;
  counters.emplace_back(counter, !exact);
  return counters.size() < most_frames ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/// The files of the process that is read: libdwfl passes nothing of ours to find_elf().
const MappedFiles* files_now = nullptr;

int find_elf(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base, char** file,
             Elf** elf) {
  if (files_now == nullptr || !files_now->elsewhere() || *name != '/')
    return library().find_elf(module, data, name, base, file, elf);
  const int opened = files_now->open(name);
  if (opened >= 0) *file = strdup(name);  // libdwfl frees it
  return opened;
}

/// Debug information of its own package is not looked for: that can take minutes, and a server.
int find_no_debuginfo(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                      GElf_Word, char**) {
  return -1;
}

StackFrame frame_at(Dwfl* dwfl, std::uint64_t counter, bool of_call) {
  const Library& dw = library();
  const Dwarf_Addr at = of_call ? counter - 1 : counter;  // the call, not what follows it
  StackFrame frame;
  Dwfl_Module* const module = dw.addrmodule(dwfl, at);
  if (module == nullptr) {
    frame.function = fmt::format("{:#x}", counter);
    return frame;
  }
  const char* main_file = nullptr;
  const char* const name =
      dw.module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, &main_file, nullptr);
  const char* const symbol = dw.addrname(module, at);
  frame.file = std::filesystem::path(main_file != nullptr ? main_file : name).filename().string();
  frame.function = symbol != nullptr ? function_name(symbol) : "?";
  if (Dwfl_Line* const line = dw.getsrc(module, at)) {
    if (const char* source = dw.lineinfo(line, nullptr, &frame.line, nullptr, nullptr, nullptr)) {
      frame.file = std::filesystem::path(source).filename().string();
    }
  }
  return frame;
}

class Session {
 public:
  explicit Session(int pid) : files_(pid), dwfl_(library().begin(&callbacks_), library().end) {
    files_now = &files_;
    if (dwfl_ == nullptr || library().proc_report(dwfl_.get(), pid) != 0 ||
        library().report_end(dwfl_.get(), nullptr, nullptr) != 0) {
      why_not_ = "its memory map cannot be read";
      return;
    }
    unwound_.pid = pid;
    if (!library().attach_state(dwfl_.get(), nullptr, pid, &thread_callbacks_, &unwound_)) {
      why_not_ = library().errmsg(-1);
    }
  }

  void read(ThreadStack& thread) {
    if (!why_not_.empty()) {
      thread.why_not = why_not_;
      return;
    }
    const ThreadSnapshot snapshot = take_snapshot(unwound_.pid, thread.id);
    thread.why_not = snapshot.why_not;
    if (!thread.why_not.empty()) return;
    unwound_.snapshot = &snapshot;
    unwound_.counters.clear();
    library().getthread_frames(dwfl_.get(), thread.id, keep_counter, &unwound_);
    for (const auto& [counter, of_call] : unwound_.counters) {
      thread.frames.push_back(frame_at(dwfl_.get(), counter, of_call));
    }
    std::ranges::reverse(thread.frames);
    if (thread.frames.empty()) thread.why_not = library().errmsg(-1);
  }

  ~Session() { files_now = nullptr; }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  static inline char* no_path_ = nullptr;
  static inline const Dwfl_Callbacks callbacks_ = {.find_elf = find_elf,
                                                   .find_debuginfo = find_no_debuginfo,
                                                   .section_address = nullptr,
                                                   .debuginfo_path = &no_path_};
  static inline const Dwfl_Thread_Callbacks thread_callbacks_ = {
      .next_thread = next_thread,
      .get_thread = get_thread,
      .memory_read = memory_read,
      .set_initial_registers = set_initial_registers,
      .detach = nullptr,
      .thread_detach = nullptr};

  MappedFiles files_;
  std::unique_ptr<Dwfl, decltype(dwfl_end)*> dwfl_;
  Unwound unwound_;
  std::string why_not_;
};

}  // namespace

void read_native_stacks(int pid, std::vector<ThreadStack>& threads,
                        std::chrono::steady_clock::time_point deadline) {
  const std::string& missing = library().missing;
  std::optional<Session> session;
  if (missing.empty()) session.emplace(pid);
  for (ThreadStack& thread : threads) {
    if (!missing.empty()) {
      thread.why_not = missing;
    } else if (Clock::now() >= deadline) {
      thread.why_not = "no time was left for it";
    } else {
      session->read(thread);
    }
  }
}

}  // namespace dllaunch
