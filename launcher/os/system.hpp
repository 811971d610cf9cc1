// The interface to the operating system for everything a command touches beyond its arguments.
// Knows no Slurm and no jobs. Does not own long-running children; see owned_process.hpp.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"
#include "topology/discovery/discover_hwloc.hpp"
#include "topology/discovery/gpu_inventory.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

struct CommandOutput {
  int exit_code = 0;  // 128+n after signal n
  std::string out;
  std::string err;
};

/// Terminal preferences; set once in main from --color, NO_COLOR, -v, -q and isatty.
struct Console {
  bool color_out = false;
  bool color_err = false;
  bool terminal_out = false;
  bool terminal_err = false;
  int columns = 100;
  int lines = 0;      // of the terminal; 0: unknown
  int verbosity = 0;  // -1 quiet, 0, 1 verbose
};

/// What exists at a path, for this user.
struct PathState {
  bool exists = false;
  bool folder = false;
  bool executable = false;  // for a folder: may be entered
  bool writable = false;
  bool in_memory = false;  // on a file system private to this machine: tmpfs
};

/// PosixSystem (posix_system.cpp) implements it; tests use FakeSystem, which replays captured
/// output and records commands. Long-running children (mpirun) do not use run().
class System {
 public:
  virtual ~System() = default;

  /// The output of argv[0], looked up in PATH, once it has ended; does not judge its exit code.
  /// unavailable: it did not start. unsatisfiable: too much output. timeout: killed after `limit`.
  virtual Result<CommandOutput> run(const std::vector<std::string>& argv,
                                    std::chrono::milliseconds limit) = 0;

  /// The absolute path of a program in PATH.
  virtual std::optional<std::string> find_program(std::string_view name) = 0;
  virtual std::optional<std::string> environment(std::string_view name) = 0;
  /// unavailable: names the file and the error.
  virtual Result<std::string> read_file(const std::string& path) = 0;
  virtual bool is_folder(const std::string& path) = 0;
  virtual PathState look_at(const std::string& path) = 0;
  /// The node this process runs on.
  virtual Result<Topology> topology(DeviceNames names) = 0;
  /// What the GPU vendors' libraries report here; may take seconds. `exec` never calls it.
  virtual std::vector<VendorLibrary> gpu_libraries() = 0;
  virtual std::string host_name() = 0;

  virtual void print(std::string_view text) = 0;  // results: stdout
  virtual void log(std::string_view text) = 0;    // everything else: stderr
  virtual const Console& console() const = 0;
};

}  // namespace dllaunch
