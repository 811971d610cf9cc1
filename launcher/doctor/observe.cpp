#include "launcher/doctor/observe.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>

#include "launcher/doctor/proc_text.hpp"
#include "topology/diagnosis/diagnosis.hpp"
#include "topology/discovery/cgroup_paths.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_bytes = std::size_t{16} << 20;
constexpr std::size_t most_threads = 4096;

using Enough = std::function<bool(const std::string& so_far)>;

struct Text {
  int error = 0;  // errno; 0: read
  std::string text;
};

/// Reads up to `enough` bytes: files of /proc have no size and may end when their process does.
Text read_text(const std::string& path, const Enough& enough = {}) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {errno, ""};
  Text result;
  std::array<char, 65536> piece{};
  while (result.text.size() < most_bytes && !(enough && enough(result.text))) {
    const ssize_t got = read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) result.error = errno;
    if (got <= 0) break;
    result.text.append(piece.data(), static_cast<std::size_t>(got));
  }
  close(file);
  return result;
}

std::vector<int> numbers_in(const std::string& folder) {
  std::vector<int> numbers;
  DIR* opened = opendir(folder.c_str());
  if (opened == nullptr) return numbers;
  while (const dirent* entry = readdir(opened)) {
    const int number = std::atoi(entry->d_name);
    if (number > 0) numbers.push_back(number);
  }
  closedir(opened);
  std::ranges::sort(numbers);
  return numbers;
}

/// One process: its files, and the names of those that could not be read.
class Process {
 public:
  Process(std::string root, int pid)
      : root_(std::move(root)), folder_(fmt::format("{}/proc/{}", root_, pid)) {}

  const std::string& folder() const { return folder_; }

  /// Returns the text of /proc/PID/NAME. If access is denied, returns nothing and adds it to
  /// `unread`.
  std::optional<std::string> text(const char* name, const Enough& enough = {}) {
    auto read = read_text(fmt::format("{}/{}", folder_, name), enough);
    if (read.error == 0) return std::move(read.text);
    // A kernel without NUMA has no numa_maps: not a denied access.
    if (read.error != ENOENT)
      unread.push_back(fmt::format("{}: {}", name, std::strerror(read.error)));
    return std::nullopt;
  }

  /// A file of a cgroup, or the nearest one above it.
  std::optional<std::string> cgroup_text(const std::string& mount, std::string path,
                                         std::initializer_list<const char*> names) const {
    while (true) {
      for (const char* name : names) {
        auto read = read_text(fmt::format("{}/sys/fs/cgroup{}{}/{}", root_, mount, path, name));
        if (read.error == 0 && read.text.find_first_not_of('\n') != std::string::npos)
          return std::move(read.text);
      }
      if (path.empty() || path == "/") return std::nullopt;
      path.erase(path.rfind('/'));
    }
  }

  std::vector<std::string> unread;

 private:
  std::string root_;
  std::string folder_;
};

void observe_threads(const Process& process, RankObservation& rank) {
  std::size_t looked_at = 0;
  for (const int thread : numbers_in(process.folder() + "/task")) {
    if (++looked_at > most_threads) break;
    const auto read = read_text(fmt::format("{}/task/{}/status", process.folder(), thread));
    const auto status = parse_proc_status(read.text);
    if (!status) continue;
    rank.cpus |= status->cpus;
    if (status->state == 'R') ++rank.runnable_threads;
  }
}

void observe_cgroup(Process& process, RankObservation& rank) {
  const auto text = process.text("cgroup");
  if (!text) return;
  const auto paths = parse_proc_cgroup(*text);
  std::optional<std::string> cpus;
  if (!paths.cpuset.empty())
    cpus = process.cgroup_text("/cpuset", paths.cpuset, {"cpuset.effective_cpus", "cpuset.cpus"});
  if (!cpus && !paths.unified.empty())
    cpus = process.cgroup_text("", paths.unified, {"cpuset.cpus.effective"});
  if (cpus) {
    while (cpus->ends_with('\n')) cpus->pop_back();
    if (auto set = parse_id_list(*cpus)) rank.cpuset = *std::move(set);
  }
  if (paths.devices.empty()) return;
  if (const auto list = process.cgroup_text("/devices", paths.devices, {"devices.list"}))
    rank.nvidia_devices = nvidia_devices_in(*list);
}

