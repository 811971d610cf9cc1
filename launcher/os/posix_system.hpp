// System, implemented on POSIX.
#pragma once

#include "launcher/os/system.hpp"

namespace dllaunch {

/// Printed text is flushed by main(), which also detects a full disk.
class PosixSystem : public System {
 public:
  /// `prints_a_file`: output is a file's text; files and pipes receive it unchanged.
  explicit PosixSystem(Console console, bool prints_a_file = false)
      : console_(console), prints_a_file_(prints_a_file) {}

  /// Runs with standard input from /dev/null in its own process group, which is killed after
  /// `limit`. unavailable: more than 64 MiB of output. Background processes of the program are left
  /// running.
  Result<CommandOutput> run(const std::vector<std::string>& argv,
                            std::chrono::milliseconds limit) override;
  std::optional<std::string> find_program(std::string_view name) override;
  std::optional<std::string> environment(std::string_view name) override;
  /// Reads at most 64 MiB, else bad_request; checks the size first. Reads pipes only below /dev/fd
  /// and as /dev/stdin: elsewhere a pipe is unexpected and would block.
  Result<std::string> read_file(const std::string& path) override;
  bool is_folder(const std::string& path) override;
  PathState look_at(const std::string& path) override;
  Result<Topology> topology(DeviceNames names) override;
  std::vector<VendorLibrary> gpu_libraries() override;
  std::string host_name() override;

  /// Both escape terminal control sequences (launcher/base/terminal_text.hpp).
  void print(std::string_view text) override;
  void log(std::string_view text) override;
  const Console& console() const override { return console_; }

 private:
  Console console_;
  bool prints_a_file_;
};

}  // namespace dllaunch
