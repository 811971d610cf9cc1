// One real Slurm for a whole suite: tests/cluster, started once, ended at the end.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "launcher/os/posix_system.hpp"
#include "tests/end_to_end/launched.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {

class TestCluster {
 public:
  /// `cluster up` with these options, and what test_cluster.cpp sets for the suite that runs; sees
  /// the folder of the built programs, and share().
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

/// A suite that has its processes signalled or ended by Slurm is instantiated twice, as Linuxproc
/// and as Cgroup: Slurm finds them by their parents there, and by cgroups here.
using UnderBothTrackers = testing::WithParamInterface<int>;

/// A suite on one cluster, which its SetUpTestSuite() starts. Each test has a folder of its own on
/// the share, and calls dllaunch from the login node.
class OnTestCluster : public testing::Test {
 protected:
  static void start_cluster(std::vector<std::string> options) {
    cluster_ = std::make_unique<TestCluster>(std::move(options));
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  /// Skips the test where no cluster can run.
  void SetUp() final;
  /// What else a test needs beforehand.
  virtual void arrange() {}

  /// Of the suite that runs.
  inline static std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<Workplace> work_;
};

}  // namespace dllaunch
