#include "launcher/os/descendants.hpp"

#include <dirent.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/os/ancestors.hpp"
#include "support/awake_clock.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;

std::string read_proc(pid_t pid, const char* file) {
  std::ifstream in(fmt::format("/proc/{}/{}", pid, file), std::ios::binary);
  // Reading fails if the process ends at this moment: operator<< catches that, an iterator throws.
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

/// The program's name in /proc/PID/stat may contain anything: count fields from the last ')'.
std::optional<Descendant> read_process(pid_t pid) {
  const std::string stat = read_proc(pid, "stat");
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 4 >= stat.size()) return std::nullopt;
  Descendant process{.pid = pid};
  process.zombie = stat[name_end + 2] == 'Z';
  process.parent = std::atoi(stat.c_str() + name_end + 4);
  return process;
}

/// `field`: of a status in /proc, a mask of signals.
bool has_signal(const std::string& status, std::string_view field, int signal) {
  const auto at = status.find(field);
  if (at == std::string::npos) return false;
  const std::uint64_t mask = std::strtoull(status.c_str() + at + field.size(), nullptr, 16);
  return (mask >> (signal - 1) & 1) != 0;
}

/// Starters of ranks and the runtime of Apptainer, which hand every signal on to each process that
/// they have started, whatever that does with it.
bool passes_signals_on(pid_t pid) {
  constexpr std::array<std::string_view, 9> starters = {"srun\n",    "mpirun\n",  "mpiexec\n",
                                                        "orterun\n", "prterun\n", "orted\n",
                                                        "prted\n",   "starter\n", "starter-suid\n"};
  return std::ranges::find(starters, read_proc(pid, "comm")) != starters.end();
}

/// A bash with an EXIT trap, or that has used `read`, handles every signal that ends it, so as to
/// clean up and end.
bool only_cleans_up(pid_t pid, const std::string& status) {
  const auto name = read_proc(pid, "comm");
  return (name == "bash\n" || name == "sh\n") && has_signal(status, "SigCgt:", SIGVTALRM);
}

void reap_orphans() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace

std::vector<pid_t> pids_here() {
  std::vector<pid_t> all;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return all;
  while (const dirent* entry = readdir(folder)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 0) all.push_back(pid);
  }
  closedir(folder);
  return all;
}

bool is_zombie(pid_t pid) {
  const auto process = read_process(pid);
  return process && process->zombie;
}

std::string name_of(pid_t pid) {
  return parse_stat(read_proc(pid, "stat")).name;
}

std::vector<Descendant> processes_here() {
  std::vector<Descendant> all;
  for (const pid_t pid : pids_here())
    if (auto process = read_process(pid)) all.push_back(*process);
  return all;
}

std::vector<Descendant> descendants_of(pid_t root) {
  return descendants_of(root, processes_here());
}

std::vector<Descendant> descendants_of(pid_t root, const std::vector<Descendant>& all) {
  std::vector<Descendant> below;
  std::set<pid_t> known = {root};
  // A child may have a smaller pid than its parent: repeat until nothing is added.
  for (std::size_t before = known.size() + 1; before != known.size();) {
    before = known.size();
    for (const auto& process : all) {
      if (known.count(process.parent) != 0 && known.insert(process.pid).second) {
        below.push_back(process);
      }
    }
  }
  return below;
}

std::optional<std::string> variable_of(pid_t pid, std::string_view name) {
  const std::string all = read_proc(pid, "environ");
  const std::string wanted = std::string(name) + "=";
  for (const auto entry : split_at(all, '\0'))
    if (entry.starts_with(wanted)) return std::string(entry.substr(wanted.size()));
  return std::nullopt;
}

bool catches(pid_t pid, int signal) {
  return has_signal(read_proc(pid, "status"), "SigCgt:", signal);
}

bool acts_on(pid_t pid, int signal) {
  const auto threads = threads_blocking(pid, signal);
  const bool waits = !threads.empty() &&
                     std::ranges::all_of(threads, [](const auto& thread) { return thread.second; });
  return (waits || catches(pid, signal)) && !passes_signals_on(pid) &&
         !only_cleans_up(pid, read_proc(pid, "status"));
}

bool ignores(pid_t pid, int signal) {
  return has_signal(read_proc(pid, "status"), "SigIgn:", signal);
}

std::map<std::string, bool> threads_blocking(pid_t pid, int signal) {
  std::map<std::string, bool> blocks;
  std::error_code ended;
  const auto threads = fmt::format("/proc/{}/task", pid);
  for (std::filesystem::directory_iterator at(threads, ended), end; !ended && at != end;
       at.increment(ended)) {
    const auto id = at->path().filename().string();
    const auto status = fmt::format("task/{}/status", id);
    blocks[id] = has_signal(read_proc(pid, status.c_str()), "SigBlk:", signal);
  }
  return blocks;
}

void adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int end_descendants(std::chrono::milliseconds patience, const std::set<pid_t>& but) {
  const auto kill_at = Clock::now() + patience;
  const auto give_up_at = kill_at + std::chrono::seconds(2);
  std::set<pid_t> asked;
  std::set<pid_t> killed;
  while (true) {
    reap_orphans();
    auto left = descendants_of(getpid());
    // Parents come before children.
    auto spared = but;
    std::erase_if(left, [&](const Descendant& process) {
      const bool spare = but.contains(process.pid) || spared.contains(process.parent);
      if (spare) spared.insert(process.pid);
      return spare || process.zombie;
    });
    const auto now = Clock::now();
    if (left.empty() || now >= give_up_at) {
      reap_orphans();
      return static_cast<int>(asked.size());
    }
    for (const auto& process : left) {
      if (asked.insert(process.pid).second) kill(process.pid, SIGTERM);
      if (now >= kill_at && killed.insert(process.pid).second) kill(process.pid, SIGKILL);
    }
    poll_awake(nullptr, 0, 10);
  }
}

}  // namespace dllaunch
