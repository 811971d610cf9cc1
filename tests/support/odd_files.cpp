#include "tests/support/odd_files.hpp"

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

#include "tests/support/sanitizer.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr int memory_exit = 77;

constexpr std::array<OddFile, 5> all = {
    {{"a pipe", [](const std::string& path) { mkfifo(path.c_str(), 0600); }},
     {"a device", [](const std::string& path) { fs::create_symlink("/dev/zero", path); }},
     {"a link to nothing", [](const std::string& path) { fs::create_symlink("nowhere", path); }},
     {"a folder", [](const std::string& path) { fs::create_directory(path); }},
     {"3 GB", [](const std::string& path) {
        std::ofstream(path).flush();
        fs::resize_file(path, std::uintmax_t{3} << 30);
      }}}};

std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::span<const OddFile> odd_files_to_put() {
  return all;
}

void put_in_place(const OddFile& odd, const std::string& path) {
  fs::create_directories(fs::path(path).parent_path());
  fs::remove_all(path);
  odd.put(path);
}

std::string why_not_read(const std::function<void()>& read) {
  const pid_t child = fork();
  if (child == 0) {
    std::set_new_handler([] { _exit(memory_exit); });
    alarm(120);
    const rlimit seconds{.rlim_cur = 20, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_CPU, &seconds);
    const rlimit memory{.rlim_cur = mapped_bytes() + 100'000'000, .rlim_max = RLIM_INFINITY};
    if (!under_a_sanitizer()) setrlimit(RLIMIT_AS, &memory);
    read();
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return "no process to read in";
  if (WIFEXITED(status) && WEXITSTATUS(status) == memory_exit) return "100 MB are not enough";
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return "it ends the process";
  return WIFSIGNALED(status) ? fmt::format("it is ended by {}", strsignal(WTERMSIG(status))) : "";
}

}  // namespace dllaunch
