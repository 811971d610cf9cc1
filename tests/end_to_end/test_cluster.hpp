// One real Slurm for a whole suite: tests/cluster, started once, ended at the end.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launcher/os/posix_system.hpp"
#include "tests/end_to_end/launched.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {

class TestCluster {
 public:
  /// `cluster up` with these options; sees the folder of the built programs, and share().
  explicit TestCluster(std::vector<std::string> options);
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;
  ~TestCluster();

  bool up() const { return why_not_.empty(); }
  const std::string& why_not() const { return why_not_; }
  bool cannot_run_here() const { return cannot_run_here_; }

  const std::string& path() const { return folder_.path(); }
  /// A folder that all its machines and users see, and may write.
  std::string share() const { return folder_.path() + "/share"; }

  /// The argv prefix that runs a command on the login node.
  std::vector<std::string> login(const std::string& user = "") const;
  /// A command there; what it wrote to standard output, without the last line end.
  std::string on_head(const std::vector<std::string>& argv, const std::string& user = "") const;
  std::string on_node(const std::string& node, const std::vector<std::string>& argv) const;
  /// `cluster VERB DIR WORDS...`; false when it failed.
  bool tell(const std::string& command, const std::vector<std::string>& argv = {}) const;

 private:
  Result<CommandOutput> cluster(std::vector<std::string> argv) const;

  TemporaryFolder folder_;
  std::string why_not_;
  bool cannot_run_here_ = false;
};

}  // namespace dllaunch