void observe_environment(Process& process, RankObservation& rank) {
  const auto text = process.text("environ");
  if (!text) return;
  const auto environment = parse_proc_environment(*text);
  JobProcess job;
  read_job(environment, job);
  if (!job.job.empty()) {
    rank.rank = job.rank.rank;
    rank.world_size = job.rank.world_size;
    rank.local_rank = job.rank.local_rank;
    rank.local_world_size = job.rank.local_world_size;
    rank.launcher = job.rank.launcher;
  }
  for (const auto& [name, value] : environment)
    if (matters_to_doctor(name)) rank.environment.emplace(name, value);
}

}  // namespace

Result<RankObservation> observe_process(const std::string& root, int pid) {
  const auto gone = [pid] {
    return Error{ErrorKind::unavailable, fmt::format("there is no process {}", pid),
                 "`ps -e` lists this node's processes"};
  };
  Process process(root, pid);
  const auto status_text = process.text("status");
  const auto status = status_text ? parse_proc_status(*status_text) : std::nullopt;
  if (!status || status->state == 'Z') return gone();

  RankObservation rank;
  rank.pid = pid;
  rank.main_cpus = status->cpus;
  rank.cpus = status->cpus;
  rank.threads = std::max(1, status->threads);
  rank.allowed_numa = status->numa;
  rank.command = command_in(process.text("cmdline").value_or(""));
  if (rank.command.empty()) rank.command = status->name;
  observe_threads(process, rank);
  observe_environment(process, rank);
  observe_cgroup(process, rank);
  if (const auto limits = process.text("limits")) {
    const auto read = parse_proc_limits(*limits);
    rank.locked_memory_bytes = read.locked_memory_bytes;
    rank.open_files = read.open_files;
  }
  if (const auto maps = process.text("maps")) {
    rank.gpu_libraries = gpu_libraries_in(*maps);
    rank.libraries_read = true;
  }
  // Linux counts pages while it writes this file: for a large process, read only up to the heap.
  const auto heap_seen = [](const std::string& text) {
    const auto heap = text.find(" heap");
    return heap != std::string::npos && text.find('\n', heap) != std::string::npos;
  };
  if (const auto maps = process.text("numa_maps", heap_seen)) rank.memory = parse_numa_maps(*maps);

  // The process may have ended halfway through.
  if (read_text(process.folder() + "/status").error != 0) return gone();
  rank.unread = std::move(process.unread);
  return rank;
}

std::vector<JobProcess> observe_job_processes(const std::string& root) {
  std::vector<JobProcess> processes;
  for (const int pid : numbers_in(root + "/proc")) {
    const auto folder = fmt::format("{}/proc/{}", root, pid);
    const auto environ = read_text(folder + "/environ");
    if (environ.error != 0 || environ.text.empty()) continue;
    const auto status = parse_proc_status(read_text(folder + "/status").text);
    if (!status || status->state == 'Z') continue;
    JobProcess process{.pid = pid, .parent = status->parent, .name = status->name};
    read_job(parse_proc_environment(environ.text), process);
    processes.push_back(std::move(process));
  }
  return processes;
}

std::optional<SharedMemory> observe_shared_memory() {
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0) return std::nullopt;
  return SharedMemory{.total_bytes = std::uint64_t{status.f_blocks} * status.f_frsize,
                      .free_bytes = std::uint64_t{status.f_bavail} * status.f_frsize};
}

}  // namespace dllaunch
