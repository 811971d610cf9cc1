// A program that is told lines and answers with lines, as long as both go on.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/os/owned_process.hpp"

namespace dllaunch {

class Dialogue {
 public:
  /// `argv[0]`: absolute. What it writes to standard error comes among the lines of its standard
  /// output. unavailable: it cannot be started.
  static Result<Dialogue> start(const std::vector<std::string>& argv);

  Dialogue(Dialogue&& other) noexcept;
  Dialogue& operator=(Dialogue&&) = delete;
  /// Closes its input, and kills its group if it still runs.
  ~Dialogue();

  /// False: it does not read any more, or not fast enough: waits at most a second.
  bool say(std::string_view text);
  void say_no_more();
  /// Returns its next line without newline; nullopt: none came in time, or it has said all. A line
  /// of more than 1 MiB is its last. Reads nothing once the deadline has passed.
  std::optional<std::string> hear(std::chrono::steady_clock::time_point deadline);
  /// It has closed its output, and all lines of it were heard; or a line was too long.
  bool ended() const { return output_ < 0; }
  void send(int signal) const { process_.send(signal); }

 private:
  Dialogue(OwnedProcess process, int input, int output)
      : process_(std::move(process)), input_(input), output_(output) {}

  OwnedProcess process_;
  int input_ = -1;
  int output_ = -1;
  std::string heard_ = {};
};

}  // namespace dllaunch
