// srun or mpirun as a child of the supervisor: what it says is kept, and passed on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/os/owned_process.hpp"

namespace dllaunch {

class StarterProcess {
 public:
  /// `program`: absolute. unavailable: cannot start.
  static Result<StarterProcess> start(const std::string& program,
                                      const std::vector<std::string>& argv,
                                      std::vector<std::pair<std::string, std::string>> environment);

  StarterProcess(StarterProcess&& other) noexcept;
  StarterProcess& operator=(StarterProcess&&) = delete;
  ~StarterProcess();

  /// Readable when it has said something.
  int stderr_fd() const { return stderr_fd_; }
  /// Copies what it said to our standard error; `ended`: waits a moment for the rest.
  void pass_on_output(bool ended = false);
  /// The beginning and the end of what it said, 64 KiB each.
  std::string output() const;

  std::optional<int> poll() { return process_.poll(); }
  void send(int signal) const { process_.send(signal); }
  /// KILL to it and to its process group: srun's ranks are not in there, but Slurm's.
  void kill_group() const;

 private:
  StarterProcess(OwnedProcess process, int stderr_fd)
      : process_(std::move(process)), stderr_fd_(stderr_fd) {}
  void keep(std::string_view piece);

  OwnedProcess process_;
  int stderr_fd_ = -1;
  std::string first_;
  std::string last_;
};

}  // namespace dllaunch
