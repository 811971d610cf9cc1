#include "launcher/os/posix_system.hpp"

#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "launcher/base/split.hpp"
#include "launcher/base/terminal_text.hpp"
#include "launcher/os/child_process.hpp"
#include "support/file_text.hpp"
#include "topology/discovery/discover_hwloc.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_output_bytes = std::size_t{64} << 20;

bool is_program(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::string absolute(const std::string& path) {
  if (path.starts_with('/')) return path;
  std::array<char, PATH_MAX> here{};
  if (getcwd(here.data(), here.size()) == nullptr) return path;
  return std::string(here.data()) + "/" + path;
}

void write_text(std::FILE* to, std::string_view text, const TerminalCommands& commands) {
  if (is_terminal_text(text)) {
    std::fwrite(text.data(), 1, text.size(), to);
    return;
  }
  const std::string shown = terminal_text(text, commands);
  std::fwrite(shown.data(), 1, shown.size(), to);
}

}  // namespace

Result<CommandOutput> PosixSystem::run(const std::vector<std::string>& argv,
                                       std::chrono::milliseconds limit) {
  const auto program = find_program(argv.at(0));
  if (!program) {
    return Error{ErrorKind::unavailable, fmt::format("{} is not installed", argv[0]),
                 "install it, or put its folder on PATH"};
  }
  return run_child(*program, argv, limit, most_output_bytes);
}

std::optional<std::string> PosixSystem::find_program(std::string_view name) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string_view::npos) {
    const std::string path(name);
    return is_program(path) ? std::optional(absolute(path)) : std::nullopt;
  }
  const std::string folders = environment("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (const auto folder : split_at(folders, ':')) {
    // An empty entry in PATH means the current folder, as in shells.
    auto path = std::string(folder.empty() ? "." : folder).append("/").append(name);
    if (is_program(path)) return absolute(path);
  }
  return std::nullopt;
}

std::optional<std::string> PosixSystem::environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

Result<std::string> PosixSystem::read_file(const std::string& path) {
  return read_file_text(path);
}

bool PosixSystem::is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

PathState PosixSystem::look_at(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  struct statfs file_system {};
  const bool known = statfs(path.c_str(), &file_system) == 0;
  return {.exists = true,
          .folder = S_ISDIR(status.st_mode),
          .executable = access(path.c_str(), X_OK) == 0,
          .writable = access(path.c_str(), W_OK) == 0,
          .in_memory =
              known && (file_system.f_type == TMPFS_MAGIC || file_system.f_type == RAMFS_MAGIC)};
}

Result<Topology> PosixSystem::topology(DeviceNames names) {
  return discover_topology(names);
}

std::vector<VendorLibrary> PosixSystem::gpu_libraries() {
  return observe_gpus();
}

std::string PosixSystem::host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

void PosixSystem::print(std::string_view text) {
  if (prints_a_file_ && !console_.terminal_out) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  write_text(stdout, text, {.colors = console_.color_out, .redraw = false});
}

void PosixSystem::log(std::string_view text) {
  // Keeps standard output and error in order when both go to one terminal.
  std::fflush(stdout);
  write_text(stderr, text, {.colors = console_.color_err, .redraw = console_.terminal_err});
}

}  // namespace dllaunch
