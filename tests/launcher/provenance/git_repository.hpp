// A real repository in a folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {

class GitRepository {
 public:
  GitRepository() { git({"init", "-q", "-b", "main"}); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path() + "/" + name, std::ios::binary) << text;
  }
  void commit() {
    git({"add", "-A"});
    git({"commit", "-q", "-m", "x"});
  }
  std::string git(const std::vector<std::string>& words) {
    std::vector<std::string> argv = {"git",
                                     "-C",
                                     path(),
                                     "-c",
                                     "user.name=a",
                                     "-c",
                                     "user.email=a@b",
                                     "-c",
                                     "commit.gpgsign=false"};
    argv.insert(argv.end(), words.begin(), words.end());
    const auto done = system.run(argv, std::chrono::seconds(20));
    EXPECT_TRUE(done && done->exit_code == 0) << (done ? done->err : done.error().what);
    return done ? done->out : "";
  }
  const std::string& path() const { return folder_.path(); }

  PosixSystem system{Console{}};

 private:
  TemporaryFolder folder_;
};

inline bool has_git() {
  return PosixSystem(Console{}).find_program("git").has_value();
}

}  // namespace dllaunch
