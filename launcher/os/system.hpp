// The single door to the operating system: everything a command may touch outside its arguments.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"
#include "topology/discovery/gpu_inventory.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

struct CommandOutput {
  int exit_code = 0;  // 128+n when signal n ended it
  std::string out;
  std::string err;
};

/// What the user's terminal wants; decided once in main from --color, NO_COLOR, -v, -q and isatty.
struct Console {
  bool color_out = false;
  bool color_err = false;
  bool terminal_out = false;
  bool terminal_err = false;
  int columns = 100;
  int verbosity = 0;  // -1 quiet, 0, 1 verbose
};

/// What stands at a path, to this user.
struct PathState {
  bool exists = false;
  bool folder = false;
  bool executable = false;  // a folder: may be entered
  bool writable = false;
  bool in_memory = false;  // on a file system that no other machine can see: tmpfs
};

/// PosixSystem (posix_system.cpp) is the real one; tests use FakeSystem, which replays captured
/// output and records what was run. Long-running children (mpirun) are owned by execute/, not by
/// run().
class System {
 public:
  virtual ~System() = default;

  /// Runs argv[0] from PATH, waits and returns its output; its exit code is not judged here.
  /// unavailable: it did not start. unsatisfiable: too much output; timeout: after `limit`; killed.
  virtual Result<CommandOutput> run(const std::vector<std::string>& argv,
                                    std::chrono::milliseconds limit) = 0;

  /// The absolute path of a program on PATH.
  virtual std::optional<std::string> find_program(std::string_view name) = 0;
  virtual std::optional<std::string> environment(std::string_view name) = 0;
  /// unavailable: names the file and errno's text.
  virtual Result<std::string> read_file(const std::string& path) = 0;
  virtual bool is_folder(const std::string& path) = 0;
  virtual PathState look_at(const std::string& path) = 0;
  /// The node this process runs on.
  virtual Result<Topology> topology() = 0;
  /// What the GPU vendors' libraries say here; may take seconds, and `exec` never asks.
  virtual std::vector<VendorLibrary> gpu_libraries() = 0;
  virtual std::string host_name() = 0;

  virtual void print(std::string_view text) = 0;  // results: stdout
  virtual void log(std::string_view text) = 0;    // everything else: stderr
  virtual const Console& console() const = 0;
};

}  // namespace dllaunch
