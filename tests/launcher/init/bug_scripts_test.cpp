// Scripts of public bug reports as job files: the rows of ../shared/data/bugs/README.md that
// concern the lines of a script.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "launcher/init/convert_sbatch.hpp"
#include "launcher/lint/lint.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
const fs::path scripts = fs::path(DLLAUNCH_SOURCE_DIR) / "../shared/data/bugs/scripts";

/// A script of the reports; the test is skipped where they are not.
class BugScripts : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(scripts))
      GTEST_SKIP() << "no ../shared/data/bugs/scripts beside this checkout";
  }

  static std::string text_of(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(scripts / (name + ".sbatch"), std::ios::binary).rdbuf();
    EXPECT_NE(text.str(), "") << name;
    return text.str();
  }

  static ConvertedScript convert(const std::string& name) {
    const auto is_program = [](const std::string& word) {
      return !word.ends_with(".sbatch") && fs::is_regular_file(scripts / word);
    };
    return convert_sbatch(text_of(name), {.file = name + ".sbatch", .is_program = is_program});
  }

  /// "5:27 broken-continuation" of each finding.
  static std::string found_in(const std::string& name, const std::string& suffix = "") {
    const auto text = text_of(name);
    lint::Surroundings around;
    around.host_suffix = suffix;
    const lint::Places places(text);
    std::string found;
    for (const auto& finding : lint::lint(text, around)) {
      const auto place = places.of(finding.at);
      found += std::to_string(place.line) + ":" + std::to_string(place.column) + " " + finding.id;
      found += "\n";
    }
    return found;
  }
};

TEST_F(BugScripts, ExportListsBecomeVariables) {
  const auto only = convert("s30-export-only");
  EXPECT_THAT(only.job,
              AllOf(HasSubstr("    NCCL_DEBUG: WARN\n"), HasSubstr("    OMP_NUM_THREADS: \"7\"\n"),
                    HasSubstr("without ALL, PATH and the script's exports do not reach")));
  EXPECT_THAT(found_in("s30-export-only"), HasSubstr("7:15 export-without-all"));
  const auto plus = convert("s30b-export-all-plus");
  EXPECT_THAT(plus.job, AllOf(HasSubstr("    OMP_NUM_THREADS: \"7\"\n"),
                              HasSubstr("    CUDA_DEVICE_MAX_CONNECTIONS: \"1\"\n"),
                              Not(HasSubstr("Not taken over"))));
  EXPECT_THAT(found_in("s30b-export-all-plus"), Not(HasSubstr("export-without-all")));
}

TEST_F(BugScripts, WordsBesideSrunAreListed) {
  EXPECT_THAT(
      convert("s40-redirect").job,
      AllOf(
          HasSubstr(
              "line 6: what follows the ranks in their line (> out.txt): the ranks' output is in"),
          HasSubstr("run: \"./app\"")));
  EXPECT_THAT(convert("s40b-time-srun").job,
              AllOf(HasSubstr("line 6: time before srun: the run directory has the times"),
                    Not(HasSubstr("setup"))));
  EXPECT_THAT(convert("s40c-timeout-srun").job,
              AllOf(HasSubstr("line 6: timeout 3h before srun: resources.time ends the ranks"),
                    HasSubstr("run: \"./app\"")));
}

TEST_F(BugScripts, ContainersOfDirectivesHoldTheRanks) {
  EXPECT_THAT(
      convert("s10-container-directive").job,
      AllOf(HasSubstr("  container:\n    image: \"/data/pytorch.sqsh\"\n    runtime: enroot\n"
                      "    mounts: [\"/data:/data\"]\n"),
            HasSubstr("--container-name=test_container1: environment.container has no"),
            HasSubstr("--container-writable: environment.container has no"),
            HasSubstr("sbatch_extra: [\"--mem=64gb\"]")));
  EXPECT_THAT(convert("s10b-container-mpi").job,
              AllOf(HasSubstr("image: \"docker://example/openmpi:230130\"\n"),
                    HasSubstr("mounts: [\"/etc/slurm\", \"/scratch\", \"/var/run/munge\"]\n"),
                    HasSubstr("the ranks start in the image, the lines before them do not"),
                    HasSubstr("srun_extra: [\"--mpi=pmix\"]"), Not(HasSubstr("sbatch_extra"))));
}

TEST_F(BugScripts, AProgramOfTheCurrentFolderIsFoundThere) {
  EXPECT_THAT(convert("s06-runner-script").job, HasSubstr("run: \"./runner.sh\""));
  EXPECT_THAT(convert_sbatch(text_of("s06-runner-script"), {.file = "s06.sbatch"}).job,
              HasSubstr("run: runner.sh"))
      << "where no such file is, PATH has it";
}

TEST_F(BugScripts, SeveralProgramsAreComponents) {
  const auto converted = convert("s31-multi-prog");
  EXPECT_EQ(converted.job, "");
  ASSERT_EQ(converted.reasons.size(), 1u);
  EXPECT_THAT(converted.reasons[0], AllOf(HasSubstr("--multi-prog"), HasSubstr("`components`")));
}

TEST_F(BugScripts, ABlankBehindABackslashIsNamed) {
  EXPECT_THAT(found_in("s16-continuation"),
              AllOf(HasSubstr("6:26 broken-continuation"), Not(HasSubstr("7:"))));
  const auto converted = convert("s16-continuation");
  EXPECT_THAT(converted.job, HasSubstr("--epochs 90 \\: no command: a blank follows"));
}

TEST_F(BugScripts, CondaNeedsItsHook) {
  EXPECT_THAT(found_in("s35-conda-activate"), HasSubstr("7:1 conda-activate"));
}

TEST_F(BugScripts, AnAddressNeedsTheSuffixThatTheClusterHas) {
  EXPECT_THAT(found_in("s18b-juwels-no-suffix", "i"), HasSubstr("12:8 master-addr-suffix"));
  EXPECT_THAT(found_in("s18-juwels-accelerate", "i"), Not(HasSubstr("suffix")));
  EXPECT_THAT(found_in("s18b-juwels-no-suffix"), Not(HasSubstr("suffix")));
}

}  // namespace
}  // namespace dllaunch
