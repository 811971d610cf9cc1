// The operating system itself.
#pragma once

#include "launcher/os/system.hpp"

namespace dllaunch {

/// Text printed is flushed by the caller (main), which also notices a full disk.
class PosixSystem : public System {
 public:
  /// `prints_a_file`: what is printed is a file's text, and goes into a file or a pipe as it is.
  explicit PosixSystem(Console console, bool prints_a_file = false)
      : console_(console), prints_a_file_(prints_a_file) {}

  /// Standard input of the program is /dev/null; it runs in a process group of its own, which is
  /// killed as a whole when `limit` has passed. More than 64 MiB of output is an error
  /// (unavailable). What still runs in the background when the program has ended is left alone.
  Result<CommandOutput> run(const std::vector<std::string>& argv,
                            std::chrono::milliseconds limit) override;
  std::optional<std::string> find_program(std::string_view name) override;
  std::optional<std::string> environment(std::string_view name) override;
  /// At most 64 MiB, else bad_request; a file's size is judged before it is read. Pipes only below
  /// /dev/fd and as /dev/stdin: elsewhere one stands in a file's place, and would be waited for.
  Result<std::string> read_file(const std::string& path) override;
  bool is_folder(const std::string& path) override;
  PathState look_at(const std::string& path) override;
  Result<Topology> topology() override;
  std::vector<VendorLibrary> gpu_libraries() override;
  std::string host_name() override;

  /// Both spell out what a terminal would obey (launcher/base/terminal_text.hpp).
  void print(std::string_view text) override;
  void log(std::string_view text) override;
  const Console& console() const override { return console_; }

 private:
  Console console_;
  bool prints_a_file_;
};

}  // namespace dllaunch
