// A System that replays captured output and records its calls.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// Fill in what the test needs. By default no program is installed, no variable set, no file
/// present.
class FakeSystem : public System {
 public:
  /// Keyed by the command joined with blanks: {"sinfo --json", {0, "...", ""}}. A program with an
  /// answer counts as installed, as /usr/bin/NAME.
  std::map<std::string, CommandOutput> answers;
  /// Called before `answers`, for commands whose answer changes or depends on their arguments.
  std::function<std::optional<Result<CommandOutput>>(const std::vector<std::string>& argv)> respond;
  std::set<std::string> programs;  // installed, but never answer
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;
  std::set<std::string> folders;
  std::map<std::string, PathState> paths;  // looked up before `files` and `folders`
  Topology node;
  std::vector<VendorLibrary> vendor_libraries;
  std::string host = "localhost";
  Console terminal;

  std::vector<std::vector<std::string>> ran;  // in order
  std::string printed;                        // stdout
  std::string logged;                         // stderr

  /// unavailable: not installed. timeout: installed, but without an answer to this command.
  Result<CommandOutput> run(const std::vector<std::string>& argv,
                            std::chrono::milliseconds limit) override;
  std::optional<std::string> find_program(std::string_view name) override;
  std::optional<std::string> environment(std::string_view name) override;
  Result<std::string> read_file(const std::string& path) override;
  bool is_folder(const std::string& path) override { return folders.contains(path); }
  /// Files are neither executable nor writable; folders are both.
  PathState look_at(const std::string& path) override;
  Result<Topology> topology(DeviceNames /*names*/) override { return node; }
  std::vector<VendorLibrary> gpu_libraries() override { return vendor_libraries; }
  std::string host_name() override { return host; }
  void print(std::string_view text) override { printed += text; }
  void log(std::string_view text) override { logged += text; }
  const Console& console() const override { return terminal; }
};

}  // namespace dllaunch
