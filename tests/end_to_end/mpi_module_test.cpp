// The MPI module of dltrain: built for the MPI that is here, refused for another, absent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "launcher/os/posix_system.hpp"
#include "tests/end_to_end/launched.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string dltrain = DLLAUNCH_BIN_DIR "/dltrain";

class MpiModuleOfTrainer : public testing::Test {
 protected:
  void SetUp() override {
    if (!system_.find_program("mpicc")) GTEST_SKIP() << "no mpicc on this machine";
    ::unsetenv("DLLAUNCH_MPI_MODULE");
    work_.environment = {{"HOME", work_.path()},
                         {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                         {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  }

  /// What `dllaunch info --json` says of transports and modules.
  Json info() {
    const auto ended = work_.run({"info", "--json"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return Json::parse(ended.out);
  }
  void set(const std::string& name, const std::string& value) {
    work_.environment.emplace_back(name, value);
  }

  PosixSystem system_{Console{}};
  Workplace work_;
  const std::string own_ = work_.path() + "/.local/lib/dllaunch/libdltrain_mpi.so";
};

TEST_F(MpiModuleOfTrainer, IsBuiltInOneCommand) {
  const auto ended = work_.run({"build-mpi-module"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, testing::AllOf(testing::StartsWith(own_ + ": for "),
                                        HasSubstr("; the library here is ")));
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(own_).parent_path()), {}), 1);
  const Json here = info();
  EXPECT_EQ(here["mpi_modules"].at(0)["path"], own_);
  EXPECT_EQ(here["transports"]["mpi"]["usable"], true);

  const std::string other = work_.path() + "/other module.so";
  const auto named = work_.run({"build-mpi-module", "--output", "other module.so"});
  ASSERT_EQ(named.exit_code, 0) << named.err;
  EXPECT_THAT(named.out, HasSubstr("  export DLLAUNCH_MPI_MODULE='" + other + "'\n"));
  set("DLLAUNCH_MPI_MODULE", other);
  const auto bench =
      work_.run({"bench", "allreduce", "--communicator", "mpi", "--max-bytes", "64"});
  EXPECT_EQ(bench.exit_code, 0) << bench.err;
}

TEST_F(MpiModuleOfTrainer, IsKeptIfItsCompilerFails) {
  fs::create_directories(fs::path(own_).parent_path());
  std::ofstream(own_) << "an older one";
  const auto failed = work_.run({"build-mpi-module", "--compiler", "false"});
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_THAT(failed.err, HasSubstr("false cannot compile the MPI module: it exited with 1\n"));
  const auto missing = work_.run({"build-mpi-module", "--compiler", "no-such-mpicc"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("no-such-mpicc"));
  // A compiler that knows no MPI says what it lacks.
  const auto plain = work_.run({"build-mpi-module", "--compiler", "/usr/bin/cc"});
  if (plain.exit_code != 0) {
    EXPECT_THAT(plain.err, HasSubstr("mpi.h"));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(own_).parent_path()), {}), 1);
  EXPECT_EQ(work_.text_of(fs::relative(own_, work_.path())), "an older one");
}

TEST_F(MpiModuleOfTrainer, RanksWithoutOneMeetOverTcp) {
  set("DLLAUNCH_MPI_MODULE", "");
  EXPECT_EQ(info()["transports"]["mpi"]["why"], "no MPI module; dllaunch build-mpi-module");
  const auto ended = work_.run({"bench", "allreduce", "--max-bytes", "64"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const auto by_mpi = work_.run({"bench", "allreduce", "--communicator", "mpi"});
  EXPECT_NE(by_mpi.exit_code, 0);
  EXPECT_THAT(by_mpi.err, HasSubstr("there is no MPI module\n"));
  EXPECT_THAT(by_mpi.err, HasSubstr("dllaunch build-mpi-module"));

  // Ranks that `dllaunch exec` did not start cannot.
  work_.before = {"mpirun", "-np", "2", "--oversubscribe"};
  work_.program = dltrain;
  const auto alone = work_.run({"--bench-allreduce", "auto", "4", "64", "1", "json"});
  EXPECT_NE(alone.exit_code, 0);
  EXPECT_THAT(alone.err, HasSubstr("and there is no MPI module for ranks that openmpi started\n"));
  EXPECT_THAT(alone.err, HasSubstr("  try: build one: dllaunch build-mpi-module; or start them "
                                   "through `dllaunch exec`\n"));
}

/// MPI libraries of PyPI; scripts/framework-venvs makes their environments.
class MpiModuleFromPyPi : public MpiModuleOfTrainer {
 protected:
  void SetUp() override {
    if (!full_tier()) GTEST_SKIP() << "needs environments from PyPI: scripts/test --full";
    MpiModuleOfTrainer::SetUp();
  }
  /// Returns a copy in a folder without blanks, which compiler wrappers need; "" if there is none.
  std::string venv(const std::string& name) {
    const std::string path = DLLAUNCH_SOURCE_DIR "/build/frameworks/" + name;
    if (!fs::exists(path + "/complete")) return "";
    const std::string copy = work_.path() + "/" + name;
    fs::copy(path, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    return copy;
  }
  /// Builds a module with `compiler` of `venv`, and reduces on two ranks of its mpiexec.
  void expect_reduces(const std::string& venv, const std::string& compiler,
                      const std::string& fits) {
    const auto built = work_.run({"build-mpi-module", "--compiler", venv + "/bin/" + compiler});
    ASSERT_EQ(built.exit_code, 0) << built.err;
    EXPECT_THAT(built.out, HasSubstr(": for " + fits));
    Workplace ranks;
    ranks.environment = work_.environment;
    ranks.before = {venv + "/bin/mpiexec", "-n", "2"};
    ranks.program = dltrain;
    for (const char* communicator : {"mpi", "auto"}) {
      const auto ended =
          ranks.run({"--bench-allreduce", communicator, "4", "1048576", "2", "json"});
      EXPECT_EQ(ended.exit_code, 0) << ended.err;
      EXPECT_THAT(ended.out, HasSubstr("\"ranks\": 2"));
    }
  }
};

TEST_F(MpiModuleFromPyPi, OpenMpi5) {
  const auto path = venv("openmpi");
  if (path.empty()) GTEST_SKIP() << "scripts/framework-venvs build/frameworks openmpi";
  expect_reduces(path, "mpicc", "Open MPI 5.");
  // Both releases have one file name: a module of the build that finds the other's library.
  set("LD_LIBRARY_PATH", path + "/lib");
  const auto beside = info()["mpi_modules"].at(1)["problem"].get<std::string>();
  EXPECT_THAT(beside, testing::ContainsRegex(
                          " is for Open MPI 4.*, but the MPI library here is Open MPI v5\\."));
}

TEST_F(MpiModuleFromPyPi, Mpich5) {
  const auto path = venv("mpich");
  if (path.empty()) GTEST_SKIP() << "scripts/framework-venvs build/frameworks mpich";
  expect_reduces(path, "mpicc", "MPICH 5.");
  // Ranks that were started by the launcher of another MPI.
  Workplace ranks;
  ranks.program = dltrain;
  ranks.environment = work_.environment;
  ranks.before = {"mpirun", "-np", "2", "--oversubscribe"};
  const std::vector<std::string> reduce = {"--bench-allreduce", "mpi", "4", "64", "1", "json"};
  const auto by_mpirun = ranks.run(reduce);
  EXPECT_NE(by_mpirun.exit_code, 0);
  EXPECT_THAT(by_mpirun.err, HasSubstr("warning: Open MPI started the ranks; the MPI module " +
                                       own_ + " is for MPICH 5."));
  ranks.environment.emplace_back("DLLAUNCH_MPI_MODULE", DLLAUNCH_BIN_DIR "/libdltrain_mpi.so");
  ranks.before = {path + "/bin/mpiexec", "-n", "2"};
  const auto by_hydra = ranks.run(reduce);
  EXPECT_NE(by_hydra.exit_code, 0);
  EXPECT_THAT(by_hydra.err, HasSubstr("this is rank 0 of 2 to pmi, but rank 0 of 1 to Open MPI"));
}

TEST_F(MpiModuleFromPyPi, TheStandardAbi) {
  const auto path = venv("mpich");
  if (path.empty()) GTEST_SKIP() << "scripts/framework-venvs build/frameworks mpich";
  expect_reduces(path, "mpicc_abi", "MPI ABI 1.");
}

}  // namespace
}  // namespace dllaunch
