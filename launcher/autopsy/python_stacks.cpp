#include "launcher/autopsy/python_stacks.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "launcher/os/descendants.hpp"
#include "support/json.hpp"
#include "support/regular_file.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr std::string_view memory_file = "/memfd:dllaunch-stacks";
constexpr std::size_t most_bytes = std::size_t{4} << 20;
constexpr std::size_t most_python_frames = 256;
constexpr auto settled = std::chrono::milliseconds(20);  // nothing was added, nor looked at

std::string file_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));  // npos + 1 is 0
}

/// Returns the path by which the process's memory file can be opened.
std::optional<std::string> find_memory_file(int pid) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), error)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry.path(), gone).string();
    if (!gone && target.starts_with(memory_file)) return entry.path().string();
  }
  return std::nullopt;
}

off_t size_of(int file) {
  struct stat info {};
  return fstat(file, &info) == 0 ? info.st_size : 0;
}

std::string read_from(int file, off_t from) {
  std::string text(std::min(most_bytes, static_cast<std::size_t>(size_of(file) - from)), '\0');
  const ssize_t got = pread(file, text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

/// Whether a thread that may write does so: it has the signal blocked until it is through, however
/// long that takes. Threads that have started since are the program's own affair.
bool has_begun_to_block(const std::map<std::string, bool>& before,
                        const std::map<std::string, bool>& now) {
  return std::ranges::any_of(before, [&now](const auto& thread) {
    const auto at = now.find(thread.first);
    return !thread.second && at != now.end() && at->second;
  });
}

Result<std::vector<Stack>> ask_faulthandler(int pid, const std::string& path,
                                            Clock::time_point deadline) {
  const int file = open_regular_file(path);
  if (file < 0) return Error{ErrorKind::unavailable, "its memory file cannot be opened", ""};
  const off_t from = size_of(file);
  off_t size = from;
  const auto before = threads_blocking(pid, autopsy_signal());
  if (kill(pid, autopsy_signal()) != 0) size = -1;
  auto looked = Clock::now();
  while (size >= 0 && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (const off_t now = size_of(file); std::exchange(size, now) != now) {
      looked = Clock::now();
    } else if (size > from && Clock::now() - looked >= settled) {
      if (!has_begun_to_block(before, threads_blocking(pid, autopsy_signal()))) break;
      looked = Clock::now();
    }
  }
  auto stacks = size > from ? parse_faulthandler(read_from(file, from)) : std::vector<Stack>();
  close(file);
  if (!stacks.empty()) return stacks;
  return Error{ErrorKind::timeout, "Python did not answer: it is stopped, or stuck in the kernel",
               ""};
}

Result<std::vector<Stack>> ask_py_spy(System& system, int pid, Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  // Without stopping the process: one that hangs does not change while it is read.
  auto output =
      system.run({"py-spy", "dump", "--json", "--nonblocking", "--pid", std::to_string(pid)},
                 std::max(left, std::chrono::milliseconds(1)));
  if (!output && output.error().kind == ErrorKind::unavailable) {
    return Error{ErrorKind::unavailable,
                 "`dllaunch exec` did not start this Python, and there is no py-spy",
                 "pip install py-spy"};
  }
  if (!output) return std::move(output).error();
  if (output->exit_code == 0) return parse_py_spy(output->out);
  return Error{ErrorKind::unavailable, "py-spy: " + output->err.substr(0, output->err.find('\n')),
               ""};
}

/// "  File "/a/train.py", line 12 in fetch"
std::optional<StackFrame> frame_of(std::string_view line) {
  constexpr std::string_view before = "  File \"";
  constexpr std::string_view between = "\", line ";
  if (!line.starts_with(before)) return std::nullopt;
  line.remove_prefix(before.size());
  const auto end = line.rfind(between);
  if (end == std::string_view::npos) return std::nullopt;
  StackFrame frame{.file = file_name(line.substr(0, end)), .language = Language::python};
  line.remove_prefix(end + between.size());
  const auto number = line.find(" in ");
  if (number == std::string_view::npos) return std::nullopt;
  std::from_chars(line.data(), line.data() + number, frame.line);
  frame.function = line.substr(number + 4);
  return frame;
}

}  // namespace

int autopsy_signal() {
  return SIGRTMIN + 13;
}

bool is_python(int pid) {
  std::error_code error;
  const fs::path program = fs::read_symlink(fmt::format("/proc/{}/exe", pid), error);
  if (!error && program.filename().string().starts_with("python")) return true;
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/libpython") != std::string::npos) return true;
  }
  return false;
}

Result<std::vector<Stack>> read_python_stacks(System& system, int pid, Clock::time_point deadline) {
  if (const auto path = find_memory_file(pid); path && catches(pid, autopsy_signal())) {
    return ask_faulthandler(pid, *path, deadline);
  }
  return ask_py_spy(system, pid, deadline);
}

std::vector<Stack> parse_faulthandler(std::string_view text) {
  std::vector<Stack> stacks;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("Thread 0x") || line.starts_with("Current thread 0x") ||
        line.starts_with("Stack (")) {
      stacks.emplace_back();
    } else if (auto frame = frame_of(line);
               frame && !stacks.empty() && stacks.back().size() < most_python_frames) {
      stacks.back().push_back(*std::move(frame));
    }
  }
  std::erase_if(stacks, [](const Stack& stack) { return stack.empty(); });
  std::ranges::for_each(stacks, [](Stack& stack) { std::ranges::reverse(stack); });
  std::ranges::reverse(stacks);  // the main thread is the oldest, which comes last
  return stacks;
}

Result<std::vector<Stack>> parse_py_spy(std::string_view text) {
  const Json document = Json::parse(text, nullptr, false);
  const Error bad{ErrorKind::bad_request, "py-spy's answer is not a list of threads", ""};
  if (!document.is_array()) return bad;
  std::vector<std::pair<bool, Stack>> threads;
  for (const Json& thread : document) {
    if (!thread.is_object()) return bad;
    Stack stack;
    for (const Json& each : value_at<Json>(thread, "frames")) {
      if (stack.size() == most_python_frames) break;
      stack.push_back({.function = value_at<std::string>(each, "name"),
                       .file = file_name(value_at<std::string>(each, "filename")),
                       .line = value_at<int>(each, "line"),
                       .language = Language::python});
    }
    std::ranges::reverse(stack);
    const bool main = value_at<std::string>(thread, "thread_name") == "MainThread";
    if (!stack.empty()) threads.emplace_back(main, std::move(stack));
  }
  std::ranges::stable_partition(threads, [](const auto& thread) { return thread.first; });
  std::vector<Stack> stacks;
  for (auto& [main, stack] : threads) stacks.push_back(std::move(stack));
  return stacks;
}

}  // namespace dllaunch
