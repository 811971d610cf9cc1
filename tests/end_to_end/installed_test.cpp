// What `cmake --install` writes, used after it was moved.
#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "launcher/os/scratch_folder.hpp"
#include "tests/end_to_end/launched.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

/// Installed once, as packagers do, with DESTDIR; then moved to `prefix`.
class Installed : public testing::Test {
 protected:
  void SetUp() override {
    PosixSystem system{Console{}};
    const std::string build = fs::path(DLLAUNCH_BIN_DIR).parent_path();
    const auto output = system.run({"env", "DESTDIR=" + work_.path() + "/staged", "cmake",
                                    "--install", build, "--prefix", "/opt/deep learning"},
                                   120s);
    ASSERT_TRUE(output) << output.error().what;
    ASSERT_EQ(output->exit_code, 0) << output->out << output->err;
    fs::rename(work_.path() + "/staged/opt/deep learning", prefix_);
    EXPECT_TRUE(fs::is_empty(work_.path() + "/staged/opt")) << "it writes below its prefix alone";
    work_.program = prefix_ + "/bin/dllaunch";
  }

  Workplace work_;
  const std::string prefix_ = work_.path() + "/a new place";
};

TEST_F(Installed, ProgramsFindEachOtherWhereverThePrefixIs) {
  EXPECT_THAT(work_.run({"--version"}).out, HasSubstr("dllaunch "));
  const auto job = work_.file("tiny.yaml", R"(name: tiny
resources: {ranks_per_node: 2, device: cpu}
train:
  model: lenet
  dataset: {kind: synthetic, images: 64, classes: 10, channels: 1, image_size: 28}
  batch_size: 16
  epochs: 1
)");
  const auto valid = work_.run({"validate", job});
  EXPECT_EQ(valid.exit_code, 0) << valid.err;
  EXPECT_THAT(valid.out, HasSubstr("tiny.yaml: ok"));

  work_.before = {"env", "XDG_RUNTIME_DIR=" + work_.path()};
  const auto daemon = work_.run({"daemon", "start"});
  EXPECT_EQ(daemon.exit_code, 0) << daemon.err;
  EXPECT_EQ(work_.run({"daemon", "stop"}).exit_code, 0);

  if (!PosixSystem(Console{}).find_program("mpirun")) GTEST_SKIP() << "no mpirun on this machine";
  const auto ended = work_.run({"run", job, "--local", "--run-dir", work_.run_dir()});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("completed: 2 ranks, 1 epoch,"));
  EXPECT_THAT(work_.text_of("run/plan.json"), HasSubstr(prefix_ + "/libexec/dllaunch/dltrain"));
  EXPECT_THAT(work_.text_of("run/plan.json"), Not(HasSubstr(DLLAUNCH_BIN_DIR)));
}

TEST_F(Installed, ManPagesCompletionsAndExamplesAreWhereTheyAreLookedFor) {
  for (const char* name :
       {"man/man1/dllaunch.1", "man/man1/dllaunch-run.1", "zsh/site-functions/_dllaunch",
        "bash-completion/completions/dllaunch", "fish/vendor_completions.d/dllaunch.fish",
        "doc/dllaunch/LICENSE", "doc/dllaunch/examples/pytorch-ddp/job.yaml"})
    EXPECT_TRUE(fs::is_regular_file(prefix_ + "/share/" + name)) << name;
  std::istringstream modules(DLLAUNCH_MODULES);  // of this build
  for (std::string module; modules >> module;)
    EXPECT_TRUE(fs::exists(prefix_ + "/libexec/dllaunch/lib" + module + ".so")) << module;
}

/// What cpack makes of this build.
class Packages : public testing::Test {
 protected:
  std::string output_of(std::vector<std::string> command) {
    const auto output = system_.run(std::move(command), 300s);
    EXPECT_TRUE(output) << output.error().what;
    EXPECT_EQ(output->exit_code, 0) << output->out << output->err;
    return output->out + output->err;
  }
  /// Made in a folder without spaces, which rpmbuild needs.
  std::string package_of(const std::string& generator, const std::string& extension) {
    output_of({"cpack", "-G", generator, "-B", folder_.path(), "--config",
               fs::path(DLLAUNCH_BIN_DIR).parent_path() / "CPackConfig.cmake"});
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      if (entry.path().extension() == extension) return entry.path();
    return "no package";
  }

  PosixSystem system_{Console{}};
  Workplace work_;
  ScratchFolder folder_{"/tmp"};
};

TEST_F(Packages, ADebianPackageRunsWhereItIsUnpacked) {
  if (!system_.find_program("dpkg-shlibdeps")) GTEST_SKIP() << "no dpkg-dev on this machine";
  const std::string package = package_of("DEB", ".deb");
  EXPECT_THAT(output_of({"dpkg-deb", "--field", package, "Depends"}), HasSubstr("libhwloc15 ("));
  output_of({"dpkg-deb", "--extract", package, work_.path() + "/root"});
  EXPECT_EQ(std::distance(fs::directory_iterator(work_.path() + "/root"), {}), 1) << "only /usr";
  work_.program = work_.path() + "/root/usr/bin/dllaunch";
  EXPECT_THAT(work_.run({"--version"}).out, HasSubstr("dllaunch "));
  EXPECT_THAT(work_.run({"info", "--json"}).out, HasSubstr("\"install\": \"deb\""));
  EXPECT_TRUE(fs::is_regular_file(work_.path() + "/root/usr/share/man/man1/dllaunch-run.1.gz"));
  if (!system_.find_program("lintian")) GTEST_SKIP() << "no lintian on this machine";
  EXPECT_THAT(output_of({"lintian", "--fail-on", "error", package}), Not(HasSubstr("E: ")));
}

TEST_F(Packages, AnRpmPackageHasNoErrors) {
  if (!system_.find_program("rpmlint")) GTEST_SKIP() << "no rpm and rpmlint on this machine";
  const auto found =
      output_of({"rpmlint", "--config", DLLAUNCH_SOURCE_DIR "/packaging/rpmlint.toml",
                 package_of("RPM", ".rpm")});
  EXPECT_THAT(found, HasSubstr(" 0 errors")) << found;
}

}  // namespace
}  // namespace dllaunch
