#include "runtime/watchdog/kernel_view.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace dllaunch {
namespace {

/// Returns "" if it cannot be read. Plain system calls: a stream may wait for a lock.
std::string read_small(const std::string& path) {
  std::string text(512, '\0');
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  const ssize_t count = ::read(file, text.data(), text.size());
  ::close(file);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

/// Those that ranks block in and every architecture has.
constexpr std::array<std::pair<long, std::string_view>, 26> system_calls = {{
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_pread64, "pread"},
    {SYS_pwrite64, "pwrite"},
    {SYS_readv, "readv"},
    {SYS_openat, "open"},
    {SYS_close, "close"},
    {SYS_statx, "stat"},
    {SYS_getdents64, "readdir"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_ioctl, "ioctl"},
    {SYS_ppoll, "poll"},
    {SYS_pselect6, "select"},
    {SYS_epoll_pwait, "epoll_wait"},
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "nanosleep"},
    {SYS_sched_yield, "sched_yield"},
    {SYS_recvfrom, "recv"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "send"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_wait4, "wait"},
    {SYS_munmap, "munmap"},
    {SYS_io_uring_enter, "io_uring_enter"},
}};

std::string name_of_call(long number) {
  const auto found =
      std::ranges::find(system_calls, number, &std::pair<long, std::string_view>::first);
  if (found != system_calls.end()) return std::string(found->second);
  return fmt::format("system call {}", number);
}

/// Returns the last field of /proc/PID/stat, the exit status; 0 if it is not a number.
int last_number(std::string_view stat) {
  while (!stat.empty() && (stat.back() == '\n' || stat.back() == ' ')) stat.remove_suffix(1);
  const auto begin = stat.rfind(' ') + 1;
  int number = 0;
  const auto [end, error] = std::from_chars(stat.data() + begin, stat.data() + stat.size(), number);
  return error == std::errc{} && end == stat.data() + stat.size() ? number : 0;
}

}  // namespace

KernelView read_kernel_view(std::string_view stat, std::string_view wchan,
                            std::string_view system_call) {
  KernelView view;
  // The program's name may contain anything: the state follows the last ')'.
  const auto name_end = stat.rfind(") ");
  view.state =
      name_end != std::string_view::npos && name_end + 2 < stat.size() ? stat[name_end + 2] : 'X';
  if (std::isalpha(static_cast<unsigned char>(view.state)) == 0) view.state = '?';
  if (view.state == 'Z') view.end = last_number(stat);
  for (const char c : wchan.substr(0, 64)) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.') break;
    view.wchan += c;
  }
  if (view.wchan == "0") view.wchan.clear();
  long number = -1;
  const auto [end, error] =
      std::from_chars(system_call.data(), system_call.data() + system_call.size(), number);
  if (error == std::errc{} && number >= 0) view.system_call = number;
  return view;
}

KernelView look_at_thread(pid_t process, pid_t thread) {
  const std::string folder = fmt::format("/proc/{}/task/{}/", process, thread);
  return read_kernel_view(read_small(folder + "stat"), read_small(folder + "wchan"),
                          read_small(folder + "syscall"));
}

std::string describe(const KernelView& view) {
  switch (view.state) {
    case 'T':
      return "stopped";
    case 't':
      return "stopped by a debugger";
    case 'Z':
    case 'X':
      return "dead";
    case 'R':
      return "running, in no system call";
    default:
      break;
  }
  std::string text = view.state == 'D' ? "blocked in the kernel" : "asleep";
  if (view.system_call >= 0) text += " in " + name_of_call(view.system_call);
  if (!view.wchan.empty()) text += fmt::format(" ({})", view.wchan);
  return text;
}

}  // namespace dllaunch
