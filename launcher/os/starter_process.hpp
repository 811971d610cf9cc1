// srun or mpirun as a child of the supervisor: its error output is recorded and passed on.
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
  /// `program`: absolute. unavailable: it cannot be started.
  static Result<StarterProcess> start(const std::string& program,
                                      const std::vector<std::string>& argv,
                                      std::vector<std::pair<std::string, std::string>> environment);

  StarterProcess(StarterProcess&& other) noexcept;
  StarterProcess& operator=(StarterProcess&&) = delete;
  ~StarterProcess();

  /// Becomes readable when there is output.
  int stderr_fd() const { return stderr_fd_; }
  /// Copies pending output to our standard error. `ended`: waits briefly for the rest.
  void pass_on_output(bool ended = false);
  /// The first and last 64 KiB of its output.
  std::string output() const;

  std::optional<int> poll() { return process_.poll(); }
  void send(int signal) const { process_.send(signal); }
  /// Kills its process group. srun's ranks are not in it: Slurm owns them.
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
